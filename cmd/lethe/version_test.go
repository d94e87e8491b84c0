package main

import (
	"runtime/debug"
	"testing"

	"lethe"
)

func TestVersion(t *testing.T) {
	for want, settings := range map[string][]debug.BuildSetting{
		lethe.Version: {{Key: "vcs", Value: "git"}},
		lethe.Version + " (commit 0123456789ab)": {
			{Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.modified", Value: "false"},
		},
		lethe.Version + " (commit 0123, changed since)": {
			{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "0123"},
		},
	} {
		if got := version(&debug.BuildInfo{Settings: settings}, true); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
