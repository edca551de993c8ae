package middleware

import "strings"

// Offer is a route that can be called: its Name is the name that reaches it.
type Offer struct {
	Owner string
	Route
	// Bare is the name that it asks for, Behind who has that; both are "" when it has it itself.
	Bare, Behind string
}

// Offers are the routes that can be called now, in chain order: what is advertised is what runs. Those of paused and
// unsupported owners are not there, nor is one that no name reaches.
func (c *Chain) Offers(paused map[string]bool) []Offer {
	t := c.routes(paused)
	var out []Offer
	for i, e := range t.entries {
		for _, name := range []string{e.Name, e.From + ":" + e.Name, e.owner + ":" + e.Name} {
			if t.find(name) != i {
				continue
			}
			o := Offer{Owner: e.owner, Route: e.Route}
			if o.Name = name; name != e.Name {
				o.Bare, o.Behind = e.Name, t.whose(e.Name)
			}
			out = append(out, o)
			break
		}
	}
	return out
}

// Route finds a slash command by its name, or by `owner:name`, which nobody else's name can take. A bare name is that of
// the middleware which declares it, whether or not that is there, so that closing one hands its command to nobody; else
// of the first in the chain that has such a command itself; else of the first that has it from elsewhere, a plugin or a
// server, by whose name `from:name` it is reached too.
func (c *Chain) Route(name string, paused map[string]bool) (owner string, r Route, ok bool) {
	t := c.routes(paused)
	i := t.find(name)
	if i < 0 {
		return "", Route{}, false
	}
	return t.entries[i].owner, t.entries[i].Route, true
}

// routes is the table by which names are resolved, as it is now.
func (c *Chain) routes(paused map[string]bool) routes {
	t := routes{chain: c}
	for i := range c.links {
		if l := &c.links[i]; !paused[l.Name] {
			for _, r := range l.Commands() {
				t.entries = append(t.entries, entry{l.Name, r})
			}
		}
	}
	return t
}

type routes struct {
	chain   *Chain
	entries []entry
}

type entry struct {
	owner string
	Route
}

// find is the index of the route that a name means, or -1.
func (t *routes) find(name string) int {
	first, bare, qualified := strings.Cut(name, ":")
	if _, owner := t.chain.Link(first); qualified && owner {
		return t.first(func(e *entry) bool { return e.owner == first && e.Name == bare })
	}
	if owner, declared := t.chain.suite.declares(name); declared {
		return t.first(func(e *entry) bool { return e.owner == owner && e.Name == name })
	}
	for _, meets := range []func(*entry) bool{
		func(e *entry) bool { return e.From == "" && e.Name == name },
		func(e *entry) bool { return e.Name == name },
		func(e *entry) bool { return qualified && first != "" && e.From == first && e.Name == bare },
	} {
		if i := t.first(meets); i >= 0 {
			return i
		}
	}
	return -1
}

func (t *routes) first(meets func(*entry) bool) int {
	for i := range t.entries {
		if meets(&t.entries[i]) {
			return i
		}
	}
	return -1
}

// whose is who has a name, whether or not that is there.
func (t *routes) whose(name string) string {
	if i := t.find(name); i >= 0 {
		return t.entries[i].owner
	}
	owner, _ := t.chain.suite.declares(name)
	return owner
}

// declares finds the middleware whose constant has a route of that name.
func (s *Suite) declares(name string) (string, bool) {
	for i := range s.all {
		for _, r := range s.all[i].Routes {
			if r.Name == name {
				return s.all[i].Name, true
			}
		}
	}
	return "", false
}
