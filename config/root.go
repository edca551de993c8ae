package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/metaharness/peri/meta"
)

const (
	dotFolder      = ".peri"
	defaultManaged = "/etc/peri/settings.yaml"
)

// DefaultHome is $PERI_HOME, else ~/.peri.
func DefaultHome() (string, error) {
	if home := os.Getenv("PERI_HOME"); home != "" {
		return filepath.Abs(home)
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("config: home: %w; set PERI_HOME", err)
	}
	return filepath.Join(user, dotFolder), nil
}

// FindRoot gives the project's folder: the nearest of dir and its ancestors with a .peri folder, else the nearest with
// .git, else dir. home, "" for DefaultHome(), is no project's .peri folder, wherever it stands.
func FindRoot(dir, home string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("config: root: %w", err)
	}
	if home == "" {
		if home, err = DefaultHome(); err != nil {
			return "", err
		}
	}
	git := ""
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, dotFolder)); err == nil && info.IsDir() && !same(filepath.Join(at, dotFolder), home) {
			return at, nil
		}
		if git == "" {
			if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
				git = at
			}
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if git != "" {
		return git, nil
	}
	return dir, nil
}

func same(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// places fills in the folders and lists the layers, low to high.
func places(o Options) (*Loaded, []LayerFile, error) {
	l := &Loaded{}
	var err error
	if l.Home = o.Home; l.Home == "" {
		l.Home, err = DefaultHome()
	} else {
		l.Home, err = filepath.Abs(l.Home)
	}
	if err != nil {
		return nil, nil, err
	}
	if o.Root == "" {
		l.Root, err = FindRoot(".", l.Home)
	} else {
		l.Root, err = filepath.Abs(o.Root)
	}
	if err != nil {
		return nil, nil, err
	}
	managed := o.Managed
	switch managed {
	case "":
		managed = defaultManaged
	case "-":
		managed = ""
	}
	files := []LayerFile{{Name: Global, File: filepath.Join(l.Home, "settings.yaml")}}
	// The home folder seen from its parent is not a second, less trusted layer.
	if dot := filepath.Join(l.Root, dotFolder); !same(dot, l.Home) {
		files = append(files, LayerFile{Name: Project, File: filepath.Join(dot, "settings.yaml")})
		if !o.Shared {
			files = append(files, LayerFile{Name: Local, File: filepath.Join(dot, "settings.local.yaml")})
		}
	}
	files = append(files, LayerFile{Name: Option})
	if managed != "" {
		files = append(files, LayerFile{Name: Managed, File: managed})
	}
	return l, files, nil
}

// openFolders opens the override folders that are there. An os.Root keeps links inside.
func (l *Loaded) openFolders() error {
	dirs := []meta.Folder{{Layer: Global, Dir: filepath.Join(l.Home, "meta")}}
	if dot := filepath.Join(l.Root, dotFolder); !same(dot, l.Home) {
		dirs = append(dirs, meta.Folder{Layer: Project, Dir: filepath.Join(dot, "meta")})
	}
	for _, f := range dirs {
		root, err := os.OpenRoot(f.Dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("config: override folder: %w", err)
		}
		l.open = append(l.open, root)
		f.FS = root.FS()
		l.Folders = append(l.Folders, f)
	}
	return nil
}
