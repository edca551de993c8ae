package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/metaharness/peri/meta"
)

var (
	ofMap  = target{path: []string{"meta"}, name: "WebMiddleware"}
	ofList = target{path: []string{"permissions", "deny"}, name: "Skill(@user/re view)", list: true}
)

func documentOf(t require.TestingT, text, ext string) *document {
	d, bad := newDocument([]byte(text), meta.Origin{File: "settings" + ext})
	require.Nil(t, bad, "%q: %v", text, bad)
	return d
}

// draft draws a settings file of random looks.
type draft struct {
	t        *rapid.T
	ext, eol string
	step     string
	flow     bool
	n        int
}

func (d *draft) pick(what string, of ...string) string { return rapid.SampledFrom(of).Draw(d.t, what) }
func (d *draft) flip(what string) bool                 { return rapid.Bool().Draw(d.t, what) }

func (d *draft) note() string {
	if d.ext == ".yaml" {
		return d.pick("note", "", "", " # why: {a, [b", "  #é")
	}
	return d.pick("note", "", "", " // why, {a}", " /* x, } */")
}

func (d *draft) between(indent string) string {
	if d.ext == ".yaml" {
		return d.pick("between", "", "", d.eol, indent+"# a: false"+d.eol, "#"+d.eol+d.eol)
	}
	return d.pick("between", "", "", d.eol, indent+`// "a": false,`+d.eol, "/* a"+d.eol+" } */"+d.eol)
}

func (d *draft) name() string {
	d.n++
	return fmt.Sprintf("%s%d", d.pick("name", "k", "TodoMiddleware", "é"), d.n)
}

func (d *draft) rule() string {
	d.n++
	rule := fmt.Sprintf("Bash(x%d *)", d.n)
	if d.ext == ".yaml" && !d.flow {
		return d.pick("quote", rule, `"`+rule+`"`, `'`+rule+`'`)
	}
	return `"` + rule + `"`
}

// inline is a map or list of one line, or over several in flow style.
func (d *draft) inline(list bool, indent string, n int) string {
	open, shut := "{", "}"
	if list {
		open, shut = "[", "]"
	}
	many := d.flip("many lines")
	gap := d.pick("gap", "", " ")
	out := open
	if many {
		out += d.note() + d.eol + d.between(indent+d.step)
		gap = indent + d.step
	}
	for i := range n {
		out += gap
		if list {
			out += d.rule()
		} else {
			name := d.name()
			if d.ext != ".yaml" || d.flip("quoted") {
				name = `"` + name + `"`
			}
			out += name + ": " + d.pick("bool", "true", "false")
		}
		if i < n-1 || d.flip("trailing") {
			out += ","
		}
		if many {
			out += d.note() + d.eol
		}
	}
	if many {
		out += d.between(indent) + indent
	} else if n > 0 {
		out += gap
	}
	return out + shut
}

func (d *draft) yamlValue(list bool, indent string) string {
	n := rapid.IntRange(1, 3).Draw(d.t, "members")
	anchor := d.pick("anchor", "", "", fmt.Sprintf(" &a%d", d.n))
	if d.flip("flow") {
		was := d.flow
		d.flow = true
		defer func() { d.flow = was }()
		return anchor + " " + d.inline(list, indent+d.step, rapid.IntRange(0, 3).Draw(d.t, "parts")) + d.note() + d.eol
	}
	out := anchor + d.note() + d.eol
	inner := indent + d.step
	if list && d.flip("at the key's column") {
		inner = indent
	}
	for range n {
		out += d.between(inner) + inner
		if list {
			out += "-" + d.pick("dash", " ", "   ") + d.rule() + d.note() + d.eol
		} else {
			out += d.name() + ":" + d.pick("gap", " ", "  ") + d.pick("bool", "true", "false", "True", "&x"+fmt.Sprint(d.n)+" false") + d.note() + d.eol
		}
	}
	return out
}

func (d *draft) yaml() string {
	lead := d.pick("lead", "", "", "---"+d.eol, "# first"+d.eol+d.eol)
	var tops []string
	if d.flip("meta") {
		tops = append(tops, "meta:"+d.yamlValue(false, ""))
	}
	switch d.pick("permissions", "none", "mode", "deny", "flow") {
	case "mode":
		tops = append(tops, "permissions:"+d.eol+d.step+"mode: plan"+d.note()+d.eol)
	case "deny":
		tops = append(tops, "permissions:"+d.note()+d.eol+d.step+"deny:"+d.yamlValue(true, d.step))
	case "flow":
		d.flow = true
		tops = append(tops, "permissions: {mode: plan, deny: "+d.inline(true, d.step, 2)+"}"+d.eol)
		d.flow = false
	}
	if d.flip("text") {
		tops = append(tops, "persona: |"+d.pick("chomp", "", "+", "-")+d.eol+"  meta:"+d.eol+"    a: b"+d.eol+d.pick("kept", "", d.eol+d.eol))
	}
	if d.flip("model") {
		tops = append(tops, "model: "+d.pick("model", "offline", `"offline"`)+d.note()+d.eol)
	}
	tops = rapid.Permutation(tops).Draw(d.t, "order")
	out := lead
	for _, top := range tops {
		out += d.between("") + top
	}
	return out + d.between("")
}

func (d *draft) jsonc() string {
	d.flow = true
	if d.flip("nothing") {
		return d.pick("empty", "", "{}", "{}"+d.eol, "{"+d.eol+"}"+d.eol, "{ /* } */ }")
	}
	var tops []string
	if d.flip("meta") {
		tops = append(tops, `"meta": `+d.inline(false, d.step, rapid.IntRange(0, 3).Draw(d.t, "parts")))
	}
	switch d.pick("permissions", "none", "mode", "deny") {
	case "mode":
		tops = append(tops, `"permissions": {"mode": "plan"}`)
	case "deny":
		tops = append(tops, `"permissions": {`+d.eol+d.step+`"deny": `+d.inline(true, d.step+d.step, rapid.IntRange(0, 3).Draw(d.t, "parts"))+"}")
	}
	tops = append(tops, `"model": "offline"`)
	tops = rapid.Permutation(tops).Draw(d.t, "order")
	out := d.between("") + "{"
	for i, top := range tops {
		out += d.note() + d.eol + d.step + top
		if i < len(tops)-1 || d.flip("trailing") {
			out += ","
		}
	}
	// A comment needs its line's break, or else the file is no JSONC.
	return out + d.note() + d.eol + "}" + d.pick("end", "", d.eol, d.eol+"/* end */", "// end"+d.eol)
}

func (d *draft) text() string {
	d.eol = d.pick("eol", "\n", "\r\n")
	d.step = d.pick("step", "  ", "   ", "    ", " ")
	out := ""
	if d.ext == ".yaml" {
		out = d.yaml()
	} else {
		out = d.jsonc()
	}
	if !strings.HasSuffix(out, "// end"+d.eol) && d.flip("no last break") {
		out = strings.TrimRight(out, "\r\n")
	}
	if d.flip("bom") {
		out = string(bom) + out
	}
	return out
}

// onlyInserted says that new is old with one text put in.
func onlyInserted(old, new []byte) bool {
	head := 0
	for head < len(old) && head < len(new) && old[head] == new[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	return head+tail == len(old) && len(new) > len(old)
}

func TestEditFollowedByItsInverseGivesTheOriginalBytes(t *testing.T) {
	for _, ext := range []string{".yaml", ".jsonc"} {
		t.Run(ext, func(t *testing.T) {
			drawn, refused := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				d := &draft{t: t, ext: ext}
				text := d.text()
				old, bad := newDocument([]byte(text), meta.Origin{File: "settings" + ext})
				if bad != nil {
					t.Fatalf("a document that was drawn is no document: %q: %v", text, bad)
				}
				drawn++
				for _, target := range []target{ofMap, ofList} {
					out, wrote, err := insert(old, target)
					if errors.Is(err, errByHand) {
						refused++
						if testing.Verbose() {
							fmt.Printf("refused: %v: %q\n", target.list, text)
						}
						continue
					}
					require.NoError(t, err)
					require.True(t, onlyInserted([]byte(text), out), "%q\n%q", text, out)
					again := documentOf(t, string(out), ext)
					_, there := again.find(target)
					require.True(t, there)
					same, _, err := insert(again, target)
					require.NoError(t, err)
					require.Equal(t, string(out), string(same), "what is so already is not written")
					back, err := again.remove(target, wrote)
					require.NoError(t, err, "%q", out)
					require.Equal(t, text, string(back))
					if _, err := again.remove(target, insertion{}); err != nil {
						t.Fatalf("cannot be removed without a record: %q: %v", out, err)
					}
				}
				for _, m := range membersOf(old.container([]string{"meta"})) {
					target := target{path: []string{"meta"}, name: m.name}
					was := m.scalar.(bool)
					out, _, err := old.set(target, !was)
					require.NoError(t, err, "%q: %s", text, m.name)
					require.LessOrEqual(t, len(out)-len(text), 1)
					require.False(t, bytes.Equal(out, []byte(text)))
					back, _, err := documentOf(t, string(out), ext).set(target, was)
					require.NoError(t, err)
					require.Equal(t, text, string(back))
					same, _, err := old.set(target, was)
					require.NoError(t, err)
					require.Equal(t, text, string(same), "a no-op")
				}
			})
			require.Less(t, refused, drawn/20+1, "of %d documents", drawn)
		})
	}
}

func insert(d *document, t target) ([]byte, insertion, error) {
	if t.list {
		return d.add(t)
	}
	return d.set(t, false)
}

func TestARuleThatSomebodyElseWroteIsRemovedWithNothingElse(t *testing.T) {
	skill := target{path: []string{"permissions", "deny"}, name: "Skill(@user/a)", list: true}
	for name, c := range map[string]struct{ ext, before, after string }{
		"block":         {".yaml", "permissions:\n  deny:\n    # all\n    - Skill(@user/a) # no\n", "permissions:\n  deny: []\n    # all\n"},
		"among others":  {".yaml", "permissions:\n  deny:\n    - 'Skill(@user/a)'\n    - B\n", "permissions:\n  deny:\n    - B\n"},
		"flow, first":   {".yaml", "permissions: {deny: ['Skill(@user/a)', B]}\n", "permissions: {deny: [B]}\n"},
		"flow, last":    {".yaml", "permissions: {deny: [B, \"Skill(@user/a)\"]}\n", "permissions: {deny: [B]}\n"},
		"flow, alone":   {".yaml", "permissions: {deny: [ Skill(@user/a) ]}\n", "permissions: {deny: [  ]}\n"},
		"JSON, last":    {".json", "{\"permissions\": {\"deny\": [\n  \"B\",\n  \"Skill(@user/a)\"\n]}}", "{\"permissions\": {\"deny\": [\n  \"B\"\n]}}"},
		"JSON, first":   {".json", "{\"permissions\": {\"deny\": [\n  \"Skill(@user/a)\",\n  \"B\"\n]}}", "{\"permissions\": {\"deny\": [\n  \"B\"\n]}}"},
		"JSON, comment": {".jsonc", "{\"permissions\": {\"deny\": [\"B\" /* , */, // b\n  \"Skill(@user/a)\" // c\n]}}", "{\"permissions\": {\"deny\": [\"B\" /* , */ // b\n   // c\n]}}"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := documentOf(t, c.before, c.ext).remove(skill, insertion{})
			require.NoError(t, err)
			require.Equal(t, c.after, string(out))
			documentOf(t, c.after, c.ext)
		})
	}
}

func TestAValueThatOthersShareIsNotChanged(t *testing.T) {
	text := "meta:\n  WebMiddleware: &off true\n  TodoMiddleware: *off\n"
	_, _, err := documentOf(t, text, ".yaml").set(ofMap, false)
	require.ErrorIs(t, err, errByHand)
	out, _, err := documentOf(t, text, ".yaml").set(target{path: []string{"meta"}, name: "TodoMiddleware"}, false)
	require.NoError(t, err)
	require.Equal(t, strings.Replace(text, "*off", "false", 1), string(out), "the alias alone is")
}

func FuzzEdit(f *testing.F) {
	for _, seed := range []string{
		"", "meta: {}", "meta:\n  A: true\n", "# c\r\n---\r\nmeta: &a\r\n  A: true", "{\"meta\": {\"A\": true,},}", "{}", "a: |+\n  b\n\n",
		"permissions:\n  deny: [a, 'b',\n   c]\n", "meta:\n  &m\n  A: true\nx: *m", "? meta\n: A: true\n", "\"meta\": {A: !!bool \"true\"}",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, json bool) {
		ext := ".yaml"
		if json {
			ext = ".jsonc"
		}
		d, bad := newDocument(raw, meta.Origin{File: "settings" + ext})
		if bad != nil {
			return
		}
		for _, target := range []target{ofMap, ofList} {
			if _, there := d.find(target); there {
				continue
			}
			if c := d.container(target.path[:1]); c != nil && c.kind != mapping {
				continue
			}
			out, wrote, err := insert(d, target)
			if err != nil {
				continue
			}
			again := documentOf(t, string(out), ext)
			back, err := again.remove(target, wrote)
			require.NoError(t, err, "%q", out)
			require.Equal(t, string(raw), string(back))
			require.True(t, slices.Contains([]int{0, 1}, bytes.Count(out, bom)-bytes.Count(raw, bom)+0))
		}
	})
}
