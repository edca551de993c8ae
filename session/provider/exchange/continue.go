package exchange

import (
	"encoding/json"

	"github.com/metaharness/peri/prompt/message"
)

// trim takes from a truncated message the call that the limit cut in two, and returns the name of its tool.
func trim(m *message.Message) (cut string) {
	last := len(m.Parts) - 1
	if m.Stop != stopLength || last < 0 || m.Parts[last].Kind != message.ToolUse {
		return ""
	}
	u := m.Parts[last].Use
	if u == nil || len(u.Args) > 0 && json.Valid(u.Args) {
		return ""
	}
	m.Parts = m.Parts[:last:last]
	return u.Name
}

// continuation is what is sent behind the conversation to get the rest of an answer.
func continuation(so *message.Message, cut string) []*message.Message {
	note := goOn
	if cut != "" {
		note = goSmall + cut + smaller
	}
	ask := message.Of(message.User, note)
	if !says(so) {
		return []*message.Message{ask}
	}
	part := *so
	part.Role, part.Parts = message.Assistant, nil
	for _, p := range so.Parts {
		if p.Kind != message.Reasoning {
			part.Parts = append(part.Parts, p)
		}
	}
	return []*message.Message{&part, ask}
}

// join appends the continuation of a message to it.
func join(m, next *message.Message) {
	parts := next.Parts
	if last := len(m.Parts) - 1; last >= 0 && m.Parts[last].Kind == message.Text {
		for i := range parts {
			if parts[i].Kind == message.Text {
				m.Parts[last].Text += parts[i].Text
				parts = append(parts[:i:i], parts[i+1:]...)
				break
			}
		}
		// Reasoning belongs to the request that it was made for, and cannot stand behind what it led to.
		for len(parts) > 0 && parts[0].Kind == message.Reasoning {
			parts = parts[1:]
		}
	}
	m.Parts = append(m.Parts[:len(m.Parts):len(m.Parts)], parts...)
	m.Stop = next.Stop
	if next.Usage == nil {
		return
	}
	if m.Usage == nil {
		m.Usage = &message.Usage{}
	}
	m.Usage.Input += next.Usage.Input
	m.Usage.Output += next.Usage.Output
	m.Usage.CacheRead += next.Usage.CacheRead
	m.Usage.CacheWrite += next.Usage.CacheWrite
}
