package events_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/events"
	"lethe/internal/lethetest"
)

// recorded unpacks the home of two lives that real identities have led, and returns their logs.
func recorded(t testing.TB) (*blobs.Store, []events.Log) {
	t.Helper()
	home := t.TempDir()
	f, err := os.Open("../agent/testdata/november/home.tar.gz")
	lethetest.Must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	lethetest.Must(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		lethetest.Must(t, err)
		if h.Typeflag == tar.TypeReg {
			path := filepath.Join(home, h.Name)
			lethetest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			data, err := io.ReadAll(r)
			lethetest.Must(t, errors.Join(err, os.WriteFile(path, data, 0o600)))
		}
	}
	dirs, _ := filepath.Glob(filepath.Join(home, "home/agents/*/LIFE.md"))
	store, err := blobs.Open(filepath.Join(home, "home/blobs"))
	lethetest.Must(t, err)
	var logs []events.Log
	for _, path := range dirs {
		logs = append(logs, events.Log{Path: path, Name: "ada"})
	}
	return store, logs
}

// read returns the events behind an id, at most so many.
func read(t testing.TB, store *blobs.Store, log events.Log, after string, most int) (out []events.Event) {
	t.Helper()
	s, err := events.Open(store, log, after)
	lethetest.Must(t, err)
	defer s.Close()
	for len(out) < most {
		e, err := s.Next()
		if err == io.EOF {
			break
		}
		lethetest.Must(t, err)
		out = append(out, e)
	}
	return out
}

// What is read from any id on is what follows it in the whole: the order of ids is that of the log.
func TestResume(t *testing.T) {
	store, logs := recorded(t)
	for _, log := range logs {
		resumes(t, store, log)
	}
}

func resumes(t *testing.T, store *blobs.Store, log events.Log) []events.Event {
	t.Helper()
	all := read(t, store, log, "", 1<<20)
	for i, e := range all {
		rest := all[i+1:]
		most := lethetest.Sample(3, 6, len(rest))
		if got := read(t, store, log, e.ID, most); len(got)+len(rest) > 0 && !reflect.DeepEqual(got, rest[:min(len(rest), most)]) {
			t.Fatalf("after %s: %+v\nwant %+v", e.ID, got, rest)
		}
	}
	end, err := events.End(log.Path)
	lethetest.Must(t, err)
	if last := all[len(all)-1].ID; end != last && len(read(t, store, log, end, 1)) > 0 {
		t.Errorf("the end is %s, the last event's id %s", end, last)
	}
	return all
}

// A log is read while it is written: whatever part of it is there, what is told is the beginning
// of the whole, and a line that is not whole waits.
func TestTornEnd(t *testing.T) {
	store, logs := recorded(t)
	for _, log := range logs {
		all := read(t, store, log, "", 1<<20)
		data, err := os.ReadFile(log.Path)
		lethetest.Must(t, err)
		growing := events.Log{Path: filepath.Join(t.TempDir(), "LIFE.md"), Name: log.Name}
		lethetest.Must(t, os.WriteFile(growing.Path, nil, 0o600))
		s, err := events.Open(store, growing, "")
		lethetest.Must(t, err)
		defer s.Close()
		f, err := os.OpenFile(growing.Path, os.O_WRONLY|os.O_APPEND, 0)
		lethetest.Must(t, err)
		defer f.Close()
		var got []events.Event
		for len(data) > 0 {
			n := min(len(data), 97)
			_, err := f.Write(data[:n])
			lethetest.Must(t, err)
			for data = data[n:]; ; {
				e, err := s.Next()
				if err == io.EOF {
					break
				}
				lethetest.Must(t, err)
				got = append(got, e)
			}
		}
		if !reflect.DeepEqual(got, all) {
			t.Errorf("%d events while it grew, %d of the whole", len(got), len(all))
		}
		lethetest.Must(t, f.Truncate(500))
		if _, err := s.Next(); !errors.Is(err, events.ErrGone) {
			t.Errorf("behind a log that was cut: %v", err)
		}
	}
}

// What was written between Open and Follow is told at once, though nothing changes after that.
func TestFollow(t *testing.T) {
	store, logs := recorded(t)
	data, err := os.ReadFile(logs[0].Path)
	lethetest.Must(t, err)
	log := events.Log{Path: filepath.Join(t.TempDir(), "LIFE.md"), Name: "ada"}
	half := len(data)/2 + bytes.IndexByte(data[len(data)/2:], '\n') + 1
	lethetest.Must(t, os.WriteFile(log.Path, data[:half], 0o600))
	s, err := events.Open(store, log, strconv.Itoa(half))
	lethetest.Must(t, err)
	defer s.Close()
	f, err := os.OpenFile(log.Path, os.O_WRONLY|os.O_APPEND, 0)
	lethetest.Must(t, err)
	defer f.Close()
	_, err = f.Write(data[half:])
	lethetest.Must(t, err)
	enough := errors.New("enough")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Follow(ctx, chat.NewWatcher(0, nil), func(events.Event) error { return enough }); err != enough {
		t.Errorf("Follow: %v", err)
	}
}

// What is no place of the log is refused, with one clear error.
func TestAfter(t *testing.T) {
	store, logs := recorded(t)
	first := read(t, store, logs[0], "", 1)[0].ID
	for after, want := range map[string]error{
		"x": events.ErrAfter, "-1": events.ErrAfter, "1.": events.ErrAfter, first + ".0": events.ErrAfter, "0" + first: events.ErrAfter, " " + first: events.ErrAfter,
		"5": events.ErrGone, first + ".9": events.ErrGone, "99999999": events.ErrGone, "9999999999999999999": events.ErrAfter,
	} {
		if _, err := events.Open(store, logs[0], after); !errors.Is(err, want) {
			t.Errorf("after %q: %v", after, err)
		}
	}
	// Another file under the name is another log.
	s, err := events.Open(store, logs[0], first)
	lethetest.Must(t, err)
	defer s.Close()
	for err == nil {
		_, err = s.Next()
	}
	data, _ := os.ReadFile(logs[0].Path)
	lethetest.Must(t, errors.Join(os.Rename(logs[0].Path, logs[0].Path+".old"), os.WriteFile(logs[0].Path, data, 0o600)))
	if _, err := s.Next(); !errors.Is(err, events.ErrGone) {
		t.Errorf("behind a log that was replaced: %v", err)
	}
}
