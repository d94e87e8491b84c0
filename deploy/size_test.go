//go:build linux && amd64

package deploy_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"lethe/internal/test/lethetest"
)

// What the program costs before it has done anything: each start initialises all packages, for whatever
// command, and keeps the pages of the file that it touches in memory. Tables and regular expressions that
// a command may never need are made when they are used first. A call of text/template looks methods up by
// name, so that the linker would keep every exported method: 4.7 MB.
func TestProgramIsSmall(t *testing.T) {
	const mostSize, mostBytes, mostAllocs = 27_300_000, 1_720_000, 9_200
	fi, err := os.Stat(lethe)
	lethetest.Must(t, err)
	cmd := exec.Command(lethe, "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	lethetest.Must(t, cmd.Run())
	var sumBytes, sumAllocs, packages int
	for lines := bufio.NewScanner(&trace); lines.Scan(); {
		var name, at, took string
		var bytes, allocs int
		if n, _ := fmt.Sscanf(lines.Text(), "init %s @%s ms, %s ms clock, %d bytes, %d allocs", &name, &at, &took, &bytes, &allocs); n == 5 {
			sumBytes, sumAllocs, packages = sumBytes+bytes, sumAllocs+allocs, packages+1
			if bytes > 50_000 {
				t.Log(lines.Text())
			}
		}
	}
	t.Logf("%d bytes, stripped; %d packages initialise %d bytes with %d allocations", fi.Size(), packages, sumBytes, sumAllocs)
	if packages < 50 || fi.Size() > mostSize || sumBytes > mostBytes || sumAllocs > mostAllocs {
		t.Errorf("at most %d bytes are meant, with %d bytes and %d allocations to initialise", mostSize, mostBytes, mostAllocs)
	}
}
