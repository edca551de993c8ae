package session

// Wrap puts a runtime around the one of every turn that s takes from now on.
func Wrap(s *Session, wrap func(Runtime) Runtime) { s.wrap = wrap }
