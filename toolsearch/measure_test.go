package toolsearch

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/toolview"
)

var (
	data   = flag.String("data", "", "folder of the sets to measure: each a folder with tools.jsonl and dev.jsonl")
	ablate = flag.Bool("ablate", false, "measure also without each part of the ranking")
)

// corpus is one set: tools, and queries with the names that they should find.
type corpus struct {
	name    string
	tools   []toolview.Entry
	queries []judged
}

type judged struct {
	Query    string   `json:"query"`
	Relevant []string `json:"relevant"`
	Kind     string   `json:"kind"`
}

func jsonl(t *testing.T, file string, each func([]byte) error) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		require.NoError(t, each(lines.Bytes()), file)
	}
	require.NoError(t, lines.Err())
}

// corpora reads the sets of -data; without it the test is skipped, since the sets are no part of the repository.
func corpora(t *testing.T) []corpus {
	t.Helper()
	if *data == "" {
		t.Skip("no -data: nothing to measure")
	}
	folders, err := filepath.Glob(filepath.Join(*data, "*", "tools.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, folders, "-data must be the folder that holds the sets")
	var out []corpus
	for _, file := range folders {
		c := corpus{name: filepath.Base(filepath.Dir(file))}
		called := map[string]string{}
		jsonl(t, file, func(line []byte) error {
			var in struct {
				Name, Description, Category string
				Schema                      json.RawMessage `json:"input_schema"`
			}
			err := json.Unmarshal(line, &in)
			called[in.Name] = in.Name
			c.tools = append(c.tools, toolview.Entry{
				Tool:  &toolview.Tool{Decl: toolview.Decl{Name: in.Name, Category: in.Category}, Doc: in.Description, Schema: in.Schema},
				Owner: "McpMiddleware", Deferred: true,
			})
			return err
		})
		for _, e := range c.tools {
			rename(e.Tool, called)
		}
		slices.SortStableFunc(c.tools, byName)
		jsonl(t, filepath.Join(filepath.Dir(file), "dev.jsonl"), func(line []byte) error {
			var q judged
			err := json.Unmarshal(line, &q)
			for i, name := range q.Relevant {
				q.Relevant[i] = called[name]
			}
			c.queries = append(c.queries, q)
			return err
		})
		out = append(out, c)
	}
	return out
}

var unnamable = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// rename gives a tool a name that a view can hold, as a client of a server must: what a name may not have becomes "_",
// and a name that is taken gets a number. Letters that are lost so stay readable in the title.
func rename(tool *toolview.Tool, called map[string]string) {
	raw := tool.Name
	base := unnamable.ReplaceAllString(raw, "_")
	if strings.Trim(base, "_") == "" {
		base = "tool"
	}
	name := base
	for n := 2; name != raw && called[name] != ""; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r > unicode.MaxASCII }) {
		tool.Title = raw
	}
	tool.Name, called[raw] = name, name
	if name != raw {
		called[name] = name
	}
}

func byName(a, b toolview.Entry) int { return strings.Compare(a.Tool.Name, b.Tool.Name) }

// quality sums up what queries found.
type quality struct{ n, recall1, recall5, recall10, ndcg, mrr, hit1, hit5 float64 }

func (q *quality) add(hits []Hit, relevant []string) {
	relevant = slices.Compact(slices.Sorted(slices.Values(relevant)))
	of := float64(len(relevant))
	q.n++
	var gain, ideal float64
	first := 0
	for i, h := range hits[:min(len(hits), 10)] {
		if !slices.Contains(relevant, h.Entry.Tool.Name) {
			continue
		}
		if first == 0 {
			first = i + 1
		}
		gain += 1 / math.Log2(float64(i)+2)
		q.recall10 += 1 / of
		if i < 5 {
			q.recall5 += 1 / of
		}
		if i < 1 {
			q.recall1 += 1 / of
		}
	}
	for i := range min(len(relevant), 10) {
		ideal += 1 / math.Log2(float64(i)+2)
	}
	q.ndcg += gain / ideal
	if first > 0 {
		q.mrr += 1 / float64(first)
	}
	if first == 1 {
		q.hit1++
	}
	if 1 <= first && first <= 5 {
		q.hit5++
	}
}

// typo makes one slip in one word of a query.
func typo(query string, r *rand.Rand) string {
	words := strings.Fields(query)
	var can []int
	for i, w := range words {
		if len(w) >= 4 && !strings.ContainsFunc(w, func(c rune) bool { return c < 'A' || c > 'z' }) {
			can = append(can, i)
		}
	}
	if len(can) == 0 {
		return query
	}
	i := can[r.IntN(len(can))]
	w := []byte(words[i])
	at, letter := r.IntN(len(w)), byte('a'+r.IntN(26))
	switch r.IntN(4) {
	case 0:
		w = slices.Delete(w, at, at+1)
	case 1:
		w = slices.Insert(w, at, letter)
	case 2:
		w[at] = letter
	case 3:
		at = min(at, len(w)-2)
		w[at], w[at+1] = w[at+1], w[at]
	}
	words[i] = string(w)
	return strings.Join(words, " ")
}

func (c *corpus) measure(tune tuning, slips bool, kind string) (q quality) {
	x := newCache(1, tune).index(c.tools, nil)
	r := rand.New(rand.NewPCG(1, 2))
	for _, j := range c.queries {
		if kind != "" && j.Kind != kind {
			continue
		}
		query := j.Query
		if slips {
			query = typo(query, r)
		}
		q.add(x.Search(query, 10), j.Relevant)
	}
	return q
}

// TestMeasureQuality prints what is in README.md: go test ./toolsearch -run Measure -v -data FOLDER [-ablate]
func TestMeasureQuality(t *testing.T) {
	sets := corpora(t)
	fmt.Printf("%-12s %6s %7s %6s %6s %6s %6s %6s %9s\n", "set", "tools", "queries", "R@1", "R@5", "R@10", "nDCG", "MRR", "nDCG slip")
	for _, c := range sets {
		q, s := c.measure(tuned(), false, ""), c.measure(tuned(), true, "")
		fmt.Printf("%-12s %6d %7d %6.3f %6.3f %6.3f %6.3f %6.3f %9.3f\n", c.name, len(c.tools), len(c.queries),
			q.recall1/q.n, q.recall5/q.n, q.recall10/q.n, q.ndcg/q.n, q.mrr/q.n, s.ndcg/s.n)
		require.Greater(t, q.ndcg/q.n, 0.5)
		if a := c.measure(tuned(), false, "agent"); a.n > 0 {
			fmt.Printf("%-12s %14.0f hit@1 %.3f hit@5 %.3f\n", "  agent", a.n, a.hit1/a.n, a.hit5/a.n)
		}
	}
	if !*ablate {
		return
	}
	fmt.Printf("\nnDCG@10 that each part gains, and what repair gains on queries with a slip\n%-24s", "part")
	for _, c := range sets {
		fmt.Printf(" %11s", c.name)
	}
	fmt.Println()
	for _, p := range parts() {
		without := tuned()
		p.off(&without)
		fmt.Printf("%-24s", p.name)
		for _, c := range sets {
			q, w := c.measure(tuned(), p.slips, ""), c.measure(without, p.slips, "")
			fmt.Printf("      %+.3f", q.ndcg/q.n-w.ndcg/w.n)
		}
		fmt.Println()
	}
}

type ingredient struct {
	name  string
	slips bool
	off   func(*tuning)
}

func parts() []ingredient {
	return []ingredient{
		{"stopwords", false, func(t *tuning) { t.stopwords = false }},
		{"stemming", false, func(t *tuning) { t.stem = false }},
		{"identifier parts", false, func(t *tuning) { t.humps = false }},
		{"CJK", false, func(t *tuning) { t.pairs, t.lone = false, 0 }},
		{"single CJK characters", false, func(t *tuning) { t.lone = 0 }},
		{"field weights", false, func(t *tuning) {
			for f := range fields {
				t.weight[f] = 1
			}
		}},
		{"arguments", false, func(t *tuning) { t.weight[inParams], t.weight[inSchema] = 0, 0 }},
		{"server and category", false, func(t *tuning) { t.weight[inServer] = 0 }},
		{"words of courtesy", false, func(t *tuning) { t.fill = 1 }},
		{"synonyms", false, func(t *tuning) { t.group = 0 }},
		{"synonyms across scripts", false, func(t *tuning) { t.abroad = 0 }},
		{"spelling, no slip", false, func(t *tuning) { t.repair = 0 }},
		{"spelling, one slip", true, func(t *tuning) { t.repair = 0 }},
		{"paths and links", false, func(t *tuning) { t.path = 0 }},
		{"discount for lack", false, func(t *tuning) { t.cover = 0 }},
		{"sentences vote", false, func(t *tuning) { t.vote = 0 }},
		{"name covered", false, func(t *tuning) { t.name = 0 }},
		{"start covered", false, func(t *tuning) { t.lead = 0 }},
		{"early words count more", false, func(t *tuning) { t.steep = 0 }},
		{"order", false, func(t *tuning) { t.order = 0 }},
		{"empty when unmet", false, func(t *tuning) { t.known, t.story = 0, 0 }},
	}
}
