package status

// Names for tests from outside.
const (
	MaxOutput = maxOutput
)
