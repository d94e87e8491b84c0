package check

// Names for tests from outside.
var (
	Kinds = kinds
)

const (
	GcDay     = gcDay
	KeepFor   = keepFor
	LostFound = lostFound
)
