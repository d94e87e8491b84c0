package durable

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The test binary runs itself as a second process; roleEnv says what that is
// to do, and dirEnv where.
const (
	roleEnv = "LETHE_DURABLE_TEST_ROLE"
	dirEnv  = "LETHE_DURABLE_TEST_DIR"
)

func TestMain(m *testing.M) {
	dir := os.Getenv(dirEnv)
	switch role := os.Getenv(roleEnv); role {
	case "":
		os.Exit(m.Run())
	case "append":
		appendMany(dir, fmt.Sprint(os.Getpid()))
	case "full":
		writeWhenFull(dir)
	}
}

func child(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir)
	return cmd
}

const perWriter = 60

// appendMany appends records of uneven length and prints where each went.
func appendMany(dir, who string) {
	for i := range perWriter {
		rec := fmt.Sprintf("%s %d %s\n", who, i, strings.Repeat("x", i*37%5000))
		from, to, err := Append(filepath.Join(dir, "room"), []byte(rec), 0o600)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%d %d %s %d\n", from, to, who, i)
	}
}

// Goroutines and processes append to one file: every record is whole, once, and
// where Append said.
func TestAppendConcurrently(t *testing.T) {
	dir := t.TempDir()
	room := filepath.Join(dir, "room")
	const procs, routines = 4, 8
	var outs [procs]strings.Builder
	var cmds [procs]*exec.Cmd
	for i := range cmds {
		cmds[i] = child(t, "append", dir)
		cmds[i].Stdout, cmds[i].Stderr = &outs[i], os.Stderr
		if err := cmds[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	type place struct {
		from, to int64
		record   string
	}
	places := make(chan place, routines*perWriter)
	var wg sync.WaitGroup
	for g := range routines {
		wg.Go(func() {
			for i := range perWriter {
				rec := fmt.Sprintf("g%d %d %s\n", g, i, strings.Repeat("y", i))
				from, to, err := Append(room, []byte(rec), 0o600)
				if err != nil {
					t.Error(err)
					return
				}
				places <- place{from, to, rec}
			}
		})
	}
	wg.Wait()
	close(places)
	for i := range cmds {
		if err := cmds[i].Wait(); err != nil {
			t.Fatal(err)
		}
	}
	data := mustRead(t, room)
	for p := range places {
		if got := data[p.from:p.to]; got != p.record {
			t.Errorf("bytes %d..%d hold %.40q, want %.40q", p.from, p.to, got, p.record)
		}
	}
	for i := range outs {
		sc := bufio.NewScanner(strings.NewReader(outs[i].String()))
		n := 0
		for ; sc.Scan(); n++ {
			var from, to int64
			var who string
			var k int
			if _, err := fmt.Sscan(sc.Text(), &from, &to, &who, &k); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("%s %d %s\n", who, k, strings.Repeat("x", k*37%5000))
			if data[from:to] != want {
				t.Errorf("bytes %d..%d hold %.40q, want %.40q", from, to, data[from:to], want)
			}
		}
		if n != perWriter {
			t.Errorf("a process reported %d records, want %d", n, perWriter)
		}
	}
	n := 0
	for line := range strings.Lines(data) {
		if line != "\n" { // see Append on empty lines
			n++
		}
	}
	if n != (procs+routines)*perWriter {
		t.Errorf("%d records, want %d", n, (procs+routines)*perWriter)
	}
}

func TestAppendAfterTornTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "room")
	if err := os.WriteFile(path, []byte("whole\nto"), 0o600); err != nil {
		t.Fatal(err)
	}
	from, to, err := Append(path, []byte("mine\n"), 0o600)
	if err != nil || from != 9 || to != 14 {
		t.Errorf("range %d..%d %v, want 9..14", from, to, err)
	}
	if got := mustRead(t, path); got != "whole\nto\nmine\n" {
		t.Errorf("file holds %q", got)
	}
	if from, to, err = Append(path, []byte("more\n"), 0o600); err != nil || from != 14 || to != 19 {
		t.Errorf("range %d..%d %v, want 14..19", from, to, err)
	}
}

func TestAppendFaults(t *testing.T) {
	for _, stage := range []Stage{Before, After} {
		for _, op := range []string{"append", "sync", "syncdir"} {
			path := filepath.Join(t.TempDir(), "room")
			if err := os.WriteFile(path, []byte("old\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			inject(t, func(s Stage, o, p string) error {
				if s == stage && o == op {
					return errInjected
				}
				return nil
			})
			if _, _, err := Append(path, []byte("new\n"), 0o600); !errors.Is(err, errInjected) {
				t.Fatalf("%s %s: error %v, want the injected one", stage, op, err)
			}
			want := "old\nnew\n"
			if op == "append" && stage == Before {
				want = "old\n"
			}
			if got := mustRead(t, path); got != want {
				t.Errorf("%s %s: file holds %q, want %q", stage, op, got, want)
			}
			Fault = nil
		}
	}
}

// A Short fault ends a write in the middle: the old file stays, a room is torn.
func TestShortWrite(t *testing.T) {
	dir := t.TempDir()
	file, room := filepath.Join(dir, "file"), filepath.Join(dir, "room")
	for _, p := range []string{file, room} {
		if err := os.WriteFile(p, []byte("old\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inject(t, func(stage Stage, op, _ string) error {
		if stage == Before && (op == "write" || op == "append") {
			return &Short{Bytes: 2, Err: syscall.ENOSPC}
		}
		return nil
	})
	werr := WriteFile(file, []byte("new\n"), 0o600)
	_, _, aerr := Append(room, []byte("new\n"), 0o600)
	if !errors.Is(werr, syscall.ENOSPC) || !errors.Is(aerr, syscall.ENOSPC) {
		t.Errorf("errors %v, %v", werr, aerr)
	}
	if f, r := mustRead(t, file), mustRead(t, room); f != "old\n" || r != "old\nne" {
		t.Errorf("file %q, room %q", f, r)
	}
	noTemp(t, dir)
}

const fileLimit = 4096

// writeWhenFull runs under a file size limit, which ends a write in the middle as
// a full disk does.
func writeWhenFull(dir string) {
	signal.Ignore(unix.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: fileLimit, Max: fileLimit}); err != nil {
		fmt.Println("setrlimit", err)
		os.Exit(1)
	}
	big := []byte(strings.Repeat("n", 2*fileLimit-1) + "\n")
	werr := WriteFile(filepath.Join(dir, "file"), big, 0o600)
	_, _, aerr := Append(filepath.Join(dir, "room"), big, 0o600)
	for _, err := range []error{werr, aerr} {
		if !errors.Is(err, syscall.EFBIG) {
			fmt.Println("want EFBIG, got", err)
			os.Exit(1)
		}
	}
}

// A write that the disk ends in the middle leaves the old file and no temporary
// one; an append leaves a torn line that the next one does not touch.
func TestPartialWrite(t *testing.T) {
	dir := t.TempDir()
	file, room := filepath.Join(dir, "file"), filepath.Join(dir, "room")
	for _, p := range []string{file, room} {
		if err := os.WriteFile(p, []byte("old\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := child(t, "full", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := mustRead(t, file); got != "old\n" {
		t.Errorf("file holds %d bytes, want the old ones", len(got))
	}
	noTemp(t, dir)
	torn := mustRead(t, room)
	if len(torn) != fileLimit || !strings.HasPrefix(torn, "old\nnnn") {
		t.Fatalf("room holds %d bytes, want it torn at %d", len(torn), fileLimit)
	}
	from, to, err := Append(room, []byte("next\n"), 0o600)
	if err != nil || from != fileLimit+1 || to != fileLimit+6 {
		t.Errorf("range %d..%d %v", from, to, err)
	}
	if got := mustRead(t, room); got != torn+"\nnext\n" {
		t.Error("the append after a torn line changed more than the end")
	}
}
