package toolview

// limits are the scoped entries, here and above, that decide about single calls of a visible tool.
func (v *View) limits(b *Band, d *Decl) []Selector {
	var out []Selector
	for _, f := range v.policy.Frames {
		out = append(out, f.limits(b.Owner, d)...)
	}
	switch {
	case b.Brought:
		for _, f := range v.policy.Ancestors {
			out = append(out, f.limits(b.Owner, d)...)
		}
	case v.parent != nil && v.parent.scoped:
		out = append(out, v.parent.limits(b, d)...)
	}
	return out
}

func (f *Frame) limits(owner string, d *Decl) []Selector {
	if f == nil || !f.scoped {
		return nil
	}
	var out []Selector
	some := func(l *list) {
		for i := range l.rules {
			if r := &l.rules[i]; r.Covers(owner, d) && !r.Whole(owner, d) {
				out = append(out, r.Selector)
			}
		}
	}
	some(&f.deny)
	lists := make([]*list, 0, len(f.allow))
	for i := range f.allow {
		lists = append(lists, &f.allow[i])
	}
	for _, k := range f.kinds {
		if kindOf(d) != k.kind {
			continue
		}
		some(&k.deny)
		if k.allow != nil {
			lists = append(lists, k.allow)
		}
	}
	for _, l := range lists {
		if listed, whole := l.lists(owner, d); listed && !whole {
			some(l)
		}
	}
	if f.rules != nil && f.rules.scoped {
		for i := range f.rules.rules {
			if r := &f.rules.rules[i]; f.rules.actions[i] == ActionDeny && r.Covers(owner, d) && !r.Whole(owner, d) {
				out = append(out, r.Selector)
			}
		}
	}
	return out
}
