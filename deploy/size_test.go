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
	const mostSize, mostBytes, mostAllocs = 28_400_000, 1_740_000, 9_200
	fi, err := os.Stat(lethe)
	lethetest.Must(t, err)
	all := initialised(t, lethe, "--version")
	t.Logf("%d bytes, stripped; %+v", fi.Size(), all)
	if all.packages < 50 || fi.Size() > mostSize || all.bytes > mostBytes || all.allocs > mostAllocs {
		t.Errorf("at most %d bytes are meant, with %d bytes and %d allocations to initialise", mostSize, mostBytes, mostAllocs)
	}
	helper := initialised(t, "lethe-sandbox") // each command of BASH starts one
	t.Logf("a helper of the sandbox: %+v", helper)
	if helper.packages == 0 || 2*helper.bytes > all.bytes || 3*helper.allocs > all.allocs {
		t.Errorf("a helper initialises %+v of %+v", helper, all)
	}
}

// cost is what the initialisation of packages costs.
type cost struct{ packages, bytes, allocs int }

// initialised is the least of three starts of the program with these arguments, its name first: on a busy machine the
// runtime's own goroutines allocate meanwhile.
func initialised(t *testing.T, args ...string) cost {
	least := started(t, args...)
	for range 2 {
		if again := started(t, args...); again.allocs < least.allocs {
			least = again
		}
	}
	return least
}

func started(t *testing.T, args ...string) (all cost) {
	var trace bytes.Buffer
	cmd := exec.Cmd{Path: lethe, Args: args, Env: append(os.Environ(), "GODEBUG=inittrace=1"), Stderr: &trace}
	_ = cmd.Run() // a helper that is started by hand fails
	for lines := bufio.NewScanner(&trace); lines.Scan(); {
		var name, at, took string
		var bytes, allocs int
		const line = "init %s @%s ms, %s ms clock, %d bytes, %d allocs"
		n, _ := fmt.Sscanf(lines.Text(), line, &name, &at, &took, &bytes, &allocs)
		if n < 5 {
			continue
		}
		all = cost{all.packages + 1, all.bytes + bytes, all.allocs + allocs}
		if bytes > 50_000 {
			t.Log(lines.Text())
		}
	}
	return all
}
