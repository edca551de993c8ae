package workspace

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Options are fixed for the life of a session. The zero value is the default.
type Options struct {
	// NoSandbox lets the file tools, and commands' starting folders, leave the root and the home.
	NoSandbox bool
	// NoHome keeps the file tools out of the user's home.
	NoHome bool
	// RestrictSystem hides system folders: /etc, /proc, /sys, /dev, /boot, /run, /root and their like on macOS and
	// Windows. A root or a home inside one of them stays reachable.
	RestrictSystem bool
	// BashAsync offers the tools that run commands in the background.
	BashAsync bool
	// OutputCap bounds, in bytes, what a model sees of one result; 0 = 30,000. A Read shows up to four times as much.
	// Of a command's output the head and the tail are shown and the whole is kept in a file.
	OutputCap int
	// Home is the user's home; "" = what the operating system says when the session opens.
	Home string
}

const defaultCap = 30_000

// settings is Options as a session stores them.
type settings struct {
	Sandbox        bool   `json:"sandbox"`
	AllowHome      bool   `json:"allow_home"`
	RestrictSystem bool   `json:"restrict_system"`
	BashAsync      bool   `json:"bash_async"`
	OutputCap      int    `json:"output_cap"`
	Home           string `json:"home,omitempty"`
}

func (o Options) settings() settings {
	s := settings{
		Sandbox: !o.NoSandbox, AllowHome: !o.NoHome, RestrictSystem: o.RestrictSystem, BashAsync: o.BashAsync,
		OutputCap: o.OutputCap, Home: o.Home,
	}
	if s.OutputCap <= 0 {
		s.OutputCap = defaultCap
	}
	return s
}

func (o Options) policy() json.RawMessage {
	b, err := json.Marshal(o.settings())
	if err != nil {
		panic(fmt.Sprintf("workspace: %v", err)) // no field of settings can fail
	}
	return b
}

// readPolicy reads what policy wrote. What it does not say is as in the zero Options; what it says and this build
// does not know is an error, since ignoring it could open something.
func readPolicy(raw json.RawMessage) (settings, error) {
	s := Options{}.settings()
	if len(raw) == 0 {
		return s, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("workspace: the session's stored policy: %w", err)
	}
	if s.OutputCap <= 0 {
		s.OutputCap = defaultCap
	}
	return s, nil
}
