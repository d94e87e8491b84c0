package main

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"lethe"
)

// version returns the number of the program and, where the build recorded it, the commit that it was built from.
func version(info *debug.BuildInfo) (text, commit string) {
	changed := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				changed = ", changed since"
			}
		}
	}
	if commit == "" {
		return lethe.Version, ""
	}
	return fmt.Sprintf("%s (commit %s%s)", lethe.Version, commit, changed), commit
}

// buildInfo returns what the build recorded, empty if it recorded nothing.
func buildInfo() *debug.BuildInfo {
	info, _ := debug.ReadBuildInfo()
	return cmp.Or(info, &debug.BuildInfo{})
}
