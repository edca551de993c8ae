package middleware

import "time"

// Due takes out the prompt of a schedule that is due, of the first owner that has one. Without one, next is when to ask
// again; zero = not before something changes.
func (c *Chain) Due(now time.Time, paused map[string]bool) (owner, prompt string, next time.Time) {
	for i := range c.links {
		l := &c.links[i]
		if !l.on() || paused[l.Name] || l.Instance.Due == nil {
			continue
		}
		var at time.Time
		err := contain(l.Name, "due", func() error { prompt, at = l.Instance.Due(now); return nil })
		if c.report(err); err != nil {
			continue
		}
		if prompt != "" {
			return l.Name, prompt, at
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return "", "", next
}
