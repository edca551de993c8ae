package session

import (
	"errors"
	"io/fs"
	"os"
)

// folder is a project's folder as a read-only file system. Each Open goes through os.Root, so that no link leaves the
// folder and an idle session holds no descriptor.
type folder string

// Open refuses a pipe, which it would wait for.
func (f folder) Open(name string) (fs.File, error) {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Stat(name); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it is a pipe")}
	}
	return root.FS().Open(name)
}

// Stat opens nothing, so that who asks first never waits.
func (f folder) Stat(name string) (fs.FileInfo, error) {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return fs.Stat(root.FS(), name)
}
