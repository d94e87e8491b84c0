package main

import (
	"cmp"
	"runtime/debug"

	"lethe"
)

// version returns the number of the program and, where the build recorded it, the commit that it was built from.
func version(info *debug.BuildInfo) string {
	commit, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = ", changed since"
		}
	}
	if commit == "" {
		return lethe.Version
	}
	return lethe.Version + " (commit " + commit + changed + ")"
}

// buildInfo returns what the build recorded, empty if it recorded nothing.
func buildInfo() *debug.BuildInfo {
	info, _ := debug.ReadBuildInfo()
	return cmp.Or(info, &debug.BuildInfo{})
}
