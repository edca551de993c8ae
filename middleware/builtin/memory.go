package builtin

import (
	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware/memory"
)

// memories turns the settings of memory into options.
func memories(l *config.Loaded) memory.Options {
	m := l.Settings.Memory
	return memory.Options{Provider: m.Provider.V, Folder: m.Folder.V, Home: l.Home}
}

// checkMemory reports options that are refused, with their place, and takes them out so that the rest is checked too.
func checkMemory(s *config.Settings, o *memory.Options) error {
	err := o.Check()
	if err == nil {
		return nil
	}
	*o = memory.Options{}
	return &meta.Error{Origin: s.Memory.Folder.Origin, Key: "memory.folder", Message: err.Error()}
}
