package rehearsal

// Names for tests from outside.
var (
	Count = count
)
