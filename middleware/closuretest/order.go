package closuretest

import (
	"context"

	"github.com/metaharness/peri/prompt"
)

// StableOrder reports bytes before the conversation that differ where they must not.
const StableOrder = "stable-order"

func stableOrder(ctx context.Context, t *trial) {
	if len(t.seen.requests) == 0 {
		t.leak("", "request", "was never made")
		return
	}
	first := t.seen.requests[0].prefix()
	for i, r := range t.seen.requests[1:] {
		if now := r.prefix(); now != first {
			t.leak(t.wrapper(), "system prompt and tools", "changed at request %d: %s", i+2, difference(first, now))
			break
		}
	}
	for _, r := range t.seen.requests {
		if a, b := systemText(t.seen.system), r.text(); a != b {
			t.leak(t.wrapper(), "system prompt", "is sent otherwise than it was assembled: %s", difference(a, b))
			break
		}
	}
	if a, b := cachedZone(t.seen.system), cachedZone(t.seen.fork); a != b {
		t.leak("", "system prompt of a fork", "differs before the cache boundary: %s", difference(a, b))
	}
	again, err := t.look(ctx, 1, t.closed...)
	if err != nil {
		t.failed("second creation", err)
		return
	}
	if now := again.requests[0].prefix(); now != first {
		t.leak(t.parted(t.seen.segments, again.segments), "system prompt and tools", "differ between two creations: %s", difference(first, now))
	}
	if t.seen.digest != again.digest {
		t.leak(t.parted(t.seen.segments, again.segments), "digest", "differs between two creations")
	}
}

func cachedZone(blocks []prompt.Block) string {
	for i, b := range blocks {
		if b.EndsCache {
			return systemText(blocks[:i+1])
		}
	}
	return ""
}

// wrapper is the owner of the one wrapper of model requests, if there is one: nothing else can change a request.
func (t *trial) wrapper() string {
	owner := ""
	for _, l := range t.seen.links {
		if l.Instance != nil && l.Instance.Hooks.WrapModel != nil {
			if owner != "" {
				return ""
			}
			owner = l.Name
		}
	}
	return owner
}
