package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/metaharness/peri/config"
)

//go:embed settings.yaml
var firstSettings []byte

func (p *program) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write a commented .peri/settings.yaml and its folders; never overwrites",
		Args:  takes(),
		RunE:  func(*cobra.Command, []string) error { return p.init() },
	}
}

func (p *program) init() error {
	root := p.root
	if root == "" {
		var err error
		if root, err = config.FindRoot(".", p.home); err != nil {
			return err
		}
	}
	dot := filepath.Join(root, ".peri")
	for _, dir := range []string{dot, filepath.Join(dot, "agents"), filepath.Join(dot, "meta")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if there, ok := settingsIn(dot); ok {
		fmt.Fprintf(p.out, "kept   %s\n", there)
	} else if err := p.write(filepath.Join(dot, "settings.yaml"), firstSettings); err != nil {
		return err
	}
	return p.write(filepath.Join(dot, ".gitignore"), []byte("settings.local.*\n"))
}

// settingsIn finds a settings file in any of its spellings: a second one beside it would be an error.
func settingsIn(dot string) (string, bool) {
	for _, ext := range []string{".yaml", ".yml", ".json", ".jsonc"} {
		name := filepath.Join(dot, "settings"+ext)
		if _, err := os.Lstat(name); err == nil {
			return name, true
		}
	}
	return "", false
}

// write makes a file that is not there yet.
func (p *program) write(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		fmt.Fprintf(p.out, "kept   %s\n", name)
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "wrote  %s\n", name)
	return nil
}
