package closuretest

import "context"

// NeverBuilt reports closed middlewares whose Open ran.
const NeverBuilt = "never-built"

func neverBuilt(_ context.Context, t *trial) {
	for _, m := range t.list {
		n := t.seen.led.opened(m.Name)
		switch {
		case t.seen.gone[m.Name] && n > 0:
			t.leak(m.Name, "Open", "ran %d times", n)
		case !t.seen.gone[m.Name] && n == 0 && m.Open != nil && m.Name != probeName:
			// A middleware that is open and was not opened would make the silence above say nothing.
			t.leak(m.Name, "Open", "did not run, and its middleware is live")
		}
	}
}
