package wire

import "crypto/sha256"

// cache remembers the prefixes that were written.
type cache struct{ written map[[32]byte]bool }

// account is in bytes: of the whole request, of the longest prefix that was read, of the longest that is written.
type account struct{ all, read, wrote int }

// account reads and writes the prefixes that end at marks, each a number of units. A prefix is found up to lookback
// units before a mark. Without marks every prefix is read and written, as with vendors that cache by themselves.
func (c *cache) account(units []string, marks []int, lookback int) account {
	if c.written == nil {
		c.written = map[[32]byte]bool{}
	}
	sums, sizes := make([][32]byte, len(units)+1), make([]int, len(units)+1)
	for i, u := range units {
		sums[i+1] = sha256.Sum256(append(sums[i][:], u...))
		sizes[i+1] = sizes[i] + len(u)
	}
	if lookback < 0 {
		marks, lookback = []int{len(units)}, len(units)
	}
	a := account{all: sizes[len(units)]}
	for _, m := range marks {
		for i := m; i > 0 && i >= m-lookback; i-- {
			if c.written[sums[i]] {
				a.read = max(a.read, sizes[i])
				break
			}
		}
		a.wrote = max(a.wrote, sizes[m])
	}
	for _, m := range marks {
		c.written[sums[m]] = true
	}
	return a
}
