package toolview_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

func TestCallCarriesTheRealNameAndCanonicalArguments(t *testing.T) {
	b := toolview.Band{Owner: "A", Set: toolview.MustSet(tool("One", "uno")), State: 7}
	v := view(&toolview.Policy{Agent: "scout"}, b)
	c, bad := v.Call("u1", "uno", json.RawMessage(`{"words":"hi"}`))
	require.Nil(t, bad)
	require.Equal(t, []any{"u1", "One", "", "A", 7, false, "scout", v, `{"text":"hi"}`},
		[]any{c.ID(), c.Name(), c.Via(), c.Owner(), c.State(), c.Deferred(), c.Agent(), c.View(), string(c.Args())})
}

func TestCallCannotBeChangedFromOutside(t *testing.T) {
	v := view(free(), direct("A", "One"))
	args := json.RawMessage(`{"text":"hi"}`)
	c, _ := v.Call("u1", "One", args)
	copy(args, `{"text":"xx"}`)
	copy(c.Args(), `{"text":"yy"}`)
	require.JSONEq(t, `{"text":"hi"}`, string(c.Args()))

	other, bad := c.With(json.RawMessage(`{"words":"ho"}`))
	require.Nil(t, bad)
	require.NotSame(t, c, other)
	require.JSONEq(t, `{"text":"hi"}`, string(c.Args()))
	require.JSONEq(t, `{"text":"ho"}`, string(other.Args()))
	require.Equal(t, c.ID(), other.ID())

	none, bad := c.With(json.RawMessage(`{"text":1}`))
	require.Nil(t, none)
	require.True(t, bad.Error)
}

func TestBadArgumentsMakeNoCallAndSayWhatToSend(t *testing.T) {
	v := view(free(), direct("A", "One"), pair())
	for _, args := range []string{`{"text":1}`, `{"other":1}`, `[]`, `{"text":`, `{"text":"a","text":"b"}`, `{"text":"a","words":"b"}`, `"x"`, "\xff", `{} {}`} {
		c, bad := v.Call("u1", "One", json.RawMessage(args))
		require.Nil(t, c, args)
		require.True(t, bad.Error)
		require.True(t, strings.HasPrefix(bad.Text(), "`One` was not run:\n"), bad.Text())
	}
	for _, args := range []string{"", "null", "{}", " {} "} {
		c, bad := v.Call("u1", "One", json.RawMessage(args))
		require.Nil(t, bad, args)
		require.JSONEq(t, "{}", string(c.Args()))
	}
}

func TestForwarderIsReplacedBeforeAnyGate(t *testing.T) {
	v := view(denying(t, "Denied"), direct("A", "One", "Denied"), deferred("B", "Late"), pair())
	for name, c := range map[string]struct{ args, want string }{
		"of a direct tool":         {`{"name":"One"}`, ""},
		"of a deferred one":        {`{"name":"Late"}`, ""},
		"of itself":                {`{"name":"Exec","args":{"name":"One"}}`, "`Exec` forwards a call and cannot itself be forwarded: name the tool that is to run."},
		"of a tool that is denied": {`{"name":"Denied"}`, "There is no tool `Denied`."},
		"of none":                  {`{"name":"Qwertyu"}`, "There is no tool `Qwertyu`."},
		"with bad inner arguments": {`{"name":"One","args":{"text":1}}`, "`One` was not run:\n"},
		"with bad outer arguments": {`{"nam":"One"}`, "`Exec` was not run:\n"},
		"that fails":               {`{"name":"error"}`, "`Exec`: it will not"},
		"that panics":              {`{"name":"panic"}`, "`Exec`: it failed to read its arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			call, bad := v.Call("u1", "Exec", json.RawMessage(c.args))
			if c.want == "" {
				require.Nil(t, bad)
				require.Equal(t, "Exec", call.Via())
				return
			}
			require.Nil(t, call)
			require.True(t, bad.Error)
			require.True(t, strings.HasPrefix(bad.Text(), c.want), bad.Text())
		})
	}
}

func TestInnerCallReachesDeferredToolsAndNoForwarder(t *testing.T) {
	v := view(free(), deferred("B", "Late"), pair())
	c, bad := v.Inner("u1.1", toolview.Inner{Name: "Late"})
	require.Nil(t, bad)
	require.Equal(t, "", c.Via())
	_, bad = v.Inner("u1.2", toolview.Inner{Name: "Exec", Args: json.RawMessage(`{"name":"Late"}`)})
	require.Contains(t, bad.Text(), "cannot itself be forwarded")
	_, bad = v.Inner("u1.3", toolview.Inner{Name: "Qwertyu"})
	require.Equal(t, v.Unknown("Qwertyu"), bad)
}

func TestMeansNamesTheToolThatWouldRun(t *testing.T) {
	v := view(denying(t, "Denied"), toolview.Band{Owner: "A", Set: toolview.MustSet(tool("One", "uno"), tool("Denied"))}, deferred("B", "Late"), pair())
	for _, c := range []struct{ name, args, want string }{
		{"One", `{}`, ""},
		{"uno", `{}`, "One"},
		{"Qwertyu", `{}`, ""},
		{"Exec", `{"name":"Late"}`, "Late"},
		{"Exec", `{"name":"uno"}`, "One"},
		{"Exec", `{"name":"Denied"}`, ""},
		{"Exec", `{"name":"Exec"}`, ""},
		{"Exec", `{"name":"panic"}`, ""},
		{"Exec", `{"name":"error"}`, ""},
		{"Exec", `{`, ""},
	} {
		require.Equal(t, c.want, v.Means(c.name, json.RawMessage(c.args)), "%s %s", c.name, c.args)
	}
}

func TestSubjectsAreTheOwnersAndItsPanicIsAnError(t *testing.T) {
	of := func(f func(json.RawMessage) ([]toolview.Subject, error)) *toolview.Call {
		x := tool("One")
		x.Subjects = f
		c, bad := view(free(), toolview.Band{Owner: "A", Set: toolview.MustSet(x)}).Call("1", "One", json.RawMessage(`{"text":"ls"}`))
		require.Nil(t, bad)
		return c
	}
	got, err := of(nil).Subjects()
	require.NoError(t, err)
	require.Empty(t, got)
	got, err = of(toolview.Subjects(func(in says) []toolview.Subject {
		return []toolview.Subject{{Kind: toolview.Command, Value: in.Text}}
	})).Subjects()
	require.NoError(t, err)
	require.Equal(t, []toolview.Subject{{Kind: toolview.Command, Value: "ls"}}, got)
	_, err = of(func(json.RawMessage) ([]toolview.Subject, error) { return nil, errors.New("no") }).Subjects()
	require.EqualError(t, err, "no")
	_, err = of(func(json.RawMessage) ([]toolview.Subject, error) { panic("oops") }).Subjects()
	require.EqualError(t, err, "toolview: A: subjects of One: panic: oops")
}

func TestWrongStateIsAnErrorAndNoPanic(t *testing.T) {
	x := toolview.New(toolview.Tool{Decl: toolview.Decl{Name: "One"}, Doc: "x"},
		func(context.Context, *strings.Builder, *toolview.Call, says) (*message.Result, error) {
			return message.Say("ran"), nil
		})
	run := func(state any) error {
		c, bad := view(free(), toolview.Band{Owner: "A", Set: toolview.MustSet(x), State: state}).Call("1", "One", nil)
		require.Nil(t, bad)
		_, err := c.Tool().Run(t.Context(), c)
		return err
	}
	require.NoError(t, run(&strings.Builder{}))
	require.NoError(t, run(nil))
	require.ErrorContains(t, run(7), "wants state *strings.Builder, its owner A opened int")
}

func TestProgressReachesWhoeverWatches(t *testing.T) {
	c, _ := view(free(), direct("A", "One")).Call("1", "One", nil)
	var heard []string
	c.Progress(t.Context(), "nobody listens")
	c.Progress(toolview.WithProgress(t.Context(), func(c *toolview.Call, text string) { heard = append(heard, c.Name()+" "+text) }), "half")
	require.Equal(t, []string{"One half"}, heard)
}

func FuzzCallArguments(f *testing.F) {
	for _, s := range []string{`{}`, `{"text":"a"}`, `{"name":"One","args":{"words":"b"}}`, `{"name":"Exec","args":{}}`, `null`, `[`, "\xff", `{"text":"a","text":"b"}`} {
		f.Add("One", []byte(s))
		f.Add("Exec", []byte(s))
	}
	v := view(free(), direct("A", "One"), deferred("B", "Late"), pair())
	f.Fuzz(func(t *testing.T, name string, args []byte) {
		c, bad := v.Call("1", name, args)
		require.NotEqual(t, c == nil, bad == nil, "a call or a result, never both or neither")
		if c == nil {
			require.True(t, bad.Error)
			_, err := json.Marshal(bad)
			require.NoError(t, err)
			return
		}
		e, ok := v.Lookup(c.Name())
		require.True(t, ok)
		require.Nil(t, e.Tool.Unwrap)
		again, bad := c.With(c.Args())
		require.Nil(t, bad, "canonical arguments fit")
		require.Equal(t, c.Args(), again.Args())
		_, err := c.Tool().Run(t.Context(), c)
		require.NoError(t, err, "what passed the schema decodes")
	})
}
