package toolview_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// named is a tool whose calls are about what their text names, under two names.
func named() toolview.Band {
	t := toolview.New(toolview.Tool{
		Decl: toolview.Decl{Name: "Take"}, Doc: "Takes.", Effects: toolview.Internal,
		Subjects: toolview.Subjects(func(in says) []toolview.Subject {
			return []toolview.Subject{{Kind: toolview.Name, Value: "@shelf/" + in.Text, Same: []string{in.Text}}}
		}),
	}, func(context.Context, any, *toolview.Call, says) (*message.Result, error) {
		return message.Say("took"), nil
	})
	return toolview.Band{Owner: "TakeMiddleware", Set: toolview.MustSet(t)}
}

func TestASubjectIsMetUnderEveryNameThatItHas(t *testing.T) {
	args := json.RawMessage(`{"text":"book"}`)
	for _, name := range []string{"Take(book)", "Take(bo*)", "Take(@shelf/book)", "Take(@shelf/*)"} {
		call, _ := view(allowing(t, name), named()).Call("1", "Take", args)
		require.NotNil(t, call, "%s allows", name)
		call, _ = view(denying(t, name), named()).Call("1", "Take", args)
		require.Nil(t, call, "%s denies", name)
		r, err := toolview.ParseRule(name, meta.Origin{})
		require.NoError(t, err)
		d := toolview.Decl{Name: "Take"}
		s := toolview.Subject{Kind: toolview.Name, Value: "@shelf/book", Same: []string{"book"}}
		require.Equal(t, toolview.Meets, r.Restricts("TakeMiddleware", &d, s, toolview.Place{}))
	}
	for _, name := range []string{"Take(pen)", "Take(@other/book)"} {
		call, _ := view(allowing(t, name), named()).Call("1", "Take", args)
		require.Nil(t, call, "%s does not allow", name)
		call, _ = view(denying(t, name), named()).Call("1", "Take", args)
		require.NotNil(t, call, "%s does not deny", name)
	}
}

func TestAFrameRefusesTheCallsThatAViewUnderItWouldNotMake(t *testing.T) {
	bands := []toolview.Band{named(), direct("OtherMiddleware", "Other"), pair(), deferred("LateMiddleware", "Late")}
	open := view(free(), bands...)
	for _, l := range []toolview.Lists{
		{},
		{Deny: sel("Take")},
		{Deny: sel("Take(book)")},
		{Deny: sel("Take(pen)")},
		{Allow: [][]toolview.Selector{sel("Other")}},
		{Allow: [][]toolview.Selector{sel("Take(book)", "Other")}},
		{Allow: [][]toolview.Selector{sel("Take(pen)")}},
		{Allow: [][]toolview.Selector{{}}},
	} {
		under := view(&toolview.Policy{Frames: []*toolview.Frame{frame(t, l)}}, bands...)
		for _, name := range []string{"Take", "Other", "Find"} {
			call, _ := open.Call("1", name, json.RawMessage(`{"text":"book"}`))
			require.NotNil(t, call)
			made, _ := under.Call("1", name, json.RawMessage(`{"text":"book"}`))
			if name == "Find" {
				require.Empty(t, frame(t, l).Refusal(call), "the way to deferred tools is not shut by lists that name it not")
				continue
			}
			require.Equal(t, made == nil, frame(t, l).Refusal(call) != "", "%+v %s", l, name)
		}
	}
}
