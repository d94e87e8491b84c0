package vitals

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// sweeps are the tests that kill, break the disk and cut the power, by package. Each says how many states it tries.
var sweeps = []struct {
	pkg   string
	tests []string
}{
	{"agent", []string{
		"TestKilledAtAnyMoment", "TestByItselfKilled", "TestSpawnOverKills", "TestEveryStepFailsOnce",
		"TestEveryStepOfASwapFails", "TestFullDisk", "TestPowerLoss", "TestBootSurvives",
	}},
	{"cmd/lethe/archive", []string{"TestEveryStepOfAnImportFails"}},
	{"bridge", []string{"TestKilled"}},
	{"cmd/lethe/check", []string{"TestRepairIsCutOff"}},
	{"cmd/lethe", []string{"TestKillBetweenAnyTwoWrites", "TestSaidOnceOverKills", "TestEraseKilled"}},
	{"cmd/lethe/erase", []string{"TestEveryStepFails", "TestPowerLossOfAnErasure"}},
}

// sweep counts the states that a test has tried, and in how many of its parts something was wrong.
type sweep struct{ tried, failed int }

// crashes runs the sweeps as go test runs them for each push.
func crashes(ctx context.Context, o Options) (s Section, err error) {
	done, err := runTests(ctx, o)
	if err != nil {
		return s, err
	}
	s.Table = [][]string{{"", "states tried", "failed"}}
	row := func(name string, t sweep) {
		s.Table = append(s.Table, []string{name, fmt.Sprint(t.tried), fmt.Sprint(t.failed)})
	}
	var all sweep
	for _, p := range sweeps {
		for _, name := range p.tests {
			t := done[p.pkg+" "+name]
			if t == nil || t.tried == 0 {
				return s, fmt.Errorf("%s of %s tells of no state that it has tried", name, p.pkg)
			}
			row(p.pkg+" "+strings.TrimPrefix(name, "Test"), *t)
			all.tried += t.tried
			all.failed += t.failed
		}
	}
	row("all", all)
	return s, nil
}

func runTests(ctx context.Context, o Options) (map[string]*sweep, error) {
	var packages, tests []string
	for _, p := range sweeps {
		packages = append(packages, "./"+p.pkg)
		tests = append(tests, p.tests...)
	}
	args := []string{"test", "-json", "-count=1", "-run", "^(" + strings.Join(tests, "|") + ")$"}
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Dir = o.Tree
	cmd.Env = append(os.Environ(), "LETHE_LONG=")                         // a sample
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its tests
	cmd.WaitDelay = 10 * time.Second
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	done, other := parseTests(out, o.Say)
	err = cmd.Wait()
	if failed := new(exec.ExitError); errors.As(err, &failed) && len(done) > 0 {
		return done, nil // the table tells of it
	}
	if err != nil {
		err = fmt.Errorf("go test: %w\n%s%s", err, problems.String(), other)
	}
	return done, err
}

var triedStates = regexp.MustCompile(`: tried (\d+) states\n$`)

// parseTests reads what go test -json prints: the tests by package and name, and the output outside of them.
func parseTests(out io.Reader, say func(string)) (done map[string]*sweep, other string) {
	done = map[string]*sweep{}
	parents := map[string]bool{} // of parts that have failed: each failure counts once
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct{ Action, Package, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Test == "" {
			other += e.Output
			continue
		}
		pkg := strings.TrimPrefix(e.Package, "lethe/")
		path := pkg + " " + e.Test
		test, _, isPart := strings.Cut(e.Test, "/")
		name := pkg + " " + test
		t := done[name]
		if t == nil {
			t = &sweep{}
			done[name] = t
		}
		if m := triedStates.FindStringSubmatch(e.Output); m != nil {
			n, _ := strconv.Atoi(m[1]) // digits
			t.tried += n
		}
		switch {
		case e.Action == "fail" && !parents[path]:
			say("FAILED " + path)
			t.failed++
		case e.Action == "pass" && !isPart:
			say(fmt.Sprintf("%s: %d states", path, t.tried))
		}
		if e.Action == "fail" {
			parent := path[:max(0, strings.LastIndex(path, "/"))]
			parents[parent] = true
		}
	}
	return done, other
}
