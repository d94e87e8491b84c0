// Package lethetest helps the tests of several packages: reading the pages of
// docs/, waiting with a deadline, sizes of sweeps, faults of the disk, a log that is
// read while it is written.
package lethetest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/internal/durable"
)

// Failer is the part that a test, a benchmark and rapid's T have in common.
type Failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Must fails the test for an error.
func Must(t Failer, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Equal compares what a test got with what it wants.
func Equal[T comparable](t Failer, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// patience bounds the wait for something that takes milliseconds on an idle machine.
const patience = 2 * time.Minute

// Eventually polls until ok holds, and fails the test after two minutes.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
	}
}

// Took returns the time that do took, less the time that a busy machine held this process up: another goroutine looks
// at the clock each millisecond, and adds up its delays.
func Took(do func()) time.Duration {
	const pace, usual = time.Millisecond, 5 * time.Millisecond
	var late time.Duration
	end, ended := make(chan struct{}), make(chan struct{})
	began := time.Now()
	go func() { // ends with do
		defer close(ended)
		for last := began; ; {
			select {
			case <-end:
			case <-time.After(pace):
			}
			now := time.Now()
			if took := now.Sub(last); took > usual {
				late += took - pace
			}
			last = now
			select {
			case <-end:
				return
			default:
			}
		}
	}()
	do()
	took := time.Since(began)
	close(end)
	<-ended
	return took - late
}

// Long reports whether a test is to try all that it can, and not a sample: LETHE_LONG=1.
func Long() bool { return os.Getenv("LETHE_LONG") != "" } // read in a test, so that go test does not take a sample's result for it

// Sample returns how much of a sweep is tried: with -short (and the race detector),
// usually, and with LETHE_LONG=1.
func Sample(short, usual, all int) int {
	switch {
	case Long():
		return all
	case testing.Short():
		return short
	}
	return usual
}

// Day is the day of the year, by which sweeps choose the part that they try, and seeds, so that all are tried in time.
// LETHE_DAY says it to go test, which otherwise takes yesterday's result for today's.
func Day() int {
	day, err := strconv.Atoi(os.Getenv("LETHE_DAY"))
	if err != nil {
		day = time.Now().YearDay()
	}
	return day
}

// Tried says that a sweep tries so many more states; go run ./cmd/lab vitals adds them up.
func Tried(t testing.TB, states int) {
	t.Helper()
	t.Logf("tried %d states", states)
}

// Unraced skips a slow test with -short, as the race detector runs them: the goroutines
// that meet in it meet in quicker tests, too.
func Unraced(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow, and about sizes and texts; it runs without -short")
	}
}

// Given returns the path of a file of the module that a program is to read which a test starts. go test sees it by this, and
// does not take the result of a test for that of another file.
func Given(t testing.TB, path ...string) string {
	t.Helper()
	file := filepath.Join(append([]string{Root(t)}, path...)...)
	_, err := os.Stat(file)
	Must(t, err)
	return file
}

// Page returns the text of a page of docs/, such as "life.md".
func Page(t testing.TB, name string) string {
	t.Helper()
	return Read(t, filepath.Join(Root(t), "docs", name))
}

// Root returns the directory of the module.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	Must(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir = filepath.Dir(dir); dir == filepath.Dir(dir) {
			t.Fatal("the test runs outside of the module")
		}
	}
}

// Blocks returns the fenced blocks of a page that have this language, at least one.
func Blocks(t testing.TB, name, lang string) (blocks []string) {
	t.Helper()
	rest := Page(t, name)
	for {
		_, after, found := strings.Cut(rest, "\n```"+lang+"\n")
		if !found {
			break
		}
		block, tail, closed := strings.Cut(after, "```\n")
		if !closed {
			t.Fatalf("docs/%s: a block %q does not end", name, lang)
		}
		blocks, rest = append(blocks, block), tail
	}
	if len(blocks) == 0 {
		t.Fatalf("docs/%s has no block %q", name, lang)
	}
	return blocks
}

// faults maps a directory to the function that steps below it ask, so that tests with faults
// can run side by side.
var faults sync.Map // directory to Fault

// A Fault is asked before and after each durable step, as durable.Fault is.
type Fault func(stage durable.Stage, op, path string) error

// AskFaults makes durable ask the faults that Break sets. Call it before the first
// write, in TestMain.
func AskFaults() {
	durable.Fault = func(stage durable.Stage, op, path string) (err error) {
		faults.Range(func(dir, ask any) bool {
			if path != dir && !strings.HasPrefix(path, dir.(string)+string(filepath.Separator)) {
				return true
			}
			err = ask.(Fault)(stage, op, path)
			return false
		})
		return err
	}
}

// Break has ask decide which durable steps in dir and below fail, until the test ends
// or mended is called.
func Break(t testing.TB, dir string, ask Fault) (mended func()) {
	faults.Store(dir, ask)
	mended = func() { faults.Delete(dir) }
	t.Cleanup(mended)
	return mended
}

// Log is a log that a test reads while it is written.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
