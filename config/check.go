package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/metaharness/peri/meta"
)

// check verifies one layer against the table, drops what is unknown and takes the meta map out.
func (y *layer) check(found *problems) {
	if y.tree == nil {
		return
	}
	y.upstream(found)
	y.tree = checkValue(&tree, y.tree, "", found)
	if m, ok := y.tree.member("meta"); ok {
		for _, e := range m.members {
			b, _ := e.scalar.(bool)
			y.meta = append(y.meta, meta.Entry{Key: e.name, Value: b, Origin: e.at})
		}
	}
}

// upstream renames what the Rust program's settings call the meta map.
func (y *layer) upstream(found *problems) {
	var spellings []member
	var rest []member
	for _, m := range y.tree.members {
		switch {
		case m.name == "meta":
			spellings = append(spellings, m)
		case m.name == "meta_harness":
			spellings = append(spellings, m)
		case m.name == "config" && m.kind == mapping:
			inner := &value{kind: mapping, at: m.value.at}
			for _, n := range m.members {
				if n.name == "meta_harness" {
					n.name = "config.meta_harness"
					spellings = append(spellings, n)
				} else {
					inner.members = append(inner.members, n)
				}
			}
			if len(inner.members) > 0 {
				rest = append(rest, member{m.name, m.at, inner})
			}
		default:
			rest = append(rest, m)
		}
	}
	for i, m := range spellings {
		if i > 0 {
			found.fail(m.at, m.name, "is the same as "+spellings[0].name+" at "+spellings[0].at.String(), "keep one of the two, as meta")
		}
	}
	if len(spellings) > 0 {
		first := spellings[0]
		first.name = "meta"
		rest = append(rest, first)
	}
	y.tree = &value{kind: mapping, at: y.tree.at, members: rest}
}

// checkValue gives the value without what is unknown, or nil when it is of no use.
func checkValue(n *node, v *value, path string, found *problems) *value {
	if v.kind&n.kinds == 0 {
		found.fail(v.at, path, v.found(), n.want(v))
		return nil
	}
	switch v.kind {
	case text:
		n.checkText(v, path, found)
	case number:
		n.checkNumber(v, path, found)
	case list:
		return checkList(n, v, path, found)
	case mapping:
		return checkMap(n, v, path, found)
	}
	return v
}

func checkList(n *node, v *value, path string, found *problems) *value {
	out := &value{kind: list, at: v.at}
	for i, item := range v.items {
		at := path + "[" + strconv.Itoa(i) + "]"
		if n.elem == nil {
			noNull(item, at, found)
		} else {
			item = checkValue(n.elem, item, at, found)
		}
		if item != nil {
			out.items = append(out.items, item)
		}
	}
	return out
}

func checkMap(n *node, v *value, path string, found *problems) *value {
	out := &value{kind: mapping, at: v.at}
	for _, m := range v.members {
		at := join(path, m.name)
		under := n.at(m.name)
		switch {
		case under != nil:
			if checked := checkValue(under, m.value, at, found); checked != nil {
				out.members = append(out.members, member{m.name, m.at, checked})
			}
		case n.open():
			noNull(m.value, at, found)
			out.members = append(out.members, m)
		default:
			n.unknown(m, path, found)
		}
	}
	return out
}

func join(path, name string) string {
	if strings.ContainsAny(name, `."`) || name == "" {
		name = strconv.Quote(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// noNull is all that is asked of a part that another package decodes.
func noNull(v *value, path string, found *problems) {
	if v.kind == null {
		found.fail(v.at, path, v.found(), "write a value, or remove it; null cannot remove a lower layer's value")
	}
	for i, item := range v.items {
		noNull(item, path+"["+strconv.Itoa(i)+"]", found)
	}
	for _, m := range v.members {
		noNull(m.value, join(path, m.name), found)
	}
}

func (n *node) unknown(m member, path string, found *problems) {
	var names []string
	for i := range n.fields {
		names = append(names, n.fields[i].name)
	}
	near := meta.Nearest(m.name, names)
	at := join(path, m.name)
	if n.guards {
		if right := restricts(m.name); right != "" {
			found.fail(m.at, at, "is no field here, and ignoring it would widen what the agent may do", "write "+right)
			return
		}
	}
	suggestion := ""
	if len(near) > 0 {
		suggestion = "did you mean " + strings.Join(near, " or ") + "?"
	}
	found.warn("unknown_key", m.at, at, fmt.Sprintf("unknown key %q is ignored", at), suggestion)
}

// restricts names the field that a near-miss of a restricting one stands for.
func restricts(name string) string {
	switch strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name)) {
	case "tools", "allowedtools", "allowtools", "tool":
		return "tools"
	case "disallowedtools", "deniedtools", "denytools", "disabledtools", "disallowedtool", "excludedtools":
		return "disallowedTools"
	case "permissionmode", "mode":
		return "permissionMode"
	case "permission", "permissions":
		return "permission"
	case "requiredmcpservers":
		return "requiredMcpServers"
	case "maxturns":
		return "maxTurns"
	}
	return ""
}

func (n *node) checkText(v *value, path string, found *problems) {
	s := v.scalar.(string)
	if n.filled && strings.TrimSpace(s) == "" {
		found.fail(v.at, path, v.found(), "write a value, or remove the key")
	}
	if n.enum != nil && !slices.Contains(n.enum, s) {
		want := "write " + strings.Join(n.enum, ", ")
		if near := meta.Nearest(s, n.enum); len(near) > 0 {
			want += "; did you mean " + near[0] + "?"
		}
		found.fail(v.at, path, v.found(), want)
	}
}

func (n *node) checkNumber(v *value, path string, found *problems) {
	f := v.scalar.(float64)
	if math.IsNaN(f) || f < n.min || n.max != 0 && f > n.max || n.whole && f != math.Trunc(f) {
		found.fail(v.at, path, v.found(), n.want(v))
	}
}

// want says what to write instead of v.
func (n *node) want(v *value) string {
	if v.kind == null {
		switch {
		case n.nullMsg != "":
			return n.nullMsg
		case n.kinds == boolean:
			return nullBool
		case n.kinds == list:
			return "write [] for nothing, or remove the key; null never means everything"
		}
		return "write " + n.shape() + ", or remove the key; null cannot remove a lower layer's value"
	}
	if n.kinds == boolean && v.kind&(text|number) != 0 {
		switch strings.ToLower(fmt.Sprint(v.scalar)) {
		case "false", "no", "off", "n", "0", "":
			return "write false, without quotes"
		case "true", "yes", "on", "y", "1":
			return "write true, without quotes"
		}
	}
	return "write " + n.shape()
}

func (n *node) shape() string {
	var parts []string
	for _, k := range []struct {
		kind kind
		word string
	}{{boolean, "true or false"}, {text, "a text"}, {number, "a number"}, {list, "a list"}, {mapping, "a map"}} {
		if n.kinds&k.kind == 0 {
			continue
		}
		switch {
		case k.kind == text && n.enum != nil:
			k.word = strings.Join(n.enum, ", ")
		case k.kind == number:
			if n.whole {
				k.word = "a whole number"
			}
			k.word += " from " + strconv.FormatFloat(n.min, 'g', -1, 64)
			if n.max != 0 {
				k.word += " to " + strconv.FormatFloat(n.max, 'f', -1, 64)
			}
		case k.kind == list && n.elem == texts:
			k.word = "a list of texts, such as [a, b]"
		}
		parts = append(parts, k.word)
	}
	return strings.Join(parts, ", or ")
}
