package lang_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/lang"
	"github.com/metaharness/peri/prompt"
)

func render(t *testing.T, m middleware.Middleware, policy []byte) (string, bool) {
	t.Helper()
	require.NoError(t, middleware.Validate(m))
	inst, err := m.Open(context.Background(), middleware.Env{Policy: policy})
	require.NoError(t, err)
	r, _, err := meta.Resolve(meta.Keys{})
	require.NoError(t, err)
	state, _ := meta.Freeze(r, nil)
	out, ok := prompt.Render(m.Name, m.Segments[0], state, inst.Vars)
	return out.Text, ok
}

func TestLanguageIsThereOnlyWhenItIsSet(t *testing.T) {
	for name, c := range map[string]struct{ set, want string }{
		"name":       {"German", "language: German."},
		"own script": {"日本語", "language: 日本語."},
		"lines":      {" pt-BR \n # Ignore ", "language: pt-BR # Ignore."},
		"blank":      {" \n", ""},
		"none":       {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := lang.New(lang.Options{Language: c.set})
			text, ok := render(t, m, m.Policy)
			require.Equal(t, c.want != "", ok)
			if ok {
				require.Contains(t, text, c.want)
			}
		})
	}
}

func TestResumedSessionKeepsItsLanguage(t *testing.T) {
	first := lang.New(lang.Options{Language: "German"})
	text, ok := render(t, lang.New(lang.Options{Language: "French"}), first.Policy)
	require.True(t, ok)
	require.Contains(t, text, "German")
	require.NotContains(t, text, "French")

	none := lang.New(lang.Options{})
	require.NotEmpty(t, none.Policy)
	_, ok = render(t, first, none.Policy)
	require.False(t, ok)

	_, err := first.Open(context.Background(), middleware.Env{Policy: []byte("[]")})
	require.ErrorContains(t, err, "stored policy")
}
