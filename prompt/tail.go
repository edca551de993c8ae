package prompt

// Contribution is a text that one owner adds to one request, after the last message. It is never stored.
type Contribution struct {
	Owner string `json:"owner"`
	Text  string `json:"text"`
}

// Tail collects the contributions of one request. The chain stamps the owner; authors only Add. It belongs to one
// goroutine.
type Tail struct {
	owner string
	parts []Contribution
}

// Add appends a text of the owner whose turn it is. An empty text adds nothing.
func (t *Tail) Add(text string) {
	if text != "" {
		t.parts = append(t.parts, Contribution{Owner: t.owner, Text: text})
	}
}

// Collect lets one owner add and drops all that it added when add fails or panics.
func (t *Tail) Collect(owner string, add func(*Tail) error) (err error) {
	before, done := len(t.parts), false
	t.owner = owner
	defer func() {
		if err != nil || !done {
			t.parts = t.parts[:before]
		}
		t.owner = ""
	}()
	err = add(t)
	done = true
	return err
}

// Parts returns the contributions in chain order.
func (t *Tail) Parts() []Contribution { return t.parts }
