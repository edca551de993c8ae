package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/toolview"
)

// Frozen is all that is fixed when a session is created. A resumed session has it bit for bit, and children share it.
type Frozen struct {
	Version int         `json:"version"`
	State   *meta.State `json:"state"`
	// Live names the middlewares that were opened: a resumed session opens no other.
	Live []string `json:"live"`
	// Gates names those of them that judge calls: a session is not resumed without one.
	Gates []string `json:"gates,omitempty"`
	// Policies are the middlewares' own, by name.
	Policies map[string]json.RawMessage `json:"policies,omitempty"`
	// Lists are the allow and deny lists of the settings.
	Lists         toolview.Lists    `json:"lists"`
	WithoutSearch toolview.Fallback `json:"without_search,omitempty"`
	LateDirect    bool              `json:"late_direct,omitempty"`
	Model         string            `json:"model"`
	// Segments are the system prompt, overrides applied and placeholders filled.
	Segments []prompt.Rendered `json:"segments"`
}

const frozenVersion = 1

// Digest is the SHA-256, in hex, of the canonical JSON.
func (f *Frozen) Digest() string {
	b, err := json.Marshal(f)
	if err != nil {
		// Every field marshals: the policies were checked when the session was created.
		panic(fmt.Sprintf("session: frozen state does not marshal: %v", err))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// UnmarshalJSON refuses a version that this build does not know: reading it halfway could open what it closed.
func (f *Frozen) UnmarshalJSON(b []byte) error {
	type plain Frozen
	var p struct {
		State json.RawMessage `json:"state"`
		*plain
	}
	p.plain = (*plain)(f)
	if err := json.Unmarshal(b, &p); err != nil {
		return fmt.Errorf("session: frozen state: %w", err)
	}
	if f.Version != frozenVersion {
		return fmt.Errorf("session: frozen state has version %d; this build knows %d", f.Version, frozenVersion)
	}
	state, err := meta.ParseState(p.State)
	f.State = state
	return err
}
