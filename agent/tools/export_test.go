package tools

// Names for tests from outside.
type (
	Integer = integer
	Loose   = loose
)
