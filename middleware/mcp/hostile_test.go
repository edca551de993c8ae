//go:build unix

package mcp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/mcp"
	"github.com/metaharness/peri/prompt/message"
)

// runs reports whether a process is there.
func runs(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	require.NoError(t, err)
	if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && strings.Contains(string(stat), ") Z ") {
		return false // it has ended, and whoever inherited it has not looked
	}
	return syscall.Kill(n, 0) == nil
}

// ended fails unless every process that a server was has ended, of which there was one at least.
func ended(t *testing.T, s mcp.Server) {
	t.Helper()
	was := pids(t, s)
	require.NotEmpty(t, was, "it was there")
	for _, pid := range was {
		require.False(t, runs(t, pid), "process %s is still there", pid)
	}
}

func TestAServerThatNeverAnswersCostsTheBudgetAndNothingElse(t *testing.T) {
	for _, mode := range []string{"hang", "deaf"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			slow, good := server(t, "slow", mode), server(t, "good", "good")
			began := time.Now()
			d := open(t, mcp.Options{Servers: []mcp.Server{slow, good}, Budget: 2 * time.Second, Grace: 100 * time.Millisecond})
			require.GreaterOrEqual(t, time.Since(began), 2*time.Second)
			require.Less(t, time.Since(began), 30*time.Second)
			soon(t, "the good one is there", func() bool { return strings.Contains(d.detail("good"), "ready") })
			require.Contains(t, d.detail("slow"), "connecting")
			require.Contains(t, d.said(), "slow")
			require.Contains(t, d.inst.Diagnostics()[len(d.inst.Diagnostics())-1].Message, "slow did not start")
			d.close()
			ended(t, slow)
			ended(t, good)
		})
	}
}

func TestASessionThatIsCancelledWhileItsServersStartLeavesNone(t *testing.T) {
	slow := server(t, "slow", "hang")
	m, err := mcp.New(mcp.Options{Servers: []mcp.Server{slow}, Budget: time.Minute, Grace: 50 * time.Millisecond})
	require.NoError(t, err)
	d := &desk{t: t, m: m}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		soon(t, "it was started", func() bool { return len(pids(t, slow)) > 0 })
		cancel()
	}()
	_, err = m.Open(ctx, d.env(t.TempDir()))
	require.ErrorIs(t, err, context.Canceled)
	ended(t, slow)
}

func TestALateServerComesAsARefresh(t *testing.T) {
	late := server(t, "late", "late")
	d := open(t, mcp.Options{Servers: []mcp.Server{late}, Budget: time.Millisecond})
	require.NotContains(t, d.tools(), "mcp__late__echo")
	require.NoError(t, os.WriteFile(dir(late)+"/go", nil, 0o600))
	soon(t, "its tools", func() bool { return strings.Contains(strings.Join(d.tools(), " "), "mcp__late__echo") })
	require.Contains(t, d.said(), "server late is connected")
}

func TestAServerThatEndsAtOnceIsToldOfWithItsOwnWords(t *testing.T) {
	gone := server(t, "gone", "exit")
	d := open(t, mcp.Options{Servers: []mcp.Server{gone}})
	require.Contains(t, d.said(), "no licence")
	require.Contains(t, d.said(), "exit status 3")
	require.Contains(t, d.inst.Diagnostics()[0].Message, "no licence")
	require.Contains(t, d.route("mcp", "gone").Text, "no licence")

	absent := mcp.Server{Name: "absent", Command: "/there/is/no/such/program"}
	d = open(t, mcp.Options{Servers: []mcp.Server{absent}})
	require.Contains(t, d.detail("absent"), "failed")
	require.Contains(t, d.said(), "no such file")
}

func TestWhatAServerPrintsBetweenItsMessagesDoesNoHarm(t *testing.T) {
	d := open(t, mcp.Options{Servers: []mcp.Server{server(t, "a", "noisy")}})
	require.Equal(t, "echo {}", d.call("mcp__a__echo", map[string]any{}).Text())
}

func TestACallThatIsNeverAnsweredEndsByItselfOrWithItsTurn(t *testing.T) {
	s := server(t, "a", "good")
	s.Timeout = 300 * time.Millisecond
	d := open(t, mcp.Options{Servers: []mcp.Server{s}})
	r := d.call("mcp__a__sleep", map[string]any{})
	require.True(t, r.Error)
	require.Contains(t, r.Text(), "said nothing for too long")
	require.Equal(t, "echo {}", d.call("mcp__a__echo", map[string]any{}).Text(), "the connection is as good as before")

	s = server(t, "a", "good")
	d = open(t, mcp.Options{Servers: []mcp.Server{s}})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.Contains(t, d.callIn(ctx, "mcp__a__sleep", map[string]any{}).Text(), "was cancelled")
}

func TestAListWithoutEndIsGivenUp(t *testing.T) {
	flood := server(t, "flood", "flood")
	d := open(t, mcp.Options{Servers: []mcp.Server{flood, server(t, "good", "good")}})
	require.Contains(t, d.said(), "more than 2000 entries")
	require.Contains(t, d.tools(), "mcp__good__echo")
	require.NotContains(t, strings.Join(d.tools(), " "), "mcp__flood__")
}

func TestAServerThatNeverStopsSayingThatItChangedCanStillBeUsedAndClosed(t *testing.T) {
	stormy := server(t, "a", "stormy")
	d := open(t, mcp.Options{Servers: []mcp.Server{stormy}, Grace: 100 * time.Millisecond})
	set := d.inst.Deferred.Tools()
	require.Equal(t, "echo {}", d.call("mcp__a__echo", map[string]any{}).Text())
	require.Same(t, set, d.inst.Deferred.Tools(), "nothing changed, whatever it says")
	d.close()
	ended(t, stormy)
}

// One tool that cannot be used costs itself; the rest of the list is there.
func TestOneBadToolIsLeftOutAloneAndOddOnesWork(t *testing.T) {
	d := open(t, mcp.Options{Servers: []mcp.Server{server(t, "a", "liar")}})
	have := strings.Join(d.tools(), " ")
	for _, good := range []string{"echo", "any", "none", "nulls", "odd", "output", "read-file", "read_file", "admin_tools_list"} {
		require.Contains(t, d.tools(), "mcp__a__"+good)
		require.Contains(t, d.call("mcp__a__"+good, map[string]any{"a": 1}).Text(), good, "it runs, and no other")
	}
	for _, bad := range []string{"text", "array", "typo", "far"} {
		require.NotContains(t, d.tools(), "mcp__a__"+bad)
		require.Contains(t, d.said(), `tool "`+bad+`": it is left out`)
	}
	require.Contains(t, d.said(), `tool "echo": it is listed twice`)
	require.Contains(t, d.said(), `tool "": it is left out`)
	require.Contains(t, d.said(), "entry 5 of its tools: it is left out", "a number for a name")
	require.Contains(t, d.said(), "entry 6 of its tools: it is left out", "a list for a text")
	require.Regexp(t, regexp.MustCompile(`mcp__a__admin_tools_list_[0-9a-f]{8}( |$)`), have, "what had to be changed is told apart")
	for _, name := range d.tools() {
		require.LessOrEqual(t, len(name), 64)
	}
	var said []string
	for _, x := range d.inst.Diagnostics() {
		require.Equal(t, "mcp_quarantined", x.Code)
		said = append(said, x.Message)
	}
	require.Len(t, said, 8, strings.Join(said, "\n"))
}

func TestASlashOrDotInANameReachesTheServerAsItWas(t *testing.T) {
	d := open(t, mcp.Options{Servers: []mcp.Server{server(t, "a", "liar")}})
	for _, name := range d.tools() {
		if strings.HasPrefix(name, "mcp__a__admin_tools_list_") {
			require.Equal(t, "admin.tools/list {}", d.call(name, map[string]any{}).Text())
		}
		if strings.HasPrefix(name, "mcp__a__long") {
			require.Equal(t, strings.Repeat("long", 20)+" {}", d.call(name, map[string]any{}).Text())
		}
	}
}

func TestAServerThatRenamesItsToolsIsFollowed(t *testing.T) {
	d := open(t, mcp.Options{Servers: []mcp.Server{server(t, "a", "rename")}})
	require.Equal(t, []string{"mcp__a__echo", "mcp__a__v0"}, d.tools())
	before, _ := d.view().Lookup("mcp__a__v0")
	d.call("mcp__a__v0", map[string]any{})
	soon(t, "the new name", func() bool { return strings.Join(d.tools(), " ") == "mcp__a__echo mcp__a__v1" })
	require.Contains(t, d.call("mcp__a__v0", map[string]any{}).Text(), "There is no tool `mcp__a__v0`")
	require.NotNil(t, before.Tool)
}

func TestAServerThatDiesIsConnectedAgainAndKeepsItsToolsAndTheirOrderMeanwhile(t *testing.T) {
	a := server(t, "a", "good")
	d := open(t, mcp.Options{Servers: []mcp.Server{server(t, "b", "good"), a}})
	before := d.tools()
	view := d.view()
	r := d.call("mcp__a__die", map[string]any{})
	require.True(t, r.Error)
	require.Contains(t, r.Text(), "what it did of the call is not known")
	require.Equal(t, before, d.tools(), "what it offered last stays")
	soon(t, "it is told", func() bool { return strings.Contains(d.said(), "server a is lost") })
	require.Contains(t, d.call("mcp__a__echo", map[string]any{}).Text(), "echo", "a call waits for it")
	require.Len(t, pids(t, a), 2)
	require.Equal(t, before, d.tools())
	require.Same(t, view, d.view(), "and nothing of the view changed")
	soon(t, "it is told", func() bool { return strings.Contains(d.said(), "server a is connected") })
}

func TestAServerCanBeConnectedAnewByHand(t *testing.T) {
	a := server(t, "a", "good")
	d := open(t, mcp.Options{Servers: []mcp.Server{a}})
	require.Contains(t, d.route("mcp", "reconnect a").Text, "being connected anew")
	soon(t, "another process", func() bool { return len(pids(t, a)) == 2 })
	require.Contains(t, d.route("mcp", "reconnect aa").Text, "Did you mean a?")
	require.Contains(t, d.route("mcp", "what is this").Text, "/mcp reconnect NAME")
}

func TestALongResultShowsItsHeadAndTailAndIsKeptWhole(t *testing.T) {
	outputs := t.TempDir()
	d := open(t, mcp.Options{Servers: []mcp.Server{server(t, "a", "good")}, OutputCap: 1000, Outputs: outputs})
	text := d.call("mcp__a__big", map[string]any{}).Text()
	require.Less(t, len(text), 1400)
	require.True(t, strings.HasPrefix(text, "HEAD") && strings.HasSuffix(text, "TAIL"))
	file := regexp.MustCompile(`The whole text is in (\S+) …`).FindStringSubmatch(text)
	require.Len(t, file, 2, text)
	whole, err := os.ReadFile(file[1])
	require.NoError(t, err)
	require.Len(t, whole, 5<<20+8)
	require.True(t, strings.HasPrefix(file[1], outputs))

	whole, err = os.ReadFile(file[1])
	d.close()
	require.NoError(t, err)
	require.FileExists(t, file[1], "a folder that was given keeps it")
	require.NotEmpty(t, whole)

	d = open(t, mcp.Options{Servers: []mcp.Server{server(t, "a", "good")}, OutputCap: 1000})
	file = regexp.MustCompile(`The whole text is in (\S+) …`).FindStringSubmatch(d.call("mcp__a__big", map[string]any{}).Text())
	require.FileExists(t, file[1])
	d.close()
	require.NoFileExists(t, file[1], "a folder of its own goes with the session")
}

func TestTheFolderOfLongResultsKeepsTheNewestAndTouchesNothingElse(t *testing.T) {
	outputs := t.TempDir()
	put := func(name string, age time.Duration) string {
		path := filepath.Join(outputs, name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		at := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(path, at, at))
		return path
	}
	notes := put("notes-1.txt", 1000*time.Hour)
	for i := range 250 {
		put(fmt.Sprintf("s0-%d-mcp__a__big-%d.txt", i, i), time.Duration(i+1)*time.Hour)
	}
	d := open(t, mcp.Options{Servers: []mcp.Server{server(t, "a", "good")}, OutputCap: 1000, Outputs: outputs})
	file := regexp.MustCompile(`The whole text is in (\S+) …`).FindStringSubmatch(d.call("mcp__a__big", map[string]any{}).Text())
	require.FileExists(t, file[1])
	require.FileExists(t, notes)
	left, err := os.ReadDir(outputs)
	require.NoError(t, err)
	require.Len(t, left, 201, "200 and what is none of them")
	require.FileExists(t, filepath.Join(outputs, "s0-198-mcp__a__big-198.txt"))
	require.NoFileExists(t, filepath.Join(outputs, "s0-199-mcp__a__big-199.txt"))
}

// A list that the server does not answer for leaves the one before, and who waits for calls is not held up.
func TestAListingThatTimesOutKeepsTheLastGoodList(t *testing.T) {
	a := server(t, "a", "stuck")
	d := open(t, mcp.Options{Servers: []mcp.Server{a, server(t, "b", "good")}, Budget: time.Minute, Start: 4 * time.Second, Grace: 100 * time.Millisecond})
	before := d.tools()
	require.Contains(t, before, "mcp__a__search")
	require.Equal(t, "echo {}", d.call("mcp__a__echo", map[string]any{}).Text())
	soon(t, "the listing is given up", func() bool { return strings.Contains(d.said(), "what it offered before stays") })
	require.Equal(t, before, d.tools())
	require.Equal(t, "search {}", d.call("mcp__a__search", map[string]any{}).Text())
	require.Len(t, pids(t, a), 1)
}

func TestMediaStayWholeAndWhereTheyStoodInALongResult(t *testing.T) {
	for limit, short := range map[int]bool{100_000: true, 2000: false} {
		d := open(t, mcp.Options{Servers: []mcp.Server{server(t, "a", "good")}, OutputCap: limit, Outputs: t.TempDir()})
		r := d.call("mcp__a__mixed", map[string]any{})
		require.JSONEq(t, `{"k":[1,2]}`, string(r.Structured))
		var kinds []message.Kind
		for _, p := range r.Parts {
			kinds = append(kinds, p.Kind)
			if p.Kind == message.Image {
				require.Equal(t, []byte{0, 1, 2}, p.Data)
				require.Equal(t, "image/png", p.MIME)
			}
		}
		require.Contains(t, kinds, message.Image)
		require.Equal(t, message.Text, kinds[0])
		require.Equal(t, message.Image, kinds[1])
		require.Contains(t, r.Text(), "[resource mem://y]\ninner")
		require.Equal(t, short, !strings.Contains(r.Text(), "are left out here"))
	}
}

func TestCloseLeavesNoGoroutineAndNoProcess(t *testing.T) {
	warm := open(t, mcp.Options{Servers: []mcp.Server{server(t, "a", "good")}})
	warm.close()
	before := runtime.NumGoroutine()
	var all []mcp.Server
	for _, mode := range []string{"good", "hang", "stormy", "exit", "child"} {
		all = append(all, server(t, mode, mode))
	}
	d := open(t, mcp.Options{Servers: all, Budget: 3 * time.Second, Grace: 100 * time.Millisecond})
	d.call("mcp__good__echo", map[string]any{})
	soon(t, "all were started", func() bool {
		for _, s := range all {
			if len(pids(t, s)) == 0 {
				return false
			}
		}
		return len(pids(t, all[4])) > 1
	})
	d.close()
	for _, s := range all {
		ended(t, s)
	}
	soon(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}
