package home

// Names for tests from outside.
var (
	Holder = holder
)
