package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// sandbox decides where a path leads and whether it may.
type sandbox struct {
	root  string // the project's folder, every link resolved
	home  string // "" = not known
	live  *live
	spill *spill // its folder may be read
	// apart are the folders of sessions above that work elsewhere: what is not also in root is theirs.
	apart []string
}

// spot is a path that may be entered: rel, below area, leads to what real names.
type spot struct {
	area, rel string
	real      string
	shown     string // how results name it: relative to the project where it is inside
}

func newSandbox(live *live, root string, outputs *spill) (*sandbox, error) {
	if root == "" {
		return nil, errors.New("workspace: the session has no project folder")
	}
	root, err := filepath.Abs(root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, fmt.Errorf("workspace: project folder: %w", err)
	}
	b := &sandbox{root: root, spill: outputs, live: live}
	home := live.Load().Home
	if home == "" {
		home, _ = os.UserHomeDir() // without one there is only the root
	}
	if home != "" {
		// A machine without users has "/" as its home: that would be no sandbox.
		if real, err := filepath.EvalSymlinks(home); err == nil && filepath.IsAbs(real) && filepath.Dir(real) != real {
			b.home = real
		}
	}
	return b, nil
}

// areas are the folders that may be entered now; nil = all.
func (b *sandbox) areas() []string {
	switch o := b.live.Load(); {
	case !o.Sandbox:
		return nil
	case o.AllowHome && b.home != "":
		return []string{b.root, b.home}
	}
	return []string{b.root}
}

// system are the folders that are hidden now.
func (b *sandbox) system() []string {
	if b.live.Load().RestrictSystem {
		return systemFolders()
	}
	return nil
}

// systemFolders holds settings of the machine, devices, and other users' secrets. Programs and libraries are not
// among them: reading a header or a licence is ordinary work.
func systemFolders() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{`C:\Windows`, `C:\ProgramData`}
	case "darwin":
		return []string{"/etc", "/private/etc", "/dev", "/root", "/var/root", "/private/var/root", "/private/var/db", "/System", "/Library/Keychains"}
	}
	return []string{"/etc", "/proc", "/sys", "/dev", "/boot", "/run", "/root", "/var/run"}
}

// find resolves a path as the model wrote it. Its error is for the model.
func (b *sandbox) find(path string) (spot, error) {
	if strings.ContainsRune(path, 0) {
		return spot{}, errors.New("a path cannot hold a NUL byte")
	}
	abs := b.absolute(path)
	real, err := resolve(abs)
	if err != nil {
		return spot{}, explain(b.show(abs), err)
	}
	if b.theirs(real) {
		return spot{}, fmt.Errorf("%s is in the project that this agent has a folder of its own for: use %s, by a relative path", b.show(real), b.root)
	}
	if b.hidden(real) {
		return spot{}, fmt.Errorf("%s is in a system folder, and workspace.restrict_system hides those", b.show(real))
	}
	area, ok := b.area(real)
	if !ok {
		return spot{}, b.refusal(abs, real)
	}
	rel, err := filepath.Rel(area, real)
	if err != nil {
		return spot{}, explain(b.show(abs), err)
	}
	return spot{area: area, rel: rel, real: real, shown: b.show(real)}, nil
}

// area is the folder that lets a real path be entered.
func (b *sandbox) area(real string) (string, bool) {
	areas := b.areas()
	if areas == nil {
		return filepath.VolumeName(real) + string(filepath.Separator), true
	}
	for _, a := range areas {
		if within(a, real) {
			return a, true
		}
	}
	if dir := b.spill.folder(); dir != "" && within(dir, real) {
		return dir, true
	}
	return "", false
}

func (b *sandbox) refusal(abs, real string) error {
	where := "the project's folder " + b.root
	if len(b.areas()) > 1 {
		where += " and the home " + b.home
	}
	if real != abs {
		return fmt.Errorf("%s leads to %s, outside of what may be used: only %s", abs, real, where)
	}
	return fmt.Errorf("%s is outside of what may be used: only %s", abs, where)
}

// theirs reports whether a path is in the folder of a session above, and not in this one's own.
func (b *sandbox) theirs(real string) bool {
	for _, dir := range b.apart {
		if within(dir, real) && !within(b.root, real) {
			return true
		}
	}
	return false
}

// hidden reports whether a system folder that does not hold the root or the home holds the path.
func (b *sandbox) hidden(real string) bool { return b.below(b.system(), real) }

func (b *sandbox) below(dirs []string, real string) bool {
	for _, dir := range dirs {
		if !within(dir, real) {
			continue
		}
		if within(dir, b.root) && within(b.root, real) || b.home != "" && within(dir, b.home) && within(b.home, real) {
			continue
		}
		return true
	}
	return false
}

// absolute is a written path made absolute and clean: `~` is the home, relative paths start in the root.
func (b *sandbox) absolute(path string) string {
	switch {
	case path == "":
		return b.root
	case b.home != "" && path == "~":
		return b.home
	case b.home != "" && strings.HasPrefix(path, "~/"):
		return filepath.Join(b.home, path[2:])
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	}
	return filepath.Join(b.root, path)
}

// show names a path as results do, with slashes.
func (b *sandbox) show(abs string) string {
	if abs != b.root && within(b.root, abs) {
		if rel, err := filepath.Rel(b.root, abs); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(abs)
}

// open opens the area that the spot is in. Nothing reached through it can leave it, whatever changes meanwhile.
func (s spot) open() (*os.Root, error) { return os.OpenRoot(s.area) }

// within reports whether path is dir or below it. Both are clean and absolute.
func within(dir, path string) bool {
	if dir == path {
		return true
	}
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	return strings.HasPrefix(path, dir)
}

// cleaned is a path as the model wrote it, for rules to judge; "" is the root.
func cleaned(path string) string { return filepath.ToSlash(filepath.Clean(path)) }

// maxLinks is what the kernel allows of links on one path.
const maxLinks = 40

// resolve follows every link of an absolute path. What does not exist yet is kept as written, behind the real path of
// what does; the target of a dangling link is resolved the same way.
func resolve(abs string) (string, error) {
	volume := filepath.VolumeName(abs)
	sep := string(filepath.Separator)
	at := volume + sep
	rest := strings.Split(strings.TrimPrefix(abs[len(volume):], sep), sep)
	missing := false
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			// Behind something that is not there, `..` has no meaning that one could check.
			if missing {
				return "", fs.ErrNotExist
			}
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if missing {
			at = next
			continue
		}
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing, at = true, next
			continue
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", errors.New("too many symbolic links")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + sep
			target = target[len(filepath.VolumeName(target)):]
		}
		rest = append(strings.Split(strings.Trim(filepath.FromSlash(target), sep), sep), rest...)
	}
	return at, nil
}

// explain words a failure of the file system for the model.
func explain(shown string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", shown)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied", shown)
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("%s: %w", shown, err)
}

// Real is where a path leads: relative to the project's root where it is inside, absolute elsewhere. A path that stands
// for itself comes back as it was written.
func (s *state) Real(path string) (string, bool) {
	if strings.ContainsRune(path, 0) {
		return "", false
	}
	abs := s.box.absolute(filepath.FromSlash(path))
	real, err := resolve(abs)
	if len(s.box.apart) > 0 {
		return s.box.apartly(path, abs, real, err)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return path, true // there is nothing that a link could lead to
	case err != nil:
		return "", false
	case real == abs || real == filepath.Clean(abs):
		return path, true
	}
	return s.box.show(real), true
}

// apartly is Real where the root is not the folder that rules about relative paths begin in: what is inside the root is
// relative, however it was written, and what is outside absolute, so that a rule is about the same file in both folders.
func (b *sandbox) apartly(path, abs, real string, err error) (string, bool) {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		real = filepath.Clean(abs) // there is nothing that a link could lead to
	case err != nil:
		return "", false
	}
	if real == b.root && !filepath.IsAbs(path) {
		return path, true
	}
	return b.show(real), true
}
