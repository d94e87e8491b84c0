package main

import (
	"fmt"
	"runtime/debug"

	"lethe"
)

// version returns the number of the program and, where the build recorded it, the commit that it was built from.
func version(info *debug.BuildInfo, recorded bool) string {
	if !recorded {
		return lethe.Version
	}
	of := map[string]string{}
	for _, setting := range info.Settings {
		of[setting.Key] = setting.Value
	}
	commit, changed := of["vcs.revision"], ""
	if commit == "" {
		return lethe.Version
	}
	if of["vcs.modified"] == "true" {
		changed = ", changed since"
	}
	return fmt.Sprintf("%s (commit %.12s%s)", lethe.Version, commit, changed)
}
