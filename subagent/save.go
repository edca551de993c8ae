package subagent

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"go.yaml.in/yaml/v4"

	"github.com/metaharness/peri/meta"
)

const agentFolder = ".peri/agents"

// savedAs is the file of an agent that is saved, from the project's root.
func savedAs(name string) string { return agentFolder + "/" + name + ".md" }

// save writes a definition to the project. It replaces no file and leaves none half written, and no link leads it out of
// the project.
func (s *state) save(d *Definition) error {
	if s.root == "" {
		return errors.New("this session has no project folder")
	}
	text, err := d.file()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return fmt.Errorf("the project's folder: %w", err)
	}
	defer root.Close()
	if err := root.MkdirAll(agentFolder, 0o777); err != nil {
		return fmt.Errorf("%s: %w", agentFolder, err)
	}
	// A link to a whole file either comes to be or does not, and never takes the place of another.
	temp := path.Join(agentFolder, ".peri-"+rand.Text()+".tmp")
	defer func() { _ = root.Remove(temp) }() // it may never have been made
	if err := fill(root, temp, text); err != nil {
		return fmt.Errorf("%s: %w", agentFolder, err)
	}
	switch err := root.Link(temp, savedAs(d.Name)); {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s exists and is not replaced", savedAs(d.Name))
	case err != nil:
		return fmt.Errorf("%s: %w", savedAs(d.Name), err)
	}
	return nil
}

func fill(root *os.Root, name string, text []byte) (err error) {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Sync()
}

// file is the definition as an agent file, which reads back as what it says.
func (d *Definition) file() ([]byte, error) {
	head := struct {
		Name        string    `yaml:"name"`
		Description string    `yaml:"description"`
		Tools       *[]string `yaml:"tools,omitempty"`
	}{Name: d.Name, Description: d.Description}
	if d.Tools != nil {
		head.Tools = &d.Tools
	}
	front, err := yaml.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("its fields: %w", err)
	}
	text := []byte("---\n" + string(front) + "---\n" + d.Body + "\n")
	doc, ok, bad := split(text)
	if !ok || bad != nil {
		return nil, errors.New("its text does not read back as an agent file")
	}
	r := define(doc, meta.Origin{Layer: Project, File: savedAs(d.Name)}, periDialect, true)
	same := r.def.Name == d.Name && r.def.Description == d.Description && r.def.Body == d.Body &&
		(r.def.Tools == nil) == (d.Tools == nil)
	if len(r.bad) > 0 || !same {
		return nil, errors.New("its text does not read back as it was written")
	}
	return text, nil
}
