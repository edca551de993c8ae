//go:build external

package closuretest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/closuretest"
)

// browse opens a page in a browser of a width, in pixels.
func browse(t *testing.T, html string, width int) context.Context {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(html)) }))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(width, 900))...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	run(t, ctx, chromedp.EmulateViewport(int64(width), 900))
	run(t, ctx, chromedp.Navigate(server.URL))
	return ctx
}

func run[T any](t *testing.T, ctx context.Context, a chromedp.Action[T]) T {
	t.Helper()
	got, err := chromedp.Run(ctx, a)
	require.NoError(t, err)
	return got
}

func TestClosingInThePageTakesWhatClosingTook(t *testing.T) {
	m := verified(t, healthy())
	ctx := browse(t, page(t, closuretest.Page{Title: "a project", Matrix: m}), 1400)
	for _, r := range m.Rows {
		text := run(t, ctx, chromedp.Evaluate[string]("closing("+string(quoted(t, r.Name))+")"))
		var got struct {
			Takes            map[string]int
			Cascades, Direct []string
		}
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		require.Equal(t, r.Cascades, got.Cascades, r.Name)
		require.Equal(t, r.Direct, got.Direct, r.Name)
		for _, n := range r.Direct {
			require.NotEmpty(t, n)
			got.Takes["search"]-- // it leaves the one surface for the other
		}
		for surface, n := range got.Takes {
			if surface != "search" {
				require.Equal(t, r.Takes[surface], n, "%s: %s", r.Name, surface)
			}
		}
	}
}

func TestPageIsUsedByKeyboardAndFitsAPhone(t *testing.T) {
	ctx := browse(t, page(t, closuretest.Page{Title: "a project", Matrix: verified(t, healthy())}), 400)
	wide := run(t, ctx, chromedp.Evaluate[bool]("document.documentElement.scrollWidth > window.innerWidth"))
	told := chromedp.Evaluate[string]("document.getElementById('told').textContent")
	before := run(t, ctx, told)
	run(t, ctx, chromedp.Focus(`[data-name="Notes"] .toggle`))
	run(t, ctx, chromedp.KeyEvent(" "))
	after := run(t, ctx, told)
	pressed := run(t, ctx, chromedp.Evaluate[string](`document.querySelector('[data-name="Notes"] .toggle').getAttribute("aria-pressed")`))
	run(t, ctx, chromedp.WaitVisible(`.fact.off[data-name="TakeNote"]`))
	require.False(t, wide, "nothing but the table scrolls sideways")
	require.Empty(t, before)
	require.Contains(t, after, "would vanish with Notes")
	require.Equal(t, "true", pressed)
}

func quoted(t *testing.T, s string) []byte {
	t.Helper()
	b, err := json.Marshal(s)
	require.NoError(t, err)
	return b
}
