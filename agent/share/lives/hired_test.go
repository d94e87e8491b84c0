package lives

import (
	"testing"

	"lethe/agent/home"
)

// The work of a hired life, with its limits, goes along to other hosts, and into archives.
func TestHiredGoesAlong(t *testing.T) {
	if !shared("hired.toml") || !home.Belongs("hired.toml") {
		t.Error("hired.toml stays behind")
	}
}
