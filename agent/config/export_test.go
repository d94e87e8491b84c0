package config

// Names for tests from outside.
var (
	EachKey  = eachKey
	ReadKeys = readKeys
)
