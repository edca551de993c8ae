package schema

import (
	"encoding/json"
	"testing"
)

const typical = `{"pattern":"func \\w+","path":"internal/server","mode":"content","context":3,"ignore_case":true}`

type grep struct {
	Pattern    string `json:"pattern" doc:"RE2 expression."`
	Path       string `json:"path,omitempty" alias:"file_path"`
	Mode       string `json:"mode,omitempty" enum:"content,files,count"`
	Context    int    `json:"context,omitempty" min:"0" max:"100"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
}

func BenchmarkCheck(b *testing.B) {
	s, args := inferred[grep](b), []byte(typical)
	b.Run("walker", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Check(args); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal(args, &v); err != nil {
				b.Fatal(err)
			}
			if err := s.library.Validate(v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("references and alternatives", func(b *testing.B) {
		s := compiled(b, `{"type":"object","properties":{"q":{"$ref":"#/$defs/q"},"limit":{"anyOf":[{"type":"integer"},{"type":"null"}]},
			"sort":{"anyOf":[{"enum":["asc"]},{"enum":["desc"]}]}},"$defs":{"q":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}}`)
		args := []byte(`{"q":{"text":"peri"},"limit":null,"sort":"desc"}`)
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Check(args); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("refused", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if s.Check([]byte(`{"patern":"x"}`)) == nil {
				b.Fatal("accepted")
			}
		}
	})
}

func BenchmarkCanonical(b *testing.B) {
	s, args := inferred[grep](b), []byte(typical)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Canonical(args); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInfer(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		inferred[grep](b)
	}
}

// The cost of a call's check is a promise: ordinary arguments leave nothing behind for the collector.
func TestAcceptingOrdinaryArgumentsAllocatesNothing(t *testing.T) {
	s, args := inferred[grep](t), []byte(typical)
	if n := testing.AllocsPerRun(100, func() {
		if s.Check(args) != nil {
			t.Fatal("refused")
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		if s.Check([]byte(`{"patern":"x"}`)) == nil {
			t.Fatal("accepted")
		}
	}); n == 0 {
		t.Fatal("refusing allocates its message; this measures nothing")
	}
}
