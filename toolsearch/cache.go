package toolsearch

import (
	"slices"
	"sync"

	"github.com/metaharness/peri/toolview"
)

// Cache makes indexes, and makes one only once for views whose tools read the same, whosever they are. What sessions
// share through it is words and numbers under the digest of the very texts that they were read from: no tool, no
// state, nothing that one session could learn of another or change for it. The tools themselves stay with each Index.
// It is safe for concurrent use; its lock covers the list alone, never indexing or a query.
type Cache struct {
	lex  func() *lexicon // made when it is first needed
	tune *tuning
	room int

	mu    sync.Mutex
	cores []*cached // least recently used first
}

type cached struct {
	digest sum
	once   sync.Once
	core   *core
}

// NewCache makes a cache that remembers up to room lists of tools, at least one.
func NewCache(room int) *Cache { return newCache(room, tuned()) }

func newCache(room int, tune tuning) *Cache {
	return &Cache{lex: sync.OnceValue(newLexicon), tune: &tune, room: max(room, 1)}
}

// Index indexes the deferred tools of a view. from is an index of this cache that the view grew out of, nil when there
// is none: with it, the cost is what changed.
func (c *Cache) Index(v *toolview.View, from *Index) *Index {
	return c.index(deferred(v), from)
}

func (c *Cache) index(tools []toolview.Entry, from *Index) *Index {
	if lex := c.lex(); from == nil || from.lex != lex {
		from = &Index{core: &core{lex: lex, tune: c.tune}}
	}
	ch, digest := differ(from, tools)
	if digest == from.digest {
		return &Index{from.core, tools}
	}
	e := c.entry(digest)
	e.once.Do(func() { e.core = from.next(ch, digest) })
	return &Index{e.core, tools}
}

func (c *Cache) entry(digest sum) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.cores, func(e *cached) bool { return e.digest == digest })
	if at >= 0 {
		e := c.cores[at]
		c.cores = append(slices.Delete(c.cores, at, at+1), e)
		return e
	}
	if len(c.cores) >= c.room {
		c.cores = slices.Delete(c.cores, 0, 1+len(c.cores)-c.room)
	}
	e := &cached{digest: digest}
	c.cores = append(c.cores, e)
	return e
}
