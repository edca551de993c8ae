package config_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
)

// manyKeys are the keys of the edit tests: two that people know, and one for each of several processes.
func manyKeys(t testing.TB) meta.Keys {
	list := []meta.Key{
		{Name: "WebMiddleware", Kind: meta.Middleware},
		{Name: "TodoMiddleware", Kind: meta.Middleware},
		{Name: "TelemetryMiddleware", Kind: meta.Middleware},
		{Name: "ToolSearchMiddleware", Kind: meta.Middleware, Aliases: []string{"ToolSearch"}},
	}
	for i := range 8 {
		list = append(list, meta.Key{Name: fmt.Sprintf("Key%d", i), Kind: meta.Middleware})
	}
	keys, err := meta.NewKeys(list)
	require.NoError(t, err)
	return keys
}

type editScene struct {
	*config.Editor
	t          testing.TB
	root, home string
	skills     []string
}

func editIn(t testing.TB, root, home string) *editScene {
	s := &editScene{t: t, root: root, home: home}
	s.Editor = &config.Editor{
		Options: config.Options{Root: root, Home: home, Managed: "-", Keys: manyKeys(t)},
		Off:     func(key string) bool { return key == "TelemetryMiddleware" },
	}
	s.Load = s.fresh
	return s
}

func newEdit(t testing.TB) *editScene {
	base := t.TempDir()
	s := editIn(t, filepath.Join(base, "root"), filepath.Join(base, "home"))
	require.NoError(t, os.MkdirAll(filepath.Join(s.root, ".peri"), 0o755))
	return s
}

// fresh knows skills whose effect is that of rules which are for them alone, or for all.
func (s *editScene) fresh(o config.Options) (*config.Fresh, error) {
	l, _, err := config.Load(o)
	if err != nil {
		return nil, err
	}
	f := &config.Fresh{Loaded: l}
	for _, id := range s.skills {
		main := config.SkillEffect{Effect: "allow"}
		for effect, list := range map[string][]config.Item{"ask": l.Settings.Permissions.Ask, "deny": l.Settings.Permissions.Deny} {
			for _, i := range list {
				if (i.Text == "Skill("+id+")" || i.Text == "Skill(*)") && main.Effect != "deny" {
					main = config.SkillEffect{Effect: effect, Rule: i.Text, Origin: i.Origin}
				}
			}
		}
		agent := config.SkillEffect{Agent: "quiet", Hidden: true, Effect: "deny", Rule: "not on its tools"}
		f.Skills = append(f.Skills, config.Skill{ID: id, Name: id[strings.LastIndex(id, "/")+1:], Agents: []config.SkillEffect{main, agent}})
	}
	return f, nil
}

func (s *editScene) file(name string) string { return filepath.Join(s.root, ".peri", name) }

func (s *editScene) write(name, text string) {
	require.NoError(s.t, os.WriteFile(s.file(name), []byte(text), 0o600))
}

func (s *editScene) read(name string) string {
	b, err := os.ReadFile(s.file(name))
	require.NoError(s.t, err)
	return string(b)
}

func (s *editScene) apply(in config.Edit) config.EditReport { return s.Apply(context.Background(), in) }

func (s *editScene) ok(in config.Edit) *config.EditDone {
	r := s.apply(in)
	require.NoError(s.t, r.Err())
	require.True(s.t, r.OK)
	return r.Done
}

func disable(key string) config.Edit { return config.Edit{Action: config.Disable, Key: key} }
func enable(key string) config.Edit  { return config.Edit{Action: config.Enable, Key: key} }

const written = "# ours\r\nmeta: # the map\r\n    TodoMiddleware:   true # keep\r\nmodel: offline"

func TestDisableAndEnableGiveTheOriginalBytes(t *testing.T) {
	for name, text := range map[string]string{
		"settings.yaml": "\xEF\xBB\xBF" + written, "settings.yml": "", "settings.json": "{\"meta\": {}}", "settings.jsonc": "{\n\t// one\n\t\"model\": \"offline\",\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := newEdit(t)
			s.write(name, text)
			d := s.ok(disable("WebMiddleware"))
			require.True(t, d.Changed)
			require.Equal(t, s.file(name), d.TargetFile)
			require.Equal(t, []int{0, 1}, []int{d.Verification.BeforeCount, d.Verification.Count})
			kept, err := os.ReadFile(*d.Backup)
			require.NoError(t, err)
			require.Equal(t, text, string(kept))
			mid := s.read(name)
			require.Contains(t, mid, "WebMiddleware")
			again := s.ok(disable("WebMiddleware"))
			require.Equal(t, "already_disabled", again.Reason)
			require.Equal(t, mid, s.read(name))
			s.ok(enable("WebMiddleware"))
			require.Equal(t, text, s.read(name))
			require.Equal(t, "already_enabled", s.ok(enable("WebMiddleware")).Reason)
			s.ok(enable("TelemetryMiddleware"))
			s.ok(disable("TelemetryMiddleware"))
			require.Equal(t, text, s.read(name), "what is off is opened by a line, and closed by taking it away")
		})
	}
}

func TestTheLastLineOfOursTakesItsBlockAlong(t *testing.T) {
	s := newEdit(t)
	s.write("settings.yaml", "model: offline\n")
	require.Equal(t, "meta", *s.ok(disable("WebMiddleware")).CreatedBlock)
	require.Nil(t, s.ok(disable("TodoMiddleware")).CreatedBlock)
	s.ok(enable("WebMiddleware"))
	require.Equal(t, "model: offline\nmeta:\n  TodoMiddleware: false # peri\n", s.read("settings.yaml"))
	s.ok(enable("TodoMiddleware"))
	require.Equal(t, "model: offline\n", s.read("settings.yaml"))
}

func TestALineOfOursIsFoundWithoutItsComment(t *testing.T) {
	s := newEdit(t)
	text := "meta:\n  TodoMiddleware: true\n"
	s.write("settings.yaml", text)
	s.ok(disable("WebMiddleware"))
	s.write("settings.yaml", strings.ReplaceAll(s.read("settings.yaml"), " # peri", ""))
	s.ok(enable("WebMiddleware"))
	require.Equal(t, text, s.read("settings.yaml"))
	s.write("settings.yaml", text+"  WebMiddleware: false\n")
	s.ok(enable("WebMiddleware"))
	require.Equal(t, text+"  WebMiddleware: true\n", s.read("settings.yaml"), "a user's own line is kept, with the other value")
}

func TestAliasesAndOtherNamesOfTheMapAreChangedWhereTheyStand(t *testing.T) {
	s := newEdit(t)
	s.write("settings.json", `{"config": {"meta_harness": {"ToolSearch": true}}}`)
	s.ok(disable("ToolSearchMiddleware"))
	require.Equal(t, `{"config": {"meta_harness": {"ToolSearch": false}}}`, s.read("settings.json"))
}

func TestALaterLayerDecidesAndIsNamed(t *testing.T) {
	s := newEdit(t)
	s.write("settings.local.yaml", "meta: {WebMiddleware: true}\n")
	d := s.ok(disable("WebMiddleware"))
	require.Equal(t, s.file("settings.local.yaml"), d.TargetFile, "the local line decides, so it is the one that is changed")
	s.ok(enable("WebMiddleware"))
	in := disable("WebMiddleware")
	in.Layer = config.Project
	r := s.apply(in)
	require.True(t, r.OK)
	require.Equal(t, []string{"false", "true"}, []string{r.Done.Verification.Expected, r.Done.Verification.Actual})
	require.Equal(t, s.file("settings.local.yaml"), r.Done.Verification.Diverged[0].Rule.File)
	require.Len(t, r.Warnings, 1)
}

func TestALinkAndItsTargetsModeAreKept(t *testing.T) {
	s := newEdit(t)
	real := filepath.Join(s.t.TempDir(), "dotfile")
	require.NoError(t, os.WriteFile(real, []byte("model: offline\n"), 0o600))
	require.NoError(t, os.Symlink(real, s.file("settings.yaml")))
	s.ok(disable("WebMiddleware"))
	info, err := os.Lstat(s.file("settings.yaml"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	info, err = os.Stat(real)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Contains(t, s.read("settings.yaml"), "WebMiddleware: false")
	left, err := os.ReadDir(filepath.Dir(real))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestWhatCannotBeReadOrResolvedIsNotWritten(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		in   config.Edit
		code string
	}{
		"unknown key":    {"", disable("WebMidleware"), config.KeyNotFound},
		"no target":      {"", config.Edit{Action: config.Enable}, config.MissingParam},
		"managed":        {"", config.Edit{Action: config.Enable, Key: "WebMiddleware", Layer: config.Managed}, config.MissingParam},
		"no YAML":        {"meta: [", disable("WebMiddleware"), config.ConfigUnparsable},
		"a wrong type":   {"meta: {WebMiddleware: 'no'}", disable("WebMiddleware"), config.ConfigUnparsable},
		"unknown skill":  {"", config.Edit{Action: config.Disable, Skill: "revew"}, config.SkillNotFound},
		"several skills": {"", config.Edit{Action: config.Disable, Skill: "review"}, config.NameAmbiguous},
		"shared by an alias": {
			"meta: &m {TodoMiddleware: true}\nagents: {a: {hooks: *m}}\n", disable("WebMiddleware"), config.WriteFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEdit(t)
			s.skills = []string{"@user/review", "@project/review"}
			s.write("settings.yaml", c.text)
			r := s.apply(c.in)
			require.False(t, r.OK)
			require.Equal(t, c.code, r.Failed.Error.Code, r.Failed.Error.Message)
			require.Equal(t, c.text, s.read("settings.yaml"))
			_, err := os.Stat(s.home)
			require.ErrorIs(t, err, os.ErrNotExist, "and nothing else is")
			if c.code == config.NameAmbiguous {
				require.Equal(t, s.skills, r.Failed.Error.Candidates)
			}
		})
	}
}

func TestADryRunShowsAndWritesNothing(t *testing.T) {
	s := newEdit(t)
	s.write("settings.yaml", "model: offline\n")
	in := disable("WebMiddleware")
	in.DryRun = true
	d := s.ok(in)
	require.NotEmpty(t, d.Planned)
	require.Equal(t, []string{"+meta:", "+  WebMiddleware: false # peri"}, d.Diff)
	require.Nil(t, d.Backup)
	require.Equal(t, "model: offline\n", s.read("settings.yaml"))
	_, err := os.Stat(s.home)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestWhatANewSessionCannotLoadIsTakenBack(t *testing.T) {
	s := newEdit(t)
	s.write("settings.yaml", "model: offline\n")
	s.Load = func(o config.Options) (*config.Fresh, error) {
		if strings.Contains(s.read("settings.yaml"), "Web") {
			return nil, errors.New("no session")
		}
		return s.fresh(o)
	}
	r := s.apply(disable("WebMiddleware"))
	require.Equal(t, config.VerificationFailed, r.Failed.Error.Code)
	require.True(t, r.Failed.RolledBack)
	require.Equal(t, "model: offline\n", s.read("settings.yaml"))
}

func TestOnlyTheNewestBackupsAreKept(t *testing.T) {
	s := newEdit(t)
	s.write("settings.yaml", "model: offline\n")
	for range 13 {
		s.ok(disable("WebMiddleware"))
		s.ok(enable("WebMiddleware"))
	}
	all, err := filepath.Glob(filepath.Join(s.home, "edits", "*", "*Z.settings.yaml"))
	require.NoError(t, err)
	require.Len(t, all, 20)
	info, err := os.Stat(all[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	info, err = os.Stat(filepath.Dir(all[0]))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestASkillIsDeniedAskedAboutAndLetInAgain(t *testing.T) {
	s := newEdit(t)
	s.skills = []string{"@user/review"}
	name := filepath.Join(s.home, "settings.yaml")
	skill := func(action, effect string) *config.EditDone {
		return s.ok(config.Edit{Action: action, Skill: "review", Effect: effect})
	}
	d := skill(config.Disable, "ask")
	require.Equal(t, "permissions", *d.CreatedBlock)
	require.Equal(t, []config.EditDiffer{{Agent: "quiet", Hidden: true, Actual: "deny", Rule: &config.EditRule{Text: "not on its tools"}}}, d.Verification.Diverged)
	require.Contains(t, d.Verification.Via, "0→1")
	skill(config.Disable, "")
	require.Equal(t, "already_disabled", skill(config.Disable, "ask").Reason, "a deny is never lowered")
	require.Equal(t, 2, skill(config.Enable, "").Verification.BeforeCount)
	require.NoFileExists(t, name, "the file came with the rules and goes with the last of them")
	require.NoError(t, os.WriteFile(name, []byte("permissions: {deny: ['Skill(*)']}\n"), 0o600))
	d = skill(config.Enable, "")
	require.Equal(t, "covered_by_broader_rule", d.Reason)
	require.Equal(t, "Skill(*)", d.Before.Rule.Text)
	require.Equal(t, "covered_by_broader_rule", skill(config.Disable, "").Reason)
}

func TestTheEnvelopeHasTheseMembers(t *testing.T) {
	s := newEdit(t)
	names := func(r config.EditReport) (out []string) {
		raw, err := json.Marshal(r)
		require.NoError(t, err)
		d := json.NewDecoder(strings.NewReader(string(raw)))
		depth := 0
		for {
			tok, err := d.Token()
			if err != nil {
				return out
			}
			switch x := tok.(type) {
			case json.Delim:
				if x == '{' || x == '[' {
					depth++
				} else {
					depth--
				}
			case string:
				if depth == 1 && strings.Contains(string(raw), `"`+x+`":`) {
					out = append(out, x)
				}
			}
		}
	}
	require.Equal(t, strings.Fields("schemaVersion action ok warnings id effect dryRun callerAgent before targetFile configNotes changed message createdBlock diff backup sidecar verification"),
		names(s.apply(disable("WebMiddleware"))))
	require.Equal(t, strings.Fields("schemaVersion action ok warnings id effect changed rolledBack error"), names(s.apply(disable("X"))))
}

// TestMain lets the crash and concurrency tests start this binary as a process that edits.
func TestMain(m *testing.M) {
	if os.Getenv("PERI_EDITS") == "" {
		os.Exit(m.Run())
	}
	os.Exit(editLoop())
}

// editLoop toggles one key for as often as it is told, and exits with 1 when an edit does not find what its last one left.
func editLoop() int {
	n, _ := strconv.Atoi(os.Getenv("PERI_EDITS"))
	s := editIn(&testing.B{}, os.Getenv("PERI_ROOT"), os.Getenv("PERI_EDIT_HOME"))
	s.Wait = time.Minute
	for i := range n {
		in := disable(os.Getenv("PERI_KEY"))
		if i%2 == 1 {
			in.Action = config.Enable
		}
		r := s.apply(in)
		if r.Err() != nil || os.Getenv("PERI_STRICT") != "" && (!r.Done.Changed || !r.Done.Verification.OK) {
			fmt.Fprintln(os.Stderr, i, r.Err(), r.Done)
			return 1
		}
		fmt.Println(i)
	}
	return 0
}

func editor(s *editScene, key string, n int, strict string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "PERI_EDITS="+strconv.Itoa(n), "PERI_ROOT="+s.root, "PERI_EDIT_HOME="+s.home, "PERI_KEY="+key, "PERI_STRICT="+strict)
	c.Stderr = os.Stderr
	return c
}

func TestNoEditOfSeveralProcessesIsLost(t *testing.T) {
	s := newEdit(t)
	s.write("settings.yaml", "# ours\nmodel: offline\n")
	var all []*exec.Cmd
	for i := range 8 {
		c := editor(s, fmt.Sprintf("Key%d", i), concurrentEdits, "yes")
		require.NoError(t, c.Start())
		all = append(all, c)
	}
	for _, c := range all {
		require.NoError(t, c.Wait())
	}
	text := s.read("settings.yaml")
	for i := range 8 {
		require.Contains(t, text, fmt.Sprintf("  Key%d: false # peri\n", i), "the last of an odd number of edits closes it")
	}
	for i := range 8 {
		s.ok(enable(fmt.Sprintf("Key%d", i)))
	}
	require.Equal(t, "# ours\nmodel: offline\n", s.read("settings.yaml"))
}

func TestAKilledEditLeavesTheOldFileOrTheNewOne(t *testing.T) {
	s := newEdit(t)
	before := strings.Repeat("# a long file takes long to write\n", 300) + "model: offline\n"
	after := before + "meta:\n  Key0: false # peri\n"
	s.write("settings.yaml", before)
	met := map[bool]int{}
	for i := range crashes {
		c := editor(s, "Key0", 1<<20, "")
		out, err := c.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		// It says a line after each edit, so that the kills fall all over a closing and an opening one.
		lines := bufio.NewReader(out)
		for range 1 + i%2 {
			_, err = lines.ReadString('\n')
			require.NoError(t, err)
		}
		time.AfterFunc(time.Duration(i*371%crashSpread)*time.Microsecond, func() { _ = c.Process.Kill() })
		_ = c.Wait()
		text := s.read("settings.yaml")
		met[text == after]++
		require.True(t, text == before || text == after, "%q", text[max(0, len(text)-200):])
	}
	s.ok(config.Edit{Action: config.Enable, Key: "TelemetryMiddleware"})
	left, err := filepath.Glob(s.file(".settings*"))
	require.NoError(t, err)
	require.Empty(t, left, "the next edit takes away what a killed one left")
	require.Len(t, met, 2, "both were met")
}
