package session

import (
	"io/fs"
	"os"
)

// folder is a project's folder as a read-only file system. Each Open goes through os.Root, so that no link leaves the
// folder and an idle session holds no descriptor.
type folder string

func (f folder) Open(name string) (fs.File, error) {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.FS().Open(name)
}
