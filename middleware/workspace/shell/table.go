package shell

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/metaharness/peri/toolview"
)

var (
	//go:embed readonly.txt
	readOnlyText string
	//go:embed edits.txt
	editsText string
	//go:embed inline.txt
	inlineText string
)

// harmless says with which options a command changes nothing.
type harmless struct {
	any            bool
	flags, valued  map[string]bool
	single, number bool // options are whole words; -N is one
	here           bool // only in the folder where the line starts
	some           bool // not without words
	plain          bool // behind the first positional word there are no options
	most           int  // positional words; -1 = any number
	only           *regexp.Regexp
}

var harmlessTable = sync.OnceValue(func() map[string]harmless {
	out := map[string]harmless{}
	for _, line := range entries(readOnlyText) {
		name, options, _ := strings.Cut(line, ": ")
		h := harmless{flags: map[string]bool{}, valued: map[string]bool{}, most: -1}
		for _, o := range strings.Fields(options) {
			switch {
			case o == "*":
				h.any = true
			case o == "@single":
				h.single = true
			case o == "@num":
				h.number = true
			case o == "@here":
				h.here = true
			case o == "@some":
				h.some = true
			case o == "@plain":
				h.plain = true
			case strings.HasPrefix(o, "@max"):
				h.most = int(o[len(o)-1] - '0')
			case strings.HasPrefix(o, "@first/"):
				h.only = regexp.MustCompile("(?s)^(?:" + strings.TrimPrefix(o, "@first/") + ")$")
			case strings.HasSuffix(o, "="):
				h.valued[strings.TrimSuffix(o, "=")] = true
			default:
				h.flags[o] = true
			}
		}
		out[strings.TrimSpace(name)] = h
	}
	return out
})

// readOnly reports whether a command with these words changes nothing. What the table does not say, it does not know.
func readOnly(base string, ws []word, more, moved bool) bool {
	if base == "test" || base == "[" {
		return !more && tests(ws)
	}
	table := harmlessTable()
	name, rest := base, ws
	for {
		if h, ok := table[name]; ok && !(h.here && moved) && h.allows(rest, more) {
			return true
		}
		if len(rest) == 0 || !rest[0].exact || strings.Count(name, " ") > 1 {
			return false
		}
		name, rest = name+" "+rest[0].value, rest[1:]
	}
}

func (h harmless) allows(ws []word, more bool) bool {
	if h.any {
		return true
	}
	if more || h.some && len(ws) == 0 {
		return false // what a wrapper adds may be an option
	}
	n := 0
	for i := 0; i < len(ws); i++ {
		w := ws[i]
		switch {
		case w.exact && w.value == "--", h.plain && n > 0:
			if n == 0 {
				i++
			}
			for _, w := range ws[i:] {
				if !h.positional(w, &n) {
					return false
				}
			}
			return true
		case !w.exact && !w.safe:
			return false
		case !w.exact || len(w.value) < 2 || w.value[0] != '-':
			if !h.positional(w, &n) {
				return false
			}
		default:
			last, ok := h.option(ws, i)
			if !ok {
				return false
			}
			i = last
		}
	}
	return true
}

// tests reports whether a test only looks. A variable may be named in one by what another holds, and then what stands in
// its brackets runs: so the operator has to be written out, where it cannot be taken for a word.
func tests(ws []word) bool {
	if n := len(ws); n > 0 && ws[n-1].value == "]" {
		ws = ws[:n-1]
	}
	if len(ws) > 0 && ws[0].exact && ws[0].value == "!" {
		ws = ws[1:]
	}
	for _, w := range ws {
		if w.exact && (w.value == "-v" || w.value == "-R") || !w.exact && w.loose {
			return false
		}
	}
	literal := func(i int) bool {
		return ws[i].exact && len(ws[i].value) > 0 && strings.ContainsAny(ws[i].value[:1], "-=!<>")
	}
	switch len(ws) {
	case 0, 1:
		return true
	case 2:
		return literal(0)
	case 3:
		return literal(1)
	}
	return exact(ws)
}

func (h harmless) positional(w word, n *int) bool {
	*n++
	if *n == 1 && h.only != nil && !(w.exact && h.only.MatchString(w.value)) {
		return false
	}
	return h.most < 0 || *n <= h.most
}

func (h harmless) option(ws []word, i int) (last int, ok bool) {
	v := ws[i].value
	switch {
	case h.flags[v]:
		return i, true
	case h.valued[v]:
		return i + 1, i+1 < len(ws)
	case h.number && strings.Trim(v[1:], "0123456789") == "":
		return i, true
	case h.single:
		return i, false
	case strings.HasPrefix(v, "--"):
		name, _, has := strings.Cut(v, "=")
		return i, has && (h.valued[name] || h.flags[name])
	}
	for k := 1; k < len(v); k++ {
		one := "-" + v[k:k+1]
		switch {
		case h.flags[one]:
		case h.valued[one] && k+1 < len(v):
			return i, true
		case h.valued[one]:
			return i + 1, i+1 < len(ws)
		default:
			return i, false
		}
	}
	return i, true
}

// editing says which words of a command are files that it changes.
type editing struct {
	from   int             // words before them that are something else
	last   bool            // only the last one, into which the others go
	needs  []string        // one of these options has to be there
	valued map[string]bool // options that take a value, which is no file
	files  map[string]bool // options whose value is a file that it changes
	of     string          // the prefix of a word that names the file
}

var editingTable = sync.OnceValue(func() map[string]editing {
	out := map[string]editing{}
	for _, line := range entries(editsText) {
		name, options, _ := strings.Cut(line, ":")
		e := editing{valued: map[string]bool{}, files: map[string]bool{}}
		for _, o := range strings.Fields(options) {
			switch {
			case o == "@last":
				e.last = true
			case strings.HasPrefix(o, "@from"):
				e.from = int(o[len(o)-1] - '0')
			case strings.HasPrefix(o, "@needs:"):
				e.needs = append(e.needs, strings.TrimPrefix(o, "@needs:"))
			case strings.HasPrefix(o, "@of:"):
				e.of = strings.TrimPrefix(o, "@of:")
			case strings.HasSuffix(o, "=!"):
				e.files[strings.TrimSuffix(o, "=!")] = true
			case strings.HasSuffix(o, "="):
				e.valued[strings.TrimSuffix(o, "=")] = true
			}
		}
		out[strings.TrimSpace(name)] = e
	}
	return out
})

// edits adds the files that a command is known to change; false = the table does not know the command, or not with
// these options.
func (s *scan) edits(base string, ws []word) bool {
	e, ok := editingTable()[base]
	if !ok && len(ws) > 0 && ws[0].exact {
		if e, ok = editingTable()[base+" "+ws[0].value]; ok {
			ws = ws[1:]
		}
	}
	if !ok || !e.applies(ws) {
		return false
	}
	var plain []word
	dashes := false
	for i := 0; i < len(ws); i++ {
		w := ws[i]
		name, val, has := strings.Cut(w.value, "=")
		switch {
		case dashes || !w.exact || len(w.value) < 2 || w.value[0] != '-':
			plain = append(plain, w)
		case w.value == "--":
			dashes = true
		case e.files[w.value] && i+1 < len(ws):
			i++
			s.changed(ws[i], nil)
		case has && e.files[name]:
			s.changed(word{text: val, value: val, exact: true}, nil)
		case e.valued[w.value]:
			i++
		}
	}
	plain = plain[min(e.from, len(plain)):]
	for i, w := range plain {
		switch {
		case e.of != "":
			if strings.HasPrefix(w.value, e.of) && w.exact {
				v := strings.TrimPrefix(w.value, e.of)
				s.changed(word{text: v, value: v, exact: true}, nil)
			}
		case e.last && i < len(plain)-1:
			s.touched([]word{w}, toolview.Subject{})
			if base == "mv" {
				s.changed(w, nil)
			}
		case e.last:
			s.changed(w, plain[:i])
		default:
			s.changed(w, nil)
		}
	}
	return true
}

func (e editing) applies(ws []word) bool {
	if len(e.needs) == 0 {
		return true
	}
	for _, w := range ws {
		for _, n := range e.needs {
			short := len(n) == 2 && len(w.value) > 1 && w.value[0] == '-' && w.value[1] != '-' && strings.Contains(w.value, n[1:])
			if w.value == n || strings.HasPrefix(w.value, n+"=") || short || !w.exact && !w.safe {
				return true
			}
		}
	}
	return false
}

// changed adds a file that is written or removed. A folder changes with all that is in it, and takes in what is moved
// there.
func (s *scan) changed(w word, into []word) {
	at := len(s.out)
	s.file(w, toolview.Subject{Edit: true, Within: true})
	for i := at; i < len(s.out); i++ {
		if p := &s.out[i]; !p.Opaque {
			under := escape(p.Value) + "/*"
			if p.Value == "." || p.Value == "" {
				under = "*"
			} else if p.Value == "/" {
				under = "/*"
			}
			p.Also = also(p.Also, under)
		}
	}
	if !w.exact {
		return
	}
	for _, from := range into {
		if !from.exact {
			continue
		}
		name := from.value[strings.LastIndexByte(strings.TrimRight(from.value, "/"), '/')+1:]
		s.path(w.value+"/"+name, toolview.Subject{Edit: true, Within: true})
	}
}

// touched adds the words that look like paths: what happens to them is not known.
func (s *scan) touched(ws []word, as toolview.Subject) {
	as.Within = true
	for _, w := range ws {
		v := w
		if name, val, ok := strings.Cut(w.value, "="); ok && w.exact && (strings.HasPrefix(name, "-") || !strings.ContainsAny(name, "/ ")) {
			v = word{text: val, value: val, exact: true}
		} else if w.exact && len(w.value) > 2 && w.value[0] == '-' && w.value[1] != '-' && strings.ContainsAny(w.value, "/.") {
			v = word{text: w.value[2:], value: w.value[2:], exact: true}
		}
		switch {
		case !v.exact:
			if strings.ContainsAny(v.glob, "/.") && !as.ReadOnly {
				s.file(v, as)
			}
		case len(v.value) > 4096 || strings.ContainsAny(v.value, "\n") || strings.Contains(v.value, "://"):
		case strings.Contains(v.value, "/"), strings.HasPrefix(v.value, "."), strings.HasPrefix(v.value, "~"), s.moved && !as.ReadOnly && !strings.HasPrefix(v.value, "-"):
			s.path(v.value, as)
		}
	}
}

var inlineTable = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for _, line := range entries(inlineText) {
		name, options, _ := strings.Cut(line, ":")
		out[strings.TrimSpace(name)] = strings.Fields(options)
	}
	return out
})

// script reports whether sed is given more than what is known to run nothing.
func script(ws []word) bool {
	for _, w := range ws {
		if !w.exact || strings.HasPrefix(w.value, "-f") || strings.HasPrefix(w.value, "--f") {
			return true
		}
		if !strings.HasPrefix(w.value, "-") {
			return !harmlessTable()["sed"].only.MatchString(w.value)
		}
	}
	return true
}

var versioned = regexp.MustCompile(`[0-9.]+$`)

// inline reports whether a program is told on the line, or by its input, what to do in a language of its own: then it
// may do anything.
func inline(base string, ws []word) bool {
	if base == "sed" || base == "gsed" {
		return script(ws)
	}
	options, ok := inlineTable()[base]
	if !ok {
		if options, ok = inlineTable()[versioned.ReplaceAllString(base, "")]; !ok {
			return false
		}
	}
	positional := slices.Contains(options, "~")
	for _, w := range ws {
		for _, o := range options {
			if o == "*" || !w.exact && !w.safe || w.value == o || len(o) == 2 && len(w.value) > 1 && w.value[0] == '-' && w.value[1] != '-' && strings.Contains(w.value, o[1:]) ||
				strings.HasPrefix(o, "--") && strings.HasPrefix(w.value, o) {
				return true
			}
		}
		positional = positional || !strings.HasPrefix(w.value, "-") && w.value != ""
	}
	return !positional
}
