//go:build !unix

package meta_test

import "os"

// Without named pipes, a folder stands in for what is no regular file.
func pipe(path string) error { return os.Mkdir(path, 0o755) }
