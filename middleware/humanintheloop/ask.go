package humanintheloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

type askArgs struct {
	Questions []question `json:"questions" doc:"one to four questions" min:"1" max:"4"`
}

type question struct {
	Question string   `json:"question" doc:"the whole question" min:"1" max:"2000"`
	Header   string   `json:"header,omitempty" doc:"a word or two by which it is shown" max:"60"`
	Options  []option `json:"options" doc:"two to four answers to choose from" min:"2" max:"4"`
	Multiple bool     `json:"multiple,omitempty" doc:"several options may be chosen" alias:"multiSelect,multi_select"`
}

type option struct {
	Label       string `json:"label" doc:"the answer in a few words" min:"1" max:"200"`
	Description string `json:"description,omitempty" doc:"what choosing it means" max:"1000"`
}

// What the structured part of a result says of the outcome.
const (
	answered   = "answered"
	declined   = "declined"
	unanswered = "unanswered"
	noAsker    = "no_asker"
)

// outcome is the structured part of a result.
type outcome struct {
	Status  string  `json:"status"`
	Answers []reply `json:"answers,omitempty"`
}

type reply struct {
	Question string   `json:"question"`
	Chosen   []string `json:"chosen"`
}

func ask(_ context.Context, _ struct{}, _ *toolview.Call, in askArgs, host toolview.Host) (*message.Result, error) {
	q, wrong := in.question()
	if wrong != "" {
		return message.Fail(fmt.Sprintf("`%s` asked nothing: %s.", askTool, wrong)), nil
	}
	answer, err := host.Ask(q)
	if errors.Is(err, toolview.ErrNoAsker) {
		r := with(noAsker, nil, "Nobody is there to answer, and no answer may be assumed. Do not ask again in this session: take the safest reading and say so in your report, or report what you would need to know.")
		r.Error = true
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("humanintheloop: ask: %w", err)
	}
	return tell(q, answer), nil
}

// question checks what a schema cannot say and makes the question for the host.
func (in askArgs) question() (q toolview.Question, wrong string) {
	for i, from := range in.Questions {
		item := toolview.Item{Question: strings.TrimSpace(from.Question), Header: strings.TrimSpace(from.Header), Multiple: from.Multiple}
		if item.Question == "" {
			return q, fmt.Sprintf("questions[%d].question is blank", i)
		}
		labels := map[string]bool{}
		for j, o := range from.Options {
			label := strings.TrimSpace(o.Label)
			if label == "" {
				return q, fmt.Sprintf("questions[%d].options[%d].label is blank", i, j)
			}
			if labels[label] {
				return q, fmt.Sprintf("questions[%d] offers %q twice; make its options distinct", i, label)
			}
			labels[label] = true
			item.Options = append(item.Options, toolview.Option{Label: label, Description: strings.TrimSpace(o.Description)})
		}
		q.Questions = append(q.Questions, item)
	}
	return q, ""
}

// tell says what the user answered. What was left open is said to be open: silence is no choice.
func tell(q toolview.Question, a toolview.Answer) *message.Result {
	if a.Declined {
		return with(declined, nil, "The user declined to answer. Nothing was chosen. Do not put the question again; go on without it as safely as you can, or say what you need.")
	}
	var b strings.Builder
	var replies []reply
	given := 0
	for i, item := range q.Questions {
		r := reply{Question: item.Question, Chosen: []string{}}
		if i < len(a.Chosen) {
			for _, c := range a.Chosen[i] {
				if strings.TrimSpace(c) != "" {
					r.Chosen = append(r.Chosen, c)
				}
			}
		}
		line := "no answer"
		if len(r.Chosen) > 0 {
			line = strings.Join(r.Chosen, "; ")
			given++
		}
		fmt.Fprintf(&b, "%s\n→ %s\n", item.Question, line)
		replies = append(replies, r)
	}
	if given == 0 {
		return with(unanswered, replies, "The user gave no answer. Nothing was chosen: do not assume one.")
	}
	return with(answered, replies, "The user answered:\n\n"+strings.TrimRight(b.String(), "\n"))
}

func with(status string, replies []reply, text string) *message.Result {
	r := message.Say(text)
	r.Structured, _ = json.Marshal(outcome{status, replies}) // text alone always marshals
	return r
}
