package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Text is a skill's text as its file has it now.
type Text struct {
	Body string
	// File is where it stands, Folder where its further files are: absolute paths.
	File, Folder string
	// Changed says that the file is another than when the catalog was made.
	Changed bool
}

// Read reads the text of a skill of the catalog, by the real path that its place leads to now and inside the mount's
// root. What the catalog says of the skill stays as it was.
func (c *Catalog) Read(s *Skill) (Text, error) {
	mount, dir, ok := strings.Cut(strings.TrimPrefix(s.ID, "@"), "/")
	if !ok {
		dir = "."
	}
	m, ok := c.mounts[mount]
	if !ok {
		return Text{}, fmt.Errorf("the folder %s is no longer among the places of skills", mount)
	}
	root, err := filepath.EvalSymlinks(m.Root)
	if err != nil {
		return Text{}, plain(err)
	}
	real, err := inside(root, path.Join(m.Dir, dir, path.Base(s.Origin.File)))
	if err != nil {
		return Text{}, err
	}
	opened, err := os.OpenRoot(root)
	if err != nil {
		return Text{}, plain(err)
	}
	defer opened.Close()
	raw, err := read(opened, real)
	if err != nil {
		return Text{}, plain(err)
	}
	doc, bad := split(raw)
	switch {
	case bad != nil:
		return Text{}, fmt.Errorf("%s:%d:%d: %s", s.Origin.File, bad.line, bad.column, bad.message)
	case doc.body == "":
		return Text{}, fmt.Errorf("%s: there is no text behind the front matter", s.Origin.File)
	}
	sum := sha256.Sum256(raw)
	file := filepath.Join(root, filepath.FromSlash(real))
	return Text{Body: strings.NewReplacer(m.Replace...).Replace(doc.body), File: file, Folder: filepath.Dir(file), Changed: hex.EncodeToString(sum[:]) != s.Sum}, nil
}
