package shell

import (
	_ "embed"
	"path"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/metaharness/peri/toolview"
)

//go:embed variables.txt
var variablesText string

var variables = sync.OnceValue(func() []string { return entries(variablesText) })

// entries are the lines of a data file without comments.
func entries(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// loader reports whether a variable changes what programs do: which ones run, what they load, how words are split.
func loader(name string) bool {
	for _, v := range variables() {
		if ok, _ := path.Match(v, name); ok {
			return true
		}
	}
	return false
}

// declare judges export, declare, local and their like, which the parser tells from commands.
func (b *block) declare(n *syntax.DeclClause) {
	p := toolview.Subject{Value: b.source(n), ReadOnly: true}
	for _, a := range n.Args {
		switch {
		case a.Name != nil:
			p.Opaque = p.Opaque || loader(a.Name.Value)
		case a.Value != nil:
			w := read(a.Value, b.source(a.Value))
			// -n and -i make later assignments set another variable, or run what stands in a value.
			switch {
			case !w.exact, strings.HasPrefix(w.value, "-") && strings.ContainsAny(w.value, "ni"), strings.ContainsAny(w.value, "[="):
				p.Opaque = true
			}
		}
	}
	if p.Opaque {
		p.ReadOnly = false
	}
	b.part(p)
}

// arithmetic reports an expression that holds more than numbers: the shell evaluates what a variable in it says, and
// that can run commands.
func (b *block) arithmetic(n syntax.Node, x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	if w, ok := x.(*syntax.Word); ok && (w.Lit() == "@" || w.Lit() == "*") {
		return
	}
	plain := true
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			plain = plain && number(read(w, ""))
			return false
		}
		return plain
	})
	if !plain {
		b.opaque(b.source(n))
	}
}

func number(w word) bool {
	return w.exact && w.value != "" && strings.Trim(w.value, "0123456789xXabcdefABCDEF#") == "" && w.value[0] >= '0' && w.value[0] <= '9'
}

func (b *block) number(x syntax.TestExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && number(read(w, ""))
}

func arithmeticTest(op syntax.BinTestOperator) bool {
	switch op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		return true
	}
	return false
}

// param judges an expansion: one that assigns, that goes through another variable, or that evaluates what it holds.
func (b *block) param(n *syntax.ParamExp) {
	bad := n.Excl && n.Names == 0
	if n.Exp != nil {
		switch n.Exp.Op {
		case syntax.AssignUnset, syntax.AssignUnsetOrNull:
			bad = bad || n.Param == nil || loader(n.Param.Value)
		case syntax.OtherParamOps:
			bad = true
		}
	}
	if bad {
		b.opaque(b.source(n))
		return
	}
	b.arithmetic(n, n.Index)
	if n.Slice != nil {
		b.arithmetic(n, n.Slice.Offset)
		b.arithmetic(n, n.Slice.Length)
	}
}
