//go:build unix

package main_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// TestEraseKilled kills lethe erase before or after a write, and again what goes on with it. Plain check tells of it
// and changes nothing; the next other command, whichever it is, finishes what was decided: then the text is nowhere, or
// everywhere where it was, and the life is whole.
func TestEraseKilled(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	lethe, err := exec.LookPath("lethe")
	lethetest.Must(t, err)
	const word = "deploy key is in vault 7"
	command := func(home string, args []string, env ...string) (string, error) {
		cmd := exec.Command(lethe, append(args, "--home", home)...)
		cmd.Env, cmd.Stdin = append([]string{"HOME=" + home}, env...), strings.NewReader(word)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	silent := func(said string) {
		if strings.Contains(said, word) {
			t.Errorf("it says what it erases:\n%s", said)
		}
	}
	run := func(home string, env ...string) (string, error) {
		said, err := command(home, []string{"erase", "ada", "-", "--yes"}, env...)
		silent(said)
		return said, err
	}
	others := [][]string{{"check", "--repair"}, {"export", "ada", "--copy", "-o", filepath.Join(t.TempDir(), "copy")},
		{"fork", "ada"}, {"gc", "--yes"}, {"context", "ada"}, {"agents"}}
	home := func() string {
		dir := lethetest.Dir(t)
		lethetest.Unpack(t, "../../agent/testdata/november/home.tar.gz", dir)
		return filepath.Join(dir, "home")
	}
	count := func(home string) (n int) {
		for _, often := range holding(t, home, word) {
			n += often
		}
		return n
	}
	trace, whole := filepath.Join(t.TempDir(), "trace"), home()
	all := count(whole)
	if out, err := run(whole, traceTo+"="+trace); err != nil || all == 0 || count(whole) > 0 {
		t.Fatalf("%d of %d are left: %v\n%s", count(whole), all, err, out)
	}
	writes := strings.Count(lethetest.Read(t, trace), "\n")
	kills := lethetest.Sample(4, 6, 2*writes)
	lethetest.Tried(t, kills)
	for i := range kills {
		n := 1 + (i*writes/kills+lethetest.Day()*7)%writes
		moment, h := fmt.Sprintf("%s:%d", []string{"before", "after"}[i%2], n), home()
		_, _ = run(h, killAt+"="+moment)
		_, _ = run(h, killAt+"="+fmt.Sprintf("before:%d", 1+i%7)) // and what ends it is killed, too
		plans, _ := filepath.Glob(filepath.Join(h, "agents", "*", "erase.json"))
		if said, _ := command(h, []string{"check"}); len(plans) > 0 && (lethetest.Read(t, plans[0]) == "" ||
			!strings.Contains(said, "unfinished erasure")) {
			t.Errorf("killed %s, check finishes the erasure, or does not tell of it:\n%s", moment, said)
		}
		other := others[(i/2+lethetest.Day())%len(others)]
		said, _ := command(h, other)
		if len(plans) > 0 { // or nothing was decided, and context shows all
			silent(said)
		}
		if left := count(h); left > 0 && (left < all || len(plans) > 0) {
			t.Errorf("killed %s, then %q: %d of %d are left\n%s", moment, other, left, all, said)
		}
		if out, err := command(h, []string{"check", "ada"}); err != nil {
			t.Errorf("killed %s, then %q: %v\n%s", moment, other, err, out)
		}
		if other[0] == "fork" && len(plans) == 0 { // that has it, and keeps it
			continue
		}
		if out, err := run(h); err != nil && !strings.Contains(out, "it stands nowhere") {
			t.Errorf("killed %s, it does not go on: %v\n%s", moment, err, out)
		} else if left := count(h); left > 0 {
			t.Errorf("killed %s: it is still there %d times", moment, left)
		}
	}
}

// TestEraseKilledWhileHired kills lethe erase before or after each of its writes, while a daemon runs the hired life that it
// erases from, and no other. The life is not fired by that, and answers again each time; the daemon does not end.
func TestEraseKilledWhileHired(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	home := lethetest.Dir(t)
	lethetest.Write(t, filepath.Join(home, "roles", "nurse", "SOUL.md"), "You are a nurse.")
	lethetest.Write(t, filepath.Join(home, "roles", "nurse", "role.toml"), "model = \"offline\"\n")
	run := func(env []string, args ...string) (string, error) {
		out, err := bare(t, home, env, args...).CombinedOutput()
		return string(out), err
	}
	must := func(args ...string) {
		t.Helper()
		if out, err := run(nil, args...); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	must("hire", "nurse", "--for", "ann")
	daemon := bare(t, home, nil, "run", "--started")
	gone := begin(t, daemon)
	defer func() { end(daemon, gone) }()
	said := 0
	answers := func(text string) {
		t.Helper()
		must("say", "nurse-ann", "--as", "ann", text)
		said++
		lethetest.Eventually(t, "it answers "+text, func() bool {
			return strings.Count(lethetest.Read(t, filepath.Join(home, "chats", "nurse-ann.md")), "[AGENT:nurse-ann ") >= said
		})
	}
	erase := []string{"erase", "nurse-ann", "vault 7", "--yes"}
	trace := filepath.Join(t.TempDir(), "trace")
	answers("the key is in vault 7")
	if out, err := run([]string{traceTo + "=" + trace}, erase...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	writes := strings.Count(lethetest.Read(t, trace), "\n")
	kills := lethetest.Sample(4, 6, 2*writes)
	lethetest.Tried(t, kills)
	for i := range kills {
		answers("the key is in vault 7")
		moment := fmt.Sprintf("%s:%d", []string{"before", "after"}[i%2], 1+(i*writes/kills+lethetest.Day()*7)%writes)
		if out, err := run([]string{killAt + "=" + moment}, erase...); err == nil {
			t.Errorf("it was not killed %s:\n%s", moment, out)
		}
		started, _ := filepath.Glob(filepath.Join(home, "started", "*"))
		if len(started) != 1 {
			t.Errorf("killed %s, it is fired", moment)
		}
		answers("killed " + moment)
	}
	if out, err := run(nil, erase...); err != nil && !strings.Contains(out, "it stands nowhere") {
		t.Errorf("%v\n%s", err, out)
	}
	if left := holding(t, home, "vault 7"); len(left) > 0 {
		t.Errorf("it is left in %v", left)
	}
	answers("and now")
}

// TestEraseKilledTakenOver kills lethe erase before or after a write, and another host takes the life. It is erased there,
// too, unless the store had not been told yet: then the host that began says what to do, and that does it.
func TestEraseKilledTakenOver(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	const word = "tulip-4711"
	run := func(home string, env []string, args ...string) string {
		out, _ := bare(t, home, env, args...).CombinedOutput()
		return string(out)
	}
	hosts := func() (dir, a, b string) {
		dir = lethetest.Dir(t)
		a, b = filepath.Join(dir, "a"), filepath.Join(dir, "b")
		config := fmt.Sprintf("[share]\nurl = \"file://%s\"\nplain = true\n", filepath.Join(dir, "store"))
		lethetest.Write(t, filepath.Join(dir, "store", "is"), "there")
		for _, home := range []string{a, b} {
			lethetest.Write(t, filepath.Join(home, "config.toml"), config)
		}
		run(a, nil, "ask", "--offline", "--name", "ada", "remember that the door code is "+word)
		run(b, nil, "take", "ada")
		run(a, nil, "take", "ada")
		if n := len(holding(t, filepath.Join(dir, "store"), word)); n == 0 || len(holding(t, b, word)) == 0 {
			t.Fatalf("%d texts of the store have the word", n)
		}
		return dir, a, b
	}
	erase := []string{"erase", "ada", word, "--yes"}
	trace := filepath.Join(t.TempDir(), "trace")
	dir, a, b := hosts()
	said := run(a, []string{traceTo + "=" + trace}, erase...)
	run(b, nil, "take", "ada") // which reads anew what it has
	if left := holding(t, dir, word); len(left) > 0 {
		t.Fatalf("%v are left:\n%s", left, said)
	}
	traced := lethetest.Read(t, trace)
	before, _, _ := strings.Cut(traced, "rename erase.json")
	writes, decided := strings.Count(traced, "\n"), 1+strings.Count(before, "\n")
	kills, ended, told := lethetest.Sample(4, 6, 2*writes), 0, 0
	lethetest.Tried(t, kills)
	for i := range kills {
		dir, a, b := hosts()
		moment := fmt.Sprintf("%s:%d", []string{"before", "after"}[i%2], 1+(i*writes/kills+lethetest.Day()*7)%writes)
		if i == 0 {
			moment = fmt.Sprint("after:", decided)
		}
		killed := run(a, []string{killAt + "=" + moment}, erase...)
		plans, _ := filepath.Glob(filepath.Join(a, "agents", "*", "erase.json"))
		took := run(b, nil, "take", "ada")
		says := run(a, nil, "agents")
		if len(plans) == 0 && len(holding(t, filepath.Join(dir, "store"), word)) > 0 { // it was not begun
			continue
		}
		if strings.Contains(says, "lethe take ada ends it") {
			told++
			if again := run(a, nil, erase...); !strings.Contains(again, "it goes on at") || strings.Contains(again, "nowhere") {
				t.Errorf("killed %s, it does not say where the life is:\n%s", moment, again)
			}
			says += run(a, nil, "take", "ada") + run(a, nil, erase...) + run(b, nil, "take", "ada")
		} else {
			ended++
		}
		if left := holding(t, dir, word); len(left) > 0 {
			t.Errorf("killed %s: %v are left\n%s\n%s\n%s", moment, left, killed, took, says)
		}
		for _, home := range []string{a, b} {
			if said := run(home, nil, "agents"); strings.Contains(said, "erasure") {
				t.Errorf("killed %s, it does not end:\n%s", moment, said)
			}
			if said := run(home, nil, "check"); !strings.Contains(said, "faults: 0") {
				t.Errorf("killed %s:\n%s", moment, said)
			}
		}
	}
	if t.Logf("%d kills: another host ended %d, %d were told", kills, ended, told); ended == 0 || told == 0 {
		t.Error("it shows nothing")
	}
}
