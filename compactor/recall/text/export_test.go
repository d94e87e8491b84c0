package text

// Names for tests from outside.
var (
	Stem     = stem
	Tagged   = tagged
	WordRune = wordRune
)

const (
	Header      = header
	Indentation = indentation
	MaxToken    = maxToken
)
