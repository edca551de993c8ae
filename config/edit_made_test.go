package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
)

func TestAFileThatAnEditMadeGoesWithItsLastLine(t *testing.T) {
	s := newEdit(t)
	file := s.file("settings.yaml")
	s.ok(disable("WebMiddleware"))
	s.ok(disable("TodoMiddleware"))
	s.ok(enable("WebMiddleware"))
	require.FileExists(t, file, "another line of ours is still in it")
	text := s.read("settings.yaml")
	in := enable("TodoMiddleware")
	in.DryRun = true
	require.Contains(t, s.ok(in).ConfigNotes, "the file goes: an edit made it, and it would be empty")
	require.Equal(t, text, s.read("settings.yaml"))
	d := s.ok(enable("TodoMiddleware"))
	require.NoFileExists(t, file)
	require.True(t, d.Verification.OK)
	kept, err := os.ReadFile(*d.Backup)
	require.NoError(t, err)
	require.Equal(t, text, string(kept))
	s.ok(disable("WebMiddleware"))
	s.ok(enable("WebMiddleware"))
	require.NoFileExists(t, file, "and so it does the next time")
}

func TestAFileThatSomebodyElseMadeOrWroteIntoStays(t *testing.T) {
	s := newEdit(t)
	s.write("settings.yaml", "")
	s.ok(disable("WebMiddleware"))
	s.ok(enable("WebMiddleware"))
	require.Empty(t, s.read("settings.yaml"), "an empty file of a person's is theirs")

	s = newEdit(t)
	s.ok(disable("WebMiddleware"))
	s.write("settings.yaml", s.read("settings.yaml")+"# mine\n")
	s.ok(enable("WebMiddleware"))
	require.Equal(t, "# mine\n", s.read("settings.yaml"))

	// What was noted of a file that is gone says nothing of a later one.
	s = newEdit(t)
	s.ok(disable("WebMiddleware"))
	require.NoError(t, os.Remove(s.file("settings.yaml")))
	s.write("settings.yaml", "")
	s.ok(disable("TodoMiddleware"))
	s.ok(enable("TodoMiddleware"))
	require.Empty(t, s.read("settings.yaml"))
}

func TestAFileGoesWithTheLastOfSeveralRulesHoweverTheyGo(t *testing.T) {
	s := newEdit(t)
	s.skills = []string{"@user/review", "@user/other"}
	file := filepath.Join(s.home, "settings.yaml")
	of := func(action, skill, effect string) { s.ok(config.Edit{Action: action, Skill: skill, Effect: effect}) }
	of(config.Disable, "review", "ask")
	of(config.Disable, "review", "deny")
	of(config.Disable, "other", "deny")
	of(config.Enable, "review", "")
	require.FileExists(t, file)
	of(config.Enable, "other", "")
	require.NoFileExists(t, file)
}

func TestAFileThatGoesComesBackWhenNothingLoadsWithoutIt(t *testing.T) {
	s := newEdit(t)
	file := s.file("settings.yaml")
	s.ok(disable("WebMiddleware"))
	require.NoError(t, os.Chmod(file, 0o640))
	text := s.read("settings.yaml")
	s.Load = func(o config.Options) (*config.Fresh, error) {
		if _, err := os.Stat(file); err != nil {
			return nil, errors.New("no session")
		}
		return s.fresh(o)
	}
	r := s.apply(enable("WebMiddleware"))
	require.Equal(t, config.VerificationFailed, r.Failed.Error.Code)
	require.True(t, r.Failed.RolledBack)
	require.Equal(t, text, s.read("settings.yaml"))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	s.Load = s.fresh
	s.ok(enable("WebMiddleware"))
	require.NoFileExists(t, file, "it is still known to be ours")
}
