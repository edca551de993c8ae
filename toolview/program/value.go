package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// report is what came of a call that may fail: `ok`, `text` and `value`. It reads as its text and is true if it is ok.
type report struct {
	ok    bool
	text  string
	value starlark.Value
}

func (p *report) String() string        { return p.text }
func (p *report) Type() string          { return "report" }
func (p *report) Freeze()               { p.value.Freeze() }
func (p *report) Truth() starlark.Bool  { return starlark.Bool(p.ok) }
func (p *report) Hash() (uint32, error) { return 0, errors.New("unhashable: report") }
func (p *report) AttrNames() []string   { return []string{"ok", "text", "value"} }

func (p *report) Attr(name string) (starlark.Value, error) {
	switch name {
	case "ok":
		return starlark.Bool(p.ok), nil
	case "text":
		return starlark.String(p.text), nil
	case "value":
		return p.value, nil
	}
	return nil, nil
}

// Binary lets a report be joined to a text.
func (p *report) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	s, ok := y.(starlark.String)
	if !ok || op != syntax.PLUS {
		return nil, nil
	}
	if side == starlark.Left {
		return starlark.String(p.text) + s, nil
	}
	return s + starlark.String(p.text), nil
}

// json is the module of that name. The library's own would exhaust the stack on a text that is nested deeply enough.
func (r *run) json() *starlarkstruct.Module {
	return &starlarkstruct.Module{Name: "json", Members: starlark.StringDict{
		"encode": starlark.NewBuiltin("json.encode", func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
			var x starlark.Value
			if err := starlark.UnpackPositionalArgs(b.Name(), args, named, 1, &x); err != nil {
				return nil, err
			}
			if err := r.shown(args); err != nil {
				return nil, err
			}
			raw, err := r.encode(x)
			return starlark.String(raw), err
		}),
		"decode": starlark.NewBuiltin("json.decode", func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
			var s string
			if err := starlark.UnpackPositionalArgs(b.Name(), args, named, 1, &s); err != nil {
				return nil, err
			}
			return r.decode([]byte(s))
		}),
	}}
}

// decode makes a value of JSON. Whole numbers are ints.
func (r *run) decode(raw []byte) (starlark.Value, error) {
	if err := r.charge(len(raw)); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("no JSON: there is more behind the value")
	}
	return r.from(v)
}

func (r *run) from(v any) (starlark.Value, error) {
	switch v := v.(type) {
	case nil:
		return starlark.None, nil
	case bool:
		return starlark.Bool(v), nil
	case string:
		return starlark.String(v), nil
	case json.Number:
		return number(v)
	case []any:
		out := make([]starlark.Value, len(v))
		for i, x := range v {
			var err error
			if out[i], err = r.from(x); err != nil {
				return nil, err
			}
		}
		return starlark.NewList(out), r.charge(word * len(out))
	case map[string]any:
		out := starlark.NewDict(len(v))
		for _, k := range sorted(v) {
			x, err := r.from(v[k])
			if err == nil {
				err = out.SetKey(starlark.String(k), x)
			}
			if err != nil {
				return nil, err
			}
		}
		return out, r.charge(size(out))
	}
	return nil, fmt.Errorf("no JSON value: %T", v)
}

func number(n json.Number) (starlark.Value, error) {
	text := n.String()
	if !strings.ContainsAny(text, ".eE") {
		if len(text) > maxBits/4 {
			return nil, errors.New("a number has too many digits")
		}
		if i, ok := new(big.Int).SetString(text, 10); ok {
			return starlark.MakeBigInt(i), nil
		}
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("the number %s: %w", text, err)
	}
	return starlark.Float(f), nil
}

// encode makes JSON of a value that has been measured. Dicts keep their order.
func (r *run) encode(v starlark.Value) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := write(&b, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func write(b *bytes.Buffer, v starlark.Value) error {
	switch v := v.(type) {
	case starlark.NoneType:
		b.WriteString("null")
	case starlark.Bool:
		fmt.Fprintf(b, "%t", bool(v))
	case starlark.Int:
		b.WriteString(v.String())
	case starlark.Float:
		raw, err := json.Marshal(float64(v))
		if err != nil {
			return fmt.Errorf("the number %v is no JSON", v)
		}
		b.Write(raw)
	case starlark.String:
		writeText(b, string(v))
	case starlark.Bytes:
		writeText(b, string(v))
	case *report:
		fmt.Fprintf(b, `{"ok":%t,"text":`, v.ok)
		writeText(b, v.text)
		b.WriteString("}")
	case starlark.IterableMapping:
		return writeMap(b, v)
	case starlark.Sequence:
		return writeList(b, v)
	default:
		return fmt.Errorf("a %s is no JSON", v.Type())
	}
	return nil
}

func writeMap(b *bytes.Buffer, m starlark.IterableMapping) error {
	b.WriteByte('{')
	for i, pair := range m.Items() {
		key, ok := starlark.AsString(pair[0])
		if !ok {
			return fmt.Errorf("a key is a %s: JSON wants texts", pair[0].Type())
		}
		if i > 0 {
			b.WriteByte(',')
		}
		writeText(b, key)
		b.WriteByte(':')
		if err := write(b, pair[1]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func writeList(b *bytes.Buffer, s starlark.Sequence) error {
	b.WriteByte('[')
	it := s.Iterate()
	defer it.Done()
	first := true
	for v := starlark.Value(nil); it.Next(&v); first = false {
		if !first {
			b.WriteByte(',')
		}
		if err := write(b, v); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

// writeText writes a text as it is, without the escapes that HTML would need.
func writeText(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)         // a text always encodes, into a buffer that never fails
	b.Truncate(b.Len() - 1) // the line's end
}
