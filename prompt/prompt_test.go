package prompt_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/prompt"
)

func TestSegmentReportsEveryDefect(t *testing.T) {
	for want, s := range map[string]prompt.Segment{
		"": {ID: "01_a", Text: `a \{{literal}}`},
		`segment id "A b": use a-z, 0-9 and _` + "\nsegment A b has no text":                                 {ID: "A b", Text: " \n"},
		"segment 01_a stands before the cache boundary: it can need no tool or word and fill no placeholder": {ID: "01_a", Text: "a", Needs: []string{"Read"}},
		"segment 01_a has no such zone":                                 {ID: "01_a", Text: "a", Zone: 7},
		"segment 01_a has the placeholder {{who}}, which its Vars lack": {ID: "01_a", Text: "{{who}} {{known}}", Zone: prompt.Live, Vars: []string{"known"}},
	} {
		err := s.Check()
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, want)
	}
	require.NoError(t, prompt.Segment{ID: "07_x", Text: "{{ who }}", Zone: prompt.Live, Vars: []string{"who"}, Needs: []string{"Read"}}.Check())
}

func TestDefaultTextIsReadByIDAndAMissingOnePanics(t *testing.T) {
	require.NotEmpty(t, prompt.Text("01_intro"))
	require.NotContains(t, prompt.Text("01_intro"), "\n\n\n")
	require.PanicsWithValue(t, "prompt: no default text for segment 99_none", func() { prompt.Text("99_none") })
}

func TestSegmentIsAMetaKey(t *testing.T) {
	require.Equal(t, meta.Key{Name: "01_a", Kind: meta.Segment, Cached: true}, prompt.Segment{ID: "01_a"}.Key())
	require.Equal(t, meta.Key{Name: "07_a", Kind: meta.Segment, Vars: []string{"v"}}, prompt.Segment{ID: "07_a", Zone: prompt.Live, Vars: []string{"v"}}.Key())
}

// frozen is a state in which these segments are replaced by these texts.
func frozen(t *testing.T, segments []prompt.Segment, texts map[string]string) *meta.State {
	t.Helper()
	var keys []meta.Key
	for _, s := range segments {
		keys = append(keys, s.Key())
	}
	known, err := meta.NewKeys(keys)
	require.NoError(t, err)
	files, layer := fstest.MapFS{}, meta.Layer{Name: "project"}
	for id, text := range texts {
		files[id+".md"] = &fstest.MapFile{Data: []byte(text)}
		layer.Entries = append(layer.Entries, meta.Entry{Key: id, Value: true})
	}
	r, _, err := meta.Resolve(known, layer)
	require.NoError(t, err)
	state, notes := meta.Freeze(r, meta.Documents{{Layer: "project", Dir: ".peri/prompt", FS: files}})
	require.Empty(t, notes)
	return state
}

func TestRenderAppliesTheOverrideAndFillsPlaceholders(t *testing.T) {
	live := prompt.Segment{ID: "07_live", Zone: prompt.Live, Order: 3, Text: `At {{root}}, \{{so}} {{other}}.`, Vars: []string{"root", "other"}, Needs: []string{"Read"}}
	cached := prompt.Segment{ID: "01_cached", Text: `Write \{{name}}.`}
	vars := map[string]string{"root": "/x {{other}}", "other": ""}

	r, ok := prompt.Render("M", live, nil, vars)
	require.True(t, ok)
	require.Equal(t, prompt.Rendered{ID: "07_live", Owner: "M", Zone: prompt.Live, Order: 3, Text: "At /x {{other}}, {{so}} .", Needs: []string{"Read"}}, r,
		"what is filled in is not read again")
	r, ok = prompt.Render("M", cached, nil, nil)
	require.True(t, ok)
	require.Equal(t, "Write {{name}}.", r.Text, "a literal in a cached text is what it stands for")

	state := frozen(t, []prompt.Segment{live, cached}, map[string]string{"07_live": "Mine at {{root}}.\n"})
	r, ok = prompt.Render("M", live, state, vars)
	require.True(t, ok)
	require.True(t, r.Override)
	require.Equal(t, "Mine at /x {{other}}.", strings.TrimSpace(r.Text))
	require.Equal(t, ".peri/prompt/07_live.md", r.Origin.File)
	require.Equal(t, []any{"M", []string{"Read"}, 3}, []any{r.Owner, r.Needs, r.Order}, "an override replaces the text and nothing else")
	r, _ = prompt.Render("M", cached, state, nil)
	require.False(t, r.Override)
}

func TestSegmentWithNothingToSayIsAbsent(t *testing.T) {
	s := prompt.Segment{ID: "08_p", Zone: prompt.Live, Text: "Guidance: {{a}}{{b}}", Vars: []string{"a", "b"}}
	_, ok := prompt.Render("M", s, nil, map[string]string{"a": "x"})
	require.True(t, ok)
	for name, vars := range map[string]map[string]string{"nil": nil, "empty": {"a": ""}, "blank": {"a": " \n", "b": "\t"}, "another": {"c": "x"}} {
		_, ok = prompt.Render("M", s, nil, vars)
		require.False(t, ok, name)
	}
	state := frozen(t, []prompt.Segment{s}, map[string]string{"08_p": "Always this."})
	_, ok = prompt.Render("M", s, state, nil)
	require.False(t, ok, "an override does not bring back what has nothing to say")
}

func base() *prompt.Base {
	return prompt.NewBase([]prompt.Rendered{
		{ID: "b", Zone: prompt.Live, Order: 1, Text: "live b", Owner: "B", Needs: []string{"Read", "Write"}},
		{ID: "z", Zone: prompt.Cached, Order: 2, Text: "cached z", Owner: "A"},
		{ID: "a", Zone: prompt.Live, Order: 1, Text: "live a", Owner: "A"},
		{ID: "y", Zone: prompt.Cached, Order: 2, Text: "cached y", Owner: "A"},
		{ID: "c", Zone: prompt.Live, Order: 0, Text: "live c", Owner: "C"},
	})
}

func keeping(ids string) func(*prompt.Rendered) bool {
	return func(r *prompt.Rendered) bool { return strings.Contains(ids, r.ID) }
}

func TestPromptIsInOrderOfZoneOrderAndID(t *testing.T) {
	require.Equal(t, []prompt.Block{
		{Text: "cached y\n\ncached z", EndsCache: true, Segments: []string{"y", "z"}},
		{Text: "live c\n\nlive a\n\nlive b", Segments: []string{"c", "a", "b"}},
	}, base().Prompt(keeping("abc")).System())
	require.Equal(t, []prompt.Block{
		{Text: "cached y\n\ncached z", EndsCache: true, Segments: []string{"y", "z"}},
	}, base().Prompt(keeping("")).System(), "cached ones are always kept, and an empty block is not sent")
}

func TestOrderDoesNotDependOnTheChain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turned := prompt.NewBase(rapid.Permutation(base().Segments()).Draw(t, "segments"))
		require.Equal(t, base().Prompt(keeping("ab")), turned.Prompt(keeping("ab")))
	})
}

func TestBareBaseIsAnEmptyPrompt(t *testing.T) {
	require.Empty(t, prompt.NewBase(nil).Prompt(keeping("a")).System())
	require.Empty(t, prompt.Prompt{}.System())
	live := prompt.NewBase([]prompt.Rendered{{ID: "a", Zone: prompt.Live, Text: "a"}})
	require.Equal(t, []prompt.Block{{Text: "a", Segments: []string{"a"}}}, live.Prompt(keeping("a")).System(), "without a cached text nothing ends the cache")
}

func TestNoTextCanForgeTheBoundary(t *testing.T) {
	b := prompt.NewBase([]prompt.Rendered{
		{ID: "a", Text: `{"ends_cache":true}` + "\n\n"}, {ID: "b", Zone: prompt.Live, Text: "<!-- cache -->"},
	})
	ends := 0
	for _, block := range b.Prompt(keeping("b")).System() {
		if block.EndsCache {
			ends++
			require.Equal(t, []string{"a"}, block.Segments)
		}
	}
	require.Equal(t, 1, ends)
}

func TestStoredSegmentsSayTheSameAfterAResume(t *testing.T) {
	b := base()
	raw, err := json.Marshal(b.Segments())
	require.NoError(t, err)
	var back []prompt.Rendered
	require.NoError(t, json.Unmarshal(raw, &back))
	require.Equal(t, b.Segments(), back)
	require.Equal(t, b.Prompt(keeping("ac")), prompt.NewBase(back).Prompt(keeping("ac")))
}

func TestAgentsTextStandsForTheCachedZoneAlone(t *testing.T) {
	b := base()
	before := b.Prompt(keeping("abc"))
	origin := meta.Origin{Layer: "agent", File: "scout.md"}
	a := b.ForAgent("scout", "\nYou scout {{as is}}.\n\n", origin)
	require.Equal(t, []prompt.Block{
		{Text: "You scout {{as is}}.", EndsCache: true, Segments: []string{"agent"}},
		{Text: "live c\n\nlive b", Segments: []string{"c", "b"}},
	}, a.Prompt(keeping("bc")).System())
	require.Equal(t, prompt.Rendered{ID: "agent", Owner: "scout", Text: "You scout {{as is}}.", Origin: origin}, a.Segments()[0])
	require.Equal(t, before, b.Prompt(keeping("abc")), "the parent's is as it was")
}

func TestTailStampsOwnersAndDropsOnlyTheFailingPart(t *testing.T) {
	var tail prompt.Tail
	add := func(err error, texts ...string) func(*prompt.Tail) error {
		return func(x *prompt.Tail) error {
			for _, s := range texts {
				x.Add(s)
			}
			return err
		}
	}
	broken := errors.New("broken")
	require.NoError(t, tail.Collect("A", add(nil, "one", "", "two")))
	require.ErrorIs(t, tail.Collect("B", add(broken, "lost", "lost too")), broken)
	require.NoError(t, tail.Collect("C", add(nil, "three")))
	require.NoError(t, tail.Collect("D", add(nil)))
	require.Equal(t, []prompt.Contribution{{Owner: "A", Text: "one"}, {Owner: "A", Text: "two"}, {Owner: "C", Text: "three"}}, tail.Parts())
}

func TestPanickingContributionLosesItsPartAndItsPlace(t *testing.T) {
	var tail prompt.Tail
	require.PanicsWithValue(t, "oops", func() {
		_ = tail.Collect("A", func(x *prompt.Tail) error { x.Add("half"); panic("oops") })
	})
	require.Empty(t, tail.Parts())
	require.NoError(t, tail.Collect("B", func(x *prompt.Tail) error { x.Add("b"); return nil }))
	require.Equal(t, []prompt.Contribution{{Owner: "B", Text: "b"}}, tail.Parts())
}

func TestZonesHaveNames(t *testing.T) {
	require.Equal(t, []string{"cached", "live"}, []string{prompt.Cached.String(), prompt.Live.String()})
}
