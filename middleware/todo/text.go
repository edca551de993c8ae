package todo

import (
	"fmt"
	"strings"

	"github.com/metaharness/peri/toolview"
)

// What a reminder may cost in every request.
const (
	remindItems = 20
	remindRunes = 120
)

func mark(status string) string {
	switch status {
	case "done":
		return "[x]"
	case "in_progress":
		return "[~]"
	}
	return "[ ]"
}

func count(items []item, status string) (n int) {
	for _, it := range items {
		if it.Status == status {
			n++
		}
	}
	return n
}

func tally(items []item) string {
	if len(items) == 0 {
		return "it is empty"
	}
	return fmt.Sprintf("%d done, %d in progress, %d pending", count(items, "done"), count(items, "in_progress"), count(items, "pending"))
}

// render is the list for a person or a model.
func render(items []item) string {
	if len(items) == 0 {
		return "Nothing is on the list."
	}
	var b strings.Builder
	for _, it := range items {
		fmt.Fprintf(&b, "%s %s\n", mark(it.Status), it.Content)
	}
	return b.String() + "\n" + tally(items)
}

// reminder is what a request adds about open items; "" when there are none, or none of the tools is there.
func reminder(items []item, view *toolview.View) string {
	open := len(items) - count(items, "done")
	if open == 0 || !view.HasAny([]string{writeTool, readTool}) {
		return ""
	}
	var b strings.Builder
	b.WriteString("Still open on your list:\n")
	shown := 0
	for _, it := range items {
		if it.Status == "done" {
			continue
		}
		if shown == remindItems {
			fmt.Fprintf(&b, "… and %d more\n", open-shown)
			break
		}
		fmt.Fprintf(&b, "%s %s\n", mark(it.Status), short(it.Content))
		shown++
	}
	b.WriteString("This is a reminder and not a request.")
	if view.HasAny([]string{writeTool}) {
		fmt.Fprintf(&b, " Keep the list true with `%s`.", writeTool)
	}
	return b.String()
}

func short(s string) string {
	if r := []rune(s); len(r) > remindRunes {
		return string(r[:remindRunes]) + "…"
	}
	return s
}
