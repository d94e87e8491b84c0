package main

// Names for tests from outside.
var (
	Execute        = execute
	NewRootCommand = newRootCommand
	Run            = run
	Sick           = sick
	WriteBridges   = writeBridges
)
