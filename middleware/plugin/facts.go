package plugin

import (
	"fmt"
	"strings"

	"github.com/metaharness/peri/middleware"
)

// OnPlugin is the surface of plugins; what each brings is below it, by kind.
const OnPlugin = "plugin"

// facts are the plugins and everything that they bring, with the plugin and the file that it comes from.
func (o *Options) facts() []middleware.Fact {
	var out []middleware.Fact
	for _, p := range o.Plugins {
		out = append(out, middleware.Fact{
			Surface: OnPlugin, Name: p.Name, Doc: p.Description,
			Detail: strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s", p.Origin.Layer, p.Version, p.Origin, p.Counts())), " "),
		})
		for _, b := range p.all() {
			for _, i := range b.Items {
				out = append(out, middleware.Fact{
					Surface: OnPlugin + "/" + b.Kind, Name: i.Name, Doc: i.Doc, Detail: p.Name + " " + i.Origin.String(),
				})
			}
		}
	}
	return out
}

// all is what the plugin brings of every kind, commands first.
func (p *Plugin) all() []Brought {
	commands := Brought{Kind: "commands"}
	for _, c := range p.Commands {
		commands.Items = append(commands.Items, Item{Name: c.Name, Doc: c.Doc, Origin: c.Origin})
	}
	return append([]Brought{commands}, p.Brings...)
}

// Counts says how much the plugin brings of what, such as "1 command, 2 hooks".
func (p *Plugin) Counts() string {
	var parts []string
	for _, b := range p.all() {
		switch n := len(b.Items); n {
		case 0:
		case 1:
			parts = append(parts, "1 "+strings.TrimSuffix(b.Kind, "s"))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, b.Kind))
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
