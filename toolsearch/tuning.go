package toolsearch

// field is a part of a tool that words are looked for in.
type field uint8

const (
	inName   field = iota // what is behind the server
	inTitle               //
	inDoc                 //
	inServer              // server, owner, category and family
	inParams              // names of arguments
	inSchema              // docs and allowed values of arguments
	fields
)

// tuning holds every number that ranking depends on. They were found by measuring on five sets at once; README.md says
// what each part gains. 0 switches a part off, which is how its gain is measured.
type tuning struct {
	// BM25F: what one occurrence counts in a field, how far the field's length discounts it, and the length that
	// discounts nothing. The lengths are fixed and no means of the catalogue: so a tool's words count the same
	// whatever stands beside it, and a changed view touches only what changed.
	weight, slack, mean [fields]float32
	// floor is the part of mean below which a shorter field gains nothing more.
	floor float32
	// k1 is BM25's saturation.
	k1 float32

	stopwords, stem, humps, pairs bool
	// lone is what one CJK character counts beside a pair.
	lone float32
	// fill is what words of courtesy count ("best", "interested", "help").
	fill float32
	// group is what a synonym counts where the word itself is not, alone where no tool has the word.
	group, alone float32
	// abroad is what a synonym counts that is of another script.
	abroad float32
	// repair is what a word counts that had to be repaired.
	repair float32
	// path is what counts of a file's path or a link: only its ending or host is read. 0 reads it like any text.
	path float32

	// cover is how far a tool is discounted that has little of a sentence.
	cover float32
	// vote is how far the best sentence counts beside the whole query, in the limit of many sentences.
	vote float32
	// best is how many tools are scored anew by name, lead and order; none of these finds a tool.
	best int
	// name and lead are the bonus for a name, and for the first words of name and doc, that the query covers; steep is
	// how much less each next of these words counts.
	name, lead, steep float32
	// order is the bonus for two words that stand together in both.
	order float32

	// known is the part of a query's weight that the words which any tool has must make up. Below it what is really
	// wanted is met by nothing, and a tool that shares one word is no match. From long words on a query is taken to
	// tell a story and the part is less.
	known, story float32
	// proxy is how far a synonym makes a word known.
	proxy float32
	long  int
}

func tuned() tuning {
	return tuning{
		weight: [fields]float32{inName: 2.6, inTitle: 2, inDoc: 0.6, inServer: 0.8, inParams: 0.4, inSchema: 0.36},
		slack:  [fields]float32{inName: 0.5, inTitle: 0.5, inDoc: 0.65, inServer: 0, inParams: 0.75, inSchema: 0.6},
		mean:   [fields]float32{inName: 2.6, inTitle: 4, inDoc: 20, inServer: 2, inParams: 7, inSchema: 30},
		k1:     0.6, stopwords: true, stem: true, humps: true, pairs: true, lone: 0.8, fill: 0.6,
		group: 0.35, alone: 0.95, abroad: 0.7, repair: 0.7, path: 1,
		cover: 0.18, vote: 0.6, best: 32, name: 0.3, lead: 0.55, steep: 0.25, order: 0.2,
		known: 0.4, story: 0.2, proxy: 0.85, floor: 0.24, long: 5,
	}
}
