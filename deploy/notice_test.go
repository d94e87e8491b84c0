//go:build unix

package deploy_test

import (
	"debug/buildinfo"
	"testing"

	"lethe/internal/test/lethetest"
)

// NOTICE names each module that the program contains.
func TestNotice(t *testing.T) {
	info, err := buildinfo.ReadFile(lethe)
	lethetest.Must(t, err)
	if len(info.Deps) < 20 {
		t.Fatalf("the program has %d modules", len(info.Deps))
	}
	notice := "\n" + read(t, "../NOTICE")
	for _, module := range info.Deps {
		lethetest.Words(t, notice, "\n"+module.Path+"\n")
	}
}
