package humanintheloop_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/humanintheloop"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// person answers questions; a nil one is not there.
type person struct {
	toolview.Host
	asked  []toolview.Question
	answer toolview.Answer
	err    error
}

func (p *person) Ask(q toolview.Question) (toolview.Answer, error) {
	p.asked = append(p.asked, q)
	return p.answer, p.err
}

func open(t *testing.T, canAsk bool) *middleware.Instance {
	t.Helper()
	m := humanintheloop.New(humanintheloop.Options{})
	require.NoError(t, middleware.Validate(m))
	inst, err := m.Open(context.Background(), middleware.Env{CanAsk: canAsk})
	require.NoError(t, err)
	return inst
}

func view(inst *middleware.Instance) *toolview.View {
	m := humanintheloop.New(humanintheloop.Options{})
	band := toolview.Band{Owner: m.Name, Set: m.Tools, Source: inst.Tools, State: inst.State}
	return toolview.NewDeriver([]toolview.Band{band}, nil, nil).View(&toolview.Policy{}, nil)
}

func ask(t *testing.T, p *person, args string) (*message.Result, error) {
	t.Helper()
	c, bad := view(open(t, true)).Call("1", "AskUserQuestion", []byte(args))
	if bad != nil {
		return bad, nil
	}
	return c.Tool().Flow(context.Background(), c, p)
}

const two = `{"questions":[
	{"question":"Which store?","header":"Store","options":[{"label":"SQLite","description":"one file"},{"label":"Postgres"}]},
	{"question":"Which checks?","options":[{"label":"unit"},{"label":"race"}],"multiSelect":true}]}`

func TestQuestionReachesThePerson(t *testing.T) {
	p := &person{answer: toolview.Answer{Chosen: [][]string{{"SQLite"}, {"unit", "whatever is quick"}}}}
	r, err := ask(t, p, two)
	require.NoError(t, err)
	require.False(t, r.Error)
	require.Equal(t, []toolview.Question{{Questions: []toolview.Item{
		{Question: "Which store?", Header: "Store", Options: []toolview.Option{{Label: "SQLite", Description: "one file"}, {Label: "Postgres"}}},
		{Question: "Which checks?", Options: []toolview.Option{{Label: "unit"}, {Label: "race"}}, Multiple: true},
	}}}, p.asked)
	require.Equal(t, "The user answered:\n\nWhich store?\n→ SQLite\nWhich checks?\n→ unit; whatever is quick", r.Text())
	require.JSONEq(t, `{"status":"answered","answers":[
		{"question":"Which store?","chosen":["SQLite"]},
		{"question":"Which checks?","chosen":["unit","whatever is quick"]}]}`, string(r.Structured))
}

func TestSilenceIsNoChoice(t *testing.T) {
	for name, tc := range map[string]struct {
		answer       toolview.Answer
		status, want string
	}{
		"declined":        {toolview.Answer{Declined: true}, "declined", "declined to answer"},
		"nothing":         {toolview.Answer{}, "unanswered", "gave no answer"},
		"blank words":     {toolview.Answer{Chosen: [][]string{{" "}, {}}}, "unanswered", "gave no answer"},
		"one of two":      {toolview.Answer{Chosen: [][]string{{"SQLite"}}}, "answered", "Which checks?\n→ no answer"},
		"declined anyhow": {toolview.Answer{Declined: true, Chosen: [][]string{{"SQLite"}}}, "declined", "Nothing was chosen"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := ask(t, &person{answer: tc.answer}, two)
			require.NoError(t, err)
			require.Contains(t, r.Text(), tc.want)
			require.Contains(t, string(r.Structured), `"status":"`+tc.status+`"`)
		})
	}
}

func TestCallThatNobodyCanAnswerFailsAtOnce(t *testing.T) {
	r, err := ask(t, &person{err: toolview.ErrNoAsker}, two)
	require.NoError(t, err)
	require.True(t, r.Error)
	require.Contains(t, r.Text(), "Nobody is there to answer")
	require.JSONEq(t, `{"status":"no_asker"}`, string(r.Structured))

	_, err = ask(t, &person{err: errors.New("pipe broke")}, two)
	require.ErrorContains(t, err, "pipe broke")
}

func TestToolIsThereOnlyWhereSomebodyAnswers(t *testing.T) {
	with, without := open(t, true), open(t, false)
	_, ok := view(with).Lookup("AskUserQuestion")
	require.True(t, ok)
	_, ok = view(without).Lookup("AskUserQuestion")
	require.False(t, ok)
	require.Contains(t, view(without).Explain("AskUserQuestion").Rule, "nobody is there to answer")

	_, bad := view(without).Call("1", "AskUserQuestion", []byte(two))
	require.True(t, bad.Error, "a call out of an old transcript is answered and waits for nobody")

	child, err := with.Child(context.Background(), middleware.Env{CanAsk: false})
	require.NoError(t, err)
	require.False(t, view(child).HasAny([]string{"AskUserQuestion"}))
	child, err = with.Child(context.Background(), middleware.Env{CanAsk: true})
	require.NoError(t, err)
	require.True(t, view(child).HasAny([]string{"AskUserQuestion"}))
}

func TestBadQuestionIsNotAsked(t *testing.T) {
	for name, args := range map[string]string{
		"none":        `{"questions":[]}`,
		"five":        `{"questions":[` + strings.Repeat(`{"question":"q?","options":[{"label":"a"},{"label":"b"}]},`, 4) + `{"question":"q?","options":[{"label":"a"},{"label":"b"}]}]}`,
		"one option":  `{"questions":[{"question":"q?","options":[{"label":"a"}]}]}`,
		"same option": `{"questions":[{"question":"q?","options":[{"label":"a"},{"label":" a "}]}]}`,
		"blank":       `{"questions":[{"question":" ","options":[{"label":"a"},{"label":"b"}]}]}`,
		"blank label": `{"questions":[{"question":"q?","options":[{"label":"a"},{"label":" "}]}]}`,
		"as text":     `{"questions":"Which?"}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := &person{}
			r, err := ask(t, p, args)
			require.NoError(t, err)
			require.True(t, r.Error)
			require.Empty(t, p.asked)
		})
	}
}

func TestTextNeedsItsTool(t *testing.T) {
	s := humanintheloop.New(humanintheloop.Options{}).Segments[0]
	require.Equal(t, []string{"AskUserQuestion"}, s.Needs)
	require.Contains(t, s.Text, "`AskUserQuestion`")
}
