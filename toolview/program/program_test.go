package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// echo answers every request with its own words, and keeps the batches.
type echo struct{ batches [][]string }

func (e *echo) do(requests []Request) ([]Reply, error) {
	var batch []string
	out := make([]Reply, len(requests))
	for i, q := range requests {
		text := q.Func + string(q.Args)
		batch = append(batch, text)
		out[i] = Reply{Text: text, Failed: strings.Contains(text, "bad")}
	}
	e.batches = append(e.batches, batch)
	return out, nil
}

func config(source string) (Config, *echo) {
	e := &echo{}
	return Config{
		File: "p.star", Source: source, Do: e.do,
		Functions: []Function{{Name: "get", Params: []string{"x"}}, {Name: "ask", Params: []string{"x"}, Report: true}, {Name: "open", Open: true}},
	}, e
}

func ran(t *testing.T, source string) (Outcome, *echo) {
	t.Helper()
	c, e := config(source)
	out, err := Run(c)
	require.NoError(t, err)
	return out, e
}

func TestWhatAProgramPrintsAndItsLastValueAreWhatItComesTo(t *testing.T) {
	for source, want := range map[string]Outcome{
		``:                                  {},
		`print("a", 1); print([None])`:      {Output: "a 1\n[None]\n"},
		`x = 1`:                             {},
		`None`:                              {},
		`"text"`:                            {Value: json.RawMessage(`"text"`), Text: "text"},
		`{"b": [1, 2.5, None], "a": "<é>"}`: {Value: json.RawMessage(`{"b":[1,2.5,null],"a":"<é>"}`), Text: `{"b":[1,2.5,null],"a":"<é>"}`},
		`len`:                               {Text: "<built-in function len>"},
		"x = 2\nx *= 3\nx += 1\nx":          {Value: json.RawMessage("7"), Text: "7"},
		"l = [1]\nm = l\nl += [2]\nm":       {Value: json.RawMessage("[1,2]"), Text: "[1,2]"},
		"def f(a, *b, c=1+1, **d): return [a, b, c, d]\nf(1, *[2], **{'e': 3})": {Value: json.RawMessage(`[1,[2],2,{"e":3}]`), Text: `[1,[2],2,{"e":3}]`},
		`", ".join(["%s=%d" % (k, v) for k, v in {"a": 1, "b": 2}.items()])`:    {Value: json.RawMessage(`"a=1, b=2"`), Text: "a=1, b=2"},
		`json.decode(json.encode({"a": [1, 1.5]}))["a"][0:1]`:                   {Value: json.RawMessage(`[1]`), Text: "[1]"},
	} {
		got, _ := ran(t, source)
		require.Equal(t, want, got, source)
	}
}

func TestACallIsARequestAndItsReplyAValue(t *testing.T) {
	out, e := ran(t, "a = get(x=[1])\nr = ask('bad')\nopen(any=True)\n[a, r, r.ok, bool(r), 'r: ' + r, attempt(get, 'bad').ok, attempt(get, 'y').value]")
	require.Equal(t, [][]string{{`get{"x":[1]}`}, {`ask{"x":"bad"}`}, {`open{"any":true}`}, {`get{"x":"bad"}`}, {`get{"x":"y"}`}}, e.batches)
	require.Equal(t, 5, out.Calls)
	require.JSONEq(t, `["get{\"x\":[1]}",{"ok":false,"text":"ask{\"x\":\"bad\"}"},false,false,"r: ask{\"x\":\"bad\"}",false,"get{\"x\":\"y\"}"]`, string(out.Value))
}

func TestWhatRunsBesideIsOneBatchAndTheProgramTakesOnePath(t *testing.T) {
	out, e := ran(t, `
seen = []
def two(n):
    a = get(n)
    seen.append(n)
    return [a, get(n + 10)]
r = parallel([lambda: two(1), lambda: 5, lambda: parallel([lambda: two(2), lambda: two(3)])])
[seen, r[1], len(r[2])]
`)
	require.Equal(t, [][]string{{`get{"x":1}`, `get{"x":2}`, `get{"x":3}`}, {`get{"x":11}`, `get{"x":12}`, `get{"x":13}`}}, e.batches)
	require.Equal(t, "[[1,2,3],5,2]", out.Text)
}

func TestAPipelineSendsItemsThroughStagesAndEndsAnItemThatFailed(t *testing.T) {
	out, e := ran(t, `pipeline(["a", "bad"], lambda x: ask(x), lambda r: ask(r.text.upper()))`)
	require.Len(t, e.batches, 2)
	require.Len(t, e.batches[0], 2)
	require.Len(t, e.batches[1], 1)
	require.Contains(t, out.Text, `"ok":false`)
	require.Contains(t, out.Text, `ASK`)
}

func TestAnErrorNamesFileAndLine(t *testing.T) {
	for source, want := range map[string]string{
		"x = (":                             "p.star:1:6: got end of file, want primary expression",
		"a = 1\nnope()":                     "p.star:2:1: no nope here",
		"\nget('bad')":                      `p.star:2:4: get: get{"x":"bad"}`,
		"get(1, 2)":                         "p.star:1:4: get: takes 1 arguments without a name and got 2",
		"get(y=1)":                          "p.star:1:4: get: has no argument y; it takes x",
		"open(1)":                           "p.star:1:5: open: give the arguments by name",
		"get(len)":                          "p.star:1:4: get: a builtin_function_or_method is no JSON",
		"def f():\n  return 1 + 'a'\n\nf()": "p.star:2:12: unknown binary op: int + string",
		"x = 1\nx.y":                        "p.star:2:2: int has no .y field or method",
		"parallel([1])":                     "p.star:1:9: parallel: entry 0 is a int and no function: write `lambda: ...` around what is to run beside the others",
		"parallel([lambda: get(1),\n lambda: fail('no')])": "p.star:2:14: fail: no",
		"pipeline(1, len)":         "p.star:1:9: pipeline: the items are a int and no list",
		"load('x', 'y')":           "p.star:1:1: load: a program has no files to load",
		"d = {1: 2}\nd[1] *= 3":    "p.star:2:6: write x = x * y instead of x *= y",
		"def f(): return f()\nf()": "p.star:1:17: function f called recursively",
		"json.decode('[1')":        "p.star:1:12: no JSON: unexpected EOF",
	} {
		c, _ := config(source)
		c.Unknown = func(name string) string { return "no " + name + " here" }
		_, err := Run(c)
		require.EqualError(t, err, want, source)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.NotZero(t, e.Line)
	}
	c, _ := config("nope()")
	require.EqualError(t, Check(c), "p.star:1:1: undefined: nope")
	c, _ = config("get(1)")
	require.NoError(t, Check(c))
}

// Each of these would take the process with it, or hang, if it were let.
func TestAProgramThatTakesTooMuchIsEnded(t *testing.T) {
	for source, want := range map[string]string{
		"while True: pass": "more than 1000000 steps",
		"while True: attempt(lambda: [x for x in range(100000)])": "more than 1000000 steps",
		"parallel([lambda: [x for x in range(400000)]] * 10)":     "more than 1000000 steps",
		"[0] * (1 << 30)":                                                     "4 MiB",
		"s = 'x'\nfor _ in range(60): s += s":                                 "4 MiB",
		"s = 'x'\nfor _ in range(60): s = s + s":                              "4 MiB",
		"d = {0: 'x'}\nfor _ in range(60): d[0] += d[0]":                      "4 MiB",
		"l = [0]\nfor _ in range(60): l.extend(l)":                            "4 MiB",
		"l = [0]\nfor _ in range(60): l += l":                                 "4 MiB",
		"s = 'x' * 100000\ns.replace('', s)":                                  "4 MiB",
		"s = 'x' * 100000\n('{0}' * 10000).format(s)":                         "4 MiB",
		"s = 'x' * 100000\n','.join([s] * 10000)":                             "4 MiB",
		"l = [0] * 100000\n[list(l) for _ in range(1000)]":                    "4 MiB",
		"l = [0] * 100000\n[l[:] for _ in range(1000)]":                       "4 MiB",
		"l = [0] * 100000\ndef f(*a): return a\n[f(*l) for _ in range(1000)]": "4 MiB",
		"list(range(1 << 40))":                                                "range: has",
		"max(range(1 << 40))":                                                 "range: has",
		"n = 3\nfor _ in range(60): n = n * n":                                "bits",
		"n = 3\nfor _ in range(60): n *= n":                                   "bits",
		"n = 1\nfor _ in range(1000): n = n << 511":                           "bits",
		"a = [0]\nfor _ in range(60): a = [a, a]\nstr(a)":                     "too large",
		"a = [0]\nfor _ in range(60): a = [a, a]\nprint(a)":                   "too large",
		"a = [0]\nfor _ in range(60): a = [a, a]\nget(a)":                     "too large",
		"a = [0]\nfor _ in range(60): a = [a, a]\na":                          "too large",
		"a = [0]\nfor _ in range(9999): a = [a]\n'%s' % a":                    "nested more than",
		"a = [0]\na.append(a)\njson.encode(a)":                                "nested more than",
		"json.decode('[' * 1000000)":                                          "no JSON",
		"for i in range(2000): get(i)":                                        "more than 1000 calls",
		"parallel([lambda: get(1)] * 1001)":                                   "at most 1000",
		"def f(g): return parallel([lambda: g(g)])\nf(f)":                     "deep within others",
		"pipeline(range(5000), len)":                                          "at most 1000",
	} {
		t.Run(source, func(t *testing.T) {
			c, _ := config(source)
			c.Memory = 4 << 20
			_, err := Run(c)
			require.ErrorContains(t, err, want)
		})
	}
	c, _ := config("x = " + strings.Repeat("(", MaxSource))
	_, err := Run(c)
	require.ErrorContains(t, err, "may have 65536")
	c.Source = c.Source[:MaxSource]
	_, err = Run(c)
	require.Error(t, err)
}

func TestOutputIsCutAndTheProgramGoesOn(t *testing.T) {
	c, e := config("print('é' * 40)\nprint('more')\nget(1)\n'z' * 100")
	c.Output = 51
	out, err := Run(c)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("é", 25)+"\n[the rest is cut: a program may print 51 bytes]\n", out.Output)
	require.Equal(t, strings.Repeat("z", 51)+"\n[cut: 51 of 100 bytes]", out.Text)
	require.Len(t, e.batches, 1)
}

func TestAnEndFromOutsideCannotBeCaught(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, e := config("print('before')\nattempt(get, 1)\nattempt(lambda: attempt(get, 2))\nprint('behind')")
	c.Go = func() error { return context.Cause(ctx) }
	do := c.Do
	c.Do = func(q []Request) ([]Reply, error) { cancel(); return do(q) }
	out, err := Run(c)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "p.star:2:8: context canceled")
	require.Equal(t, "before\n", out.Output)
	require.Len(t, e.batches, 1)

	c, _ = config("parallel([lambda: get(1), lambda: get(2)])")
	c.Do = func([]Request) ([]Reply, error) { return nil, errors.New("broken") }
	_, err = Run(c)
	require.ErrorContains(t, err, "p.star:1:9: broken")
	c.Source, c.Go = "while True: pass", func() error { return errors.New("enough") }
	_, err = Run(c)
	require.ErrorContains(t, err, "enough")
}

func TestANameIsLegalWhenAProgramCanCallIt(t *testing.T) {
	for name, want := range map[string]bool{
		"Read": true, "mcp__a__b": true, "a-b": false, "1a": false, "for": false, "print": false, "parallel": false, "json": false, "": false, "a b": false,
	} {
		require.Equal(t, want, Legal(name), name)
	}
}

// The same program with the same replies asks the same, byte for byte.
func FuzzRun(f *testing.F) {
	for _, s := range []string{
		"print(get(1))", "parallel([lambda i=i: get(i) for i in range(3)])", "pipeline([1,2], get, ask)", "x = [1]\nx *= 2\nx",
		"a, b = 1, {'x': [2]}\nb['x'][0] += 1\n[y for y in b if a]", "attempt(get, 'bad')", "(lambda *a, **k: k)(1, **{'a': 1})",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		run := func() string {
			c, e := config(source)
			c.Limits = Limits{Steps: 20_000, Memory: 1 << 20, Output: 1000, Calls: 20}
			out, err := Run(c)
			return fmt.Sprint(out, err, e.batches)
		}
		require.Equal(t, run(), run())
	})
}
