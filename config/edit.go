package config

import (
	"encoding/json"
	"time"

	"github.com/metaharness/peri/meta"
)

// The actions of an Edit.
const (
	Enable  = "enable"
	Disable = "disable"
)

// The codes of an EditError.
const (
	MissingParam       = "missing_param"
	KeyNotFound        = "key_not_found"
	SkillNotFound      = "skill_not_found"
	NameAmbiguous      = "name_ambiguous"
	ConfigUnparsable   = "config_unparsable"
	EditConflict       = "conflict"
	WriteFailed        = "write_failed"
	VerificationFailed = "verification_failed"
)

// Edit is one change of the settings: of a meta key, or of a skill.
type Edit struct {
	Action string // Enable or Disable
	Key    string // a meta key or an alias of one; "" when Skill is set
	Skill  string // a skill's id, or its name when no other has it
	Layer  string // Global, Project or Local; "" chooses: the project for a key, the user's own for a skill
	Effect string // of a skill that is disabled: "deny", the default, or "ask"
	DryRun bool
	Agent  string // whose effective value is checked; "" is the main agent's
}

// Skill is one skill as a new session would have it.
type Skill struct {
	ID, Name string
	Agents   []SkillEffect // the main agent's first
}

// SkillEffect is what an agent may do with a skill. Effect is allow, ask or deny; Rule and Origin say what decided it, if
// something written did. A hidden agent is not offered to anybody.
type SkillEffect struct {
	Agent  string
	Hidden bool
	Effect string
	Rule   string
	Origin meta.Origin
}

// Fresh is what a new session would start from.
type Fresh struct {
	Loaded *Loaded
	Skills []Skill
}

// Editor changes settings files in place: one line of one file, written whole or not at all, with a copy of what was
// there, and checked by loading everything again. It may be used by several goroutines and processes at once; they take
// turns.
type Editor struct {
	Options Options // where the layers are; Keys is needed
	// Off says that a key is closed unless a layer says true; nil = none is.
	Off func(key string) bool
	// Gates says that a middleware guards calls; nil = none does.
	Gates func(middleware string) bool
	// Load loads all layers as a new session would; nil = Load of this package, which knows no skills.
	Load func(Options) (*Fresh, error)
	// Wait is how long another edit of the same file is waited for; 0 = ten seconds.
	Wait time.Duration

	// probe is called between reading a file and replacing it.
	probe func()
}

// EditVersion is the version of an EditReport's JSON.
const EditVersion = "peri.edit/v1"

// EditReport says what an edit did, or would do. Its JSON is the envelope that programs read.
type EditReport struct {
	SchemaVersion string   `json:"schemaVersion"`
	Action        string   `json:"action"`
	OK            bool     `json:"ok"`
	Warnings      []string `json:"warnings"`

	ID     string `json:"id"`
	Effect string `json:"effect"` // true or false of a key; deny, ask or allow of a skill

	// Exactly one is set.
	Done   *EditDone   `json:"-"`
	Failed *EditFailed `json:"-"`
}

// MarshalJSON writes one flat object: the head, and Done's or Failed's members.
func (r EditReport) MarshalJSON() ([]byte, error) {
	type head EditReport
	if r.Failed != nil {
		return json.Marshal(struct {
			head
			*EditFailed
		}{head(r), r.Failed})
	}
	return json.Marshal(struct {
		head
		*EditDone
	}{head(r), r.Done})
}

// Err is why the edit was not made, nil when all went well.
func (r EditReport) Err() error {
	if r.Failed == nil {
		return nil
	}
	return &r.Failed.Error
}

// EditDone is the part of a report that tells of an edit that went well.
type EditDone struct {
	DryRun      bool       `json:"dryRun"`
	CallerAgent string     `json:"callerAgent"`
	Before      EditBefore `json:"before"`
	TargetFile  string     `json:"targetFile"`
	ConfigNotes []string   `json:"configNotes"`
	Changed     bool       `json:"changed"`
	// Reason is why nothing changed: already_disabled, already_enabled or covered_by_broader_rule.
	Reason       string            `json:"reason,omitempty"`
	Message      string            `json:"message"`
	Planned      string            `json:"planned,omitempty"` // of a dry run: what would be written
	CreatedBlock *string           `json:"createdBlock"`      // the map or list that was made around the line
	Diff         []string          `json:"diff"`
	Backup       *string           `json:"backup"`
	Sidecar      *string           `json:"sidecar"`
	Verification *EditVerification `json:"verification"` // nil when nothing was written
}

// EditBefore is what decided before the edit. Index is the place of the target's own line among its siblings in the
// target file, -1 for none. Rule is nil when nothing written decided.
type EditBefore struct {
	Index int       `json:"index"`
	Rule  *EditRule `json:"rule"`
}

// EditRule is a line of some file, or an entry of the option layer, which has none.
type EditRule struct {
	Text  string `json:"text"`
	Layer string `json:"layer"`
	File  string `json:"file"`
	Line  int    `json:"line"`
}

// EditVerification compares what was wanted with what a new session would have. The counts are those of the exact line
// in the target file.
type EditVerification struct {
	OK          bool         `json:"ok"`
	Via         string       `json:"via"`
	Caller      string       `json:"caller"`
	Expected    string       `json:"expected"`
	Actual      string       `json:"actual"`
	BeforeCount int          `json:"beforeCount"`
	Count       int          `json:"count"`
	Diverged    []EditDiffer `json:"diverged"`
}

// EditDiffer is an agent for which something else holds than was wanted.
type EditDiffer struct {
	Agent  string    `json:"agent"`
	Hidden bool      `json:"hidden"`
	Actual string    `json:"actual"`
	Rule   *EditRule `json:"rule"`
}

// EditFailed is the part of a report that tells of an edit that was not made.
type EditFailed struct {
	Changed    bool      `json:"changed"`
	RolledBack bool      `json:"rolledBack"`
	Error      EditError `json:"error"`
}

// EditError says why an edit was not made. Near are names that may have been meant, Candidates the ids of one name.
type EditError struct {
	Code       string   `json:"code"`
	Message    string   `json:"message"`
	Near       []string `json:"near,omitempty"`
	Candidates []string `json:"candidates,omitempty"`
}

func (e *EditError) Error() string { return e.Message }
