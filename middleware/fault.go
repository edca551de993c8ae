package middleware

import "fmt"

// Fault is a failure of a middleware that was contained: who, in which hook, and what.
type Fault struct {
	Owner, Hook string
	Err         error
}

func (f Fault) Error() string { return fmt.Sprintf("%s: %s: %v", f.Owner, f.Hook, f.Err) }

func (f Fault) Unwrap() error { return f.Err }

// contain runs f and makes a panic of it a Fault of its owner.
func contain(owner, hook string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Fault{owner, hook, fmt.Errorf("panic: %v", p)}
		}
	}()
	if err = f(); err != nil {
		return Fault{owner, hook, err}
	}
	return nil
}
