package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

const (
	defaultHits = 10
	mostHits    = 50
	mostShown   = 24 << 10 // bytes of one answer
)

// desk is what the tools of one session and its children share.
type desk struct {
	keeper Provider
	in     Scope
	now    func() time.Time
	notice func(string)

	mu   sync.Mutex
	told string // the last trouble that a person was told of
}

type searchArgs struct {
	Query string `json:"query,omitempty" doc:"a few telling words; empty = what was kept last" max:"1000" alias:"q"`
	Limit int    `json:"limit,omitempty" doc:"how many, 10 by default" min:"1" max:"50"`
}

type saveArgs struct {
	Text string   `json:"text" doc:"what to keep, so that it stands alone" min:"1" max:"4000" alias:"content,memory"`
	Tags []string `json:"tags,omitempty" doc:"words under which it should be found too" max:"10"`
}

type forgetArgs struct {
	ID string `json:"id" doc:"the id of what was kept" min:"1" max:"100"`
}

// trouble tells the person, once, of what concerns their own files.
func (d *desk) trouble(err error) {
	d.mu.Lock()
	again := d.told == err.Error()
	d.told = err.Error()
	d.mu.Unlock()
	if !again && d.notice != nil {
		d.notice(err.Error())
	}
}

func search(ctx context.Context, d *desk, _ *toolview.Call, in searchArgs) (*message.Result, error) {
	limit := in.Limit
	if limit == 0 {
		limit = defaultHits
	}
	query := strings.Join(strings.Fields(in.Query), " ")
	found, err := d.keeper.Search(ctx, d.in, query, limit)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		d.trouble(err)
		if len(found) == 0 {
			return message.Fail(fmt.Sprintf("Nothing can be shown: %v.", err)), nil
		}
	}
	found = found[:min(len(found), limit, mostHits)]
	return shown(query, found, err), nil
}

// shown is an answer within its bounds.
func shown(query string, found []Memory, trouble error) *message.Result {
	var b strings.Builder
	kept := []Memory{}
	for i, m := range found {
		line := fmt.Sprintf("[%s] %s", m.ID, m.At.UTC().Format(time.DateOnly))
		if len(m.Tags) > 0 {
			line += " (" + strings.Join(m.Tags, ", ") + ")"
		}
		line += "\n" + m.Text + "\n\n"
		if b.Len()+len(line) > mostShown && i > 0 {
			fmt.Fprintf(&b, "%d more match; send a narrower query to see them.\n", len(found)-i)
			break
		}
		b.WriteString(line)
		kept = append(kept, m)
	}
	switch {
	case len(found) > 0:
	case query == "":
		b.WriteString("Nothing was kept yet for this user and project.")
	default:
		fmt.Fprintf(&b, "Nothing that was kept matches %q.", query)
	}
	if trouble != nil {
		fmt.Fprintf(&b, "Not all could be read: %v.", trouble)
	}
	r := message.Say(strings.TrimRight(b.String(), "\n"))
	r.Structured, _ = json.Marshal(struct { // text and a time always marshal
		Memories []Memory `json:"memories"`
	}{kept})
	return r
}

func save(ctx context.Context, d *desk, _ *toolview.Call, in saveArgs) (*message.Result, error) {
	m := Memory{Text: strings.TrimSpace(in.Text), At: time.Now()}
	if d.now != nil {
		m.At = d.now()
	}
	m.At = m.At.UTC().Truncate(time.Second)
	if m.Text == "" {
		return message.Fail("Nothing was kept: `text` is blank."), nil
	}
	for _, t := range in.Tags {
		if t = strings.Join(strings.Fields(t), " "); t != "" && !slices.Contains(m.Tags, t) {
			m.Tags = append(m.Tags, t)
		}
	}
	id, err := d.keeper.Save(ctx, d.in, m)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return message.Fail(fmt.Sprintf("It was not kept: %v.", err)), nil
	}
	return message.Say("It is kept as " + id + "."), nil
}

func forget(ctx context.Context, d *desk, _ *toolview.Call, in forgetArgs) (*message.Result, error) {
	m, err := d.keeper.Forget(ctx, d.in, strings.TrimSpace(in.ID))
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return message.Fail(fmt.Sprintf("Nothing was removed: %v.", err)), nil
	}
	return message.Say("This was removed: " + m.Text), nil
}
