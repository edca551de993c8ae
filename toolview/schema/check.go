package schema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Check returns nil if args fit the schema, else an [*Error]. Aliases of arguments fit as the arguments they mean.
func (s *Schema) Check(args []byte) error {
	if s.root == nil {
		return &Error{Problems: []Problem{{Found: "a schema that was never compiled", Want: "nothing: this tool cannot be called"}}}
	}
	w := walker{scanner: scanner{data: args, deep: s.depth}}
	if absent(args) {
		w.data = []byte("{}")
	}
	if !w.walk(s.root, 0) || !w.end() {
		w.broken()
	}
	if len(w.problems) == 0 && !s.exact {
		w.problems = s.ask(w.data)
	}
	if len(w.problems) > 0 {
		return &Error{Problems: w.problems}
	}
	return nil
}

// absent reports that a model sent no arguments.
func absent(args []byte) bool {
	s := scanner{data: args}
	if s.peek(); s.pos == len(args) {
		return true
	}
	return s.word("null") && s.end()
}

// broken turns the scanner's defect into the last problem.
func (w *walker) broken() {
	where := Problem{
		Found: fmt.Sprintf("%s, at byte %d", w.why, w.scanner.at),
		Want:  "one JSON object, each key once",
	}
	if near := w.data[min(w.scanner.at, len(w.data)):]; len(near) > 0 {
		where.Found += " (" + strings.ToValidUTF8(excerpt(near, 20), "?") + ")"
	}
	w.problems = append(w.problems, where)
}

// ask has the library judge arguments that the walker accepted as far as it could see.
func (s *Schema) ask(args []byte) (problems []Problem) {
	refuse := func(found any) []Problem {
		return []Problem{{
			Found: "a combination that the schema refuses (" + excerpt(strings.ToValidUTF8(fmt.Sprint(found), "?"), 400) + ")",
			Want:  "what the schema describes",
		}}
	}
	defer func() {
		if r := recover(); r != nil {
			problems = refuse(r)
		}
	}()
	var value any
	if err := json.Unmarshal(args, &value); err != nil {
		return refuse(err)
	}
	if err := s.library.Validate(value); err != nil {
		return refuse(strings.ReplaceAll(err.Error(), "<anonymous schema>", "a schema"))
	}
	return nil
}
