package config

import "slices"

// merge makes one value of the layers' values, low to high, by the table's rules. It builds new maps and lists and
// shares what it does not change. nil in, nil out.
func merge(n *node, vs []*value) *value {
	if len(vs) == 0 {
		return nil
	}
	top := vs[len(vs)-1]
	switch n.rule {
	case perEntry:
		return mergeMaps(n, vs)
	case union:
		return mergeUnion(n, vs)
	case intersection:
		// One list of the layers' lists, since what they have in common is known only to who matches selectors.
		return &value{kind: list, at: top.at, items: vs}
	case lowest:
		return slices.MinFunc(vs, func(a, b *value) int {
			return compareNumbers(a.scalar.(float64), b.scalar.(float64))
		})
	}
	return top
}

func compareNumbers(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func mergeMaps(n *node, vs []*value) *value {
	type gathered struct {
		member
		values []*value
	}
	var order []*gathered
	byName := map[string]*gathered{}
	for _, v := range vs {
		for _, m := range v.members {
			g := byName[m.name]
			if g == nil {
				g = &gathered{}
				byName[m.name] = g
				order = append(order, g)
			}
			g.member = m
			g.values = append(g.values, m.value)
		}
	}
	out := &value{kind: mapping, at: vs[len(vs)-1].at}
	for _, g := range order {
		under := n.at(g.name)
		v := merge(under, g.values)
		at := g.at
		if under.rule == lowest {
			at = v.at
		}
		out.members = append(out.members, member{g.name, at, v})
	}
	return out
}

func mergeUnion(n *node, vs []*value) *value {
	out := &value{kind: list, at: vs[len(vs)-1].at}
	seen := map[string]bool{}
	for _, v := range vs {
		for _, item := range v.items {
			if s, ok := item.scalar.(string); ok && n.once {
				if seen[s] {
					continue
				}
				seen[s] = true
			}
			out.items = append(out.items, item)
		}
	}
	return out
}

// based lists the entries that need more than a switch: where they stand, and what makes one whole.
var based = []struct {
	group, entries string
	needs          []string
	what           string
}{
	{"mcp", "servers", []string{"command", "url"}, "command or url"},
	{"openapi", "sources", []string{"document"}, "document"},
	{"lsp", "servers", []string{"command"}, "command"},
}

// validate checks what only the merged whole shows.
func validate(merged *value, found *problems) {
	for _, b := range based {
		group, _ := merged.member(b.group)
		all, _ := group.value.member(b.entries)
		for _, e := range membersOf(all.value) {
			path := join(b.group+"."+b.entries, e.name)
			if found.below(path) {
				continue
			}
			switch has := present(e, b.needs); {
			case has == 0:
				found.fail(e.at, path, "overrides an entry that no layer defines", "write its "+b.what+", or remove it")
			case has > 1:
				found.fail(e.at, path, "has both a command and a url", "keep one of the two")
			}
		}
	}
	validateHooks(merged, found)
}

// validateHooks refuses hooks that could not run, since a hook that is written is meant to.
func validateHooks(merged *value, found *problems) {
	all, _ := merged.member("hooks")
	for _, event := range membersOf(all.value) {
		for _, m := range event.items {
			list, ok := m.member("hooks")
			if !ok {
				found.fail(m.at, "hooks."+event.name, "has a matcher without hooks", "write hooks: [{type: command, command: …}]")
				continue
			}
			for _, h := range list.items {
				kind, need := "command", "command"
				if t, ok := h.member("type"); ok {
					kind = t.scalar.(string)
				}
				switch kind {
				case "http":
					need = "url"
				case "prompt":
					need = "prompt"
				}
				if present(member{value: h}, []string{need}) == 0 {
					found.fail(h.at, "hooks."+event.name, "a hook of type "+kind+" without "+need, "write its "+need)
				}
			}
		}
	}
}

func membersOf(v *value) []member {
	if v == nil {
		return nil
	}
	return v.members
}

func present(e member, needs []string) int {
	n := 0
	for _, name := range needs {
		if m, ok := e.member(name); ok && m.scalar != "" {
			n++
		}
	}
	return n
}

// dropBaseless removes entries whose definition was withheld; what closes or narrows them has nothing to act on.
func dropBaseless(merged *value) {
	for _, b := range based {
		group, _ := merged.member(b.group)
		all, _ := group.value.member(b.entries)
		if all.value != nil {
			all.value.members = slices.DeleteFunc(all.value.members, func(e member) bool { return present(e, b.needs) == 0 })
		}
	}
}
