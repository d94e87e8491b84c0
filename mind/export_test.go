package mind

// Names for tests from outside.
const (
	LeastCut = leastCut
)

var (
	Clip = clip
)
