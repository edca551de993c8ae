package session

// Root is the folder that the session works in, an absolute path; "" = none.
func (s *Session) Root() string { return s.opt.Root }
