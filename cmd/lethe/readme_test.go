//go:build unix

package main_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

// step is a command of a transcript and what it prints.
type step struct {
	command string
	prints  []string
}

// transcripts reads the blocks of a page that type commands.
func transcripts(t *testing.T, page string) (steps []step) {
	t.Helper()
	for i, block := range strings.Split(page, "\n```") {
		if i%2 == 1 && strings.HasPrefix(block, "\n$ ") {
			steps = append(steps, transcript(t, block)...)
		}
	}
	return steps
}

// transcript reads commands and what they print.
func transcript(t *testing.T, block string) (steps []step) {
	t.Helper()
	for line := range strings.Lines(block) {
		line = strings.TrimRight(line, "\n")
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			steps = append(steps, step{command: command})
		} else if strings.TrimSpace(line) != "" {
			if len(steps) == 0 {
				t.Fatalf("%q is printed by no command", line)
			}
			last := &steps[len(steps)-1]
			last.prints = append(last.prints, line)
		}
	}
	return steps
}

// What differs from one reader to the next.
var (
	anyHash    = regexp.MustCompile(`[0-9a-f]{12,}`)
	questionID = regexp.MustCompile(`\bq[0-9a-f]{6}\b`)
	anyID      = regexp.MustCompile(`\b(ada-|task-|q)[0-9a-f]{4,8}\b`)
	anyTime    = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z`)
	anyWeight  = regexp.MustCompile(`\d+ tokens to \d+`) // the reader's name has a weight, too
)

// pattern is what a line of the transcript stands for.
func pattern(line string) *regexp.Regexp {
	s := regexp.QuoteMeta(line)
	s = anyTime.ReplaceAllLiteralString(s, `[-0-9T:]+Z`)
	s = anyHash.ReplaceAllLiteralString(s, `[0-9a-f]+`)
	s = anyID.ReplaceAllString(s, `$1[0-9a-f]+`)
	s = anyWeight.ReplaceAllLiteralString(s, `\d+ tokens to \d+`)
	s = strings.ReplaceAll(s, "USER:you", `USER:\S+`)
	return regexp.MustCompile("^" + strings.ReplaceAll(s, "…", ".*") + "$")
}

// TestReadme types the transcripts of the README and of docs/start.md into a shell, as they are printed but
// for the reader's own hashes, and looks for what they say is printed.
func TestReadme(t *testing.T) {
	if !canConfine() {
		t.Skip("the transcripts run commands, and this kernel has no sandbox")
	}
	for _, page := range []string{"../README.md", "start.md"} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			typed(t, transcripts(t, lethetest.Page(t, page)))
		})
	}
}

// typed types the steps of a page, each when the one before has printed what it should.
func typed(t *testing.T, steps []step) {
	if len(steps) < 8 {
		t.Fatalf("the transcripts have only %d commands", len(steps))
	}
	sh := newShell(t)
	example, own := "", "" // hashes: the README's, and this reader's
	asked := ""            // the question that this reader was asked
	for _, s := range steps {
		command := s.command
		if own != "" {
			command = strings.ReplaceAll(command, example[:4], own[:4])
			if blob := anyHash.FindString(command); blob != "" {
				command = strings.ReplaceAll(command, blob, sh.blob())
			}
		}
		out := sh.run(questionID.ReplaceAllLiteralString(command, asked), s.prints)
		asked = questionID.FindString(out)
		if own == "" && len(s.prints) > 0 {
			example, own = anyHash.FindString(s.prints[0]), anyHash.FindString(out)
		}
		if strings.HasPrefix(command, "lethe") && len(s.prints) == 0 && out == "" {
			t.Errorf("%s printed nothing", command)
		}
	}
}

// shell is a bash that is typed into.
type shell struct {
	*testing.T
	home string
	in   io.Writer
	out  chan string // lines
	n    int
}

func newShell(t *testing.T) *shell {
	sh := &shell{T: t, home: t.TempDir(), out: make(chan string, 10_000)}
	cmd := exec.Command("bash", "-c", `while IFS= read -r -u 3 line; do eval "$line"; done`) // nothing stands on standard input
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + sh.home, "GORACE=" + raceOptions}
	cmd.Dir = sh.home
	typed, in, err := os.Pipe()
	lethetest.Must(t, err)
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	cmd.ExtraFiles = []*os.File{typed}
	sh.in = in
	lethetest.Must(t, cmd.Start())
	typed.Close()
	go func() { // ends with the pipe
		for s := bufio.NewScanner(r); s.Scan(); {
			sh.out <- s.Text()
		}
	}()
	t.Cleanup(func() {
		fmt.Fprintln(in, "jobs -p | xargs -r kill -9 2>/dev/null; exit")
		in.Close()
		_ = cmd.Wait()
		w.Close()
	})
	sh.run("set -m", nil) // %1 is for people, and this shell is for a person
	return sh
}

// run types a command and waits until it has ended and printed what it should,
// which a command in the background may do later. It returns what was printed.
func (sh *shell) run(command string, want []string) string {
	sh.Helper()
	sh.n++
	mark := fmt.Sprintf("done %d", sh.n)
	fmt.Fprintf(sh.in, "%s\necho %s\n", command, mark)
	var printed []string
	ended := false
	for deadline := time.After(patience); !ended || len(want) > 0; {
		select {
		case line := <-sh.out:
			if line == mark {
				ended = true
				continue
			}
			printed = append(printed, line)
			if len(want) > 0 && pattern(want[0]).MatchString(line) {
				want = want[1:]
			}
		case <-deadline:
			sh.Fatalf("$ %s\nprinted\n%s\nand not: %s", command, strings.Join(printed, "\n"), strings.Join(want, "\n"))
		}
	}
	return strings.Join(printed, "\n")
}

// blob is the hash of an answer in the log.
func (sh *shell) blob() string {
	sh.Helper()
	log, err := os.ReadFile(filepath.Join(sh.home, ".lethe", "names", "ada", "LIFE.md"))
	lethetest.Must(sh, err)
	m := regexp.MustCompile(` reply .*hash=([0-9a-f]+)`).FindSubmatch(log)
	if m == nil {
		sh.Fatalf("no reply in:\n%s", log)
	}
	return string(m[1])
}
