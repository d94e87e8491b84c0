package events_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/agent/events"
	"lethe/agent/status"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
)

// What is under way is told as it grows; what a killed process has left, or somebody has written
// beside it, is not.
func TestDeltas(t *testing.T) {
	store, logs := recorded(t)
	dir := t.TempDir()
	log := events.Log{Path: filepath.Join(dir, "LIFE.md"), Name: "ada"}
	data, err := os.ReadFile(logs[1].Path)
	lethetest.Must(t, err)
	answer := strings.Index(string(data), "] reply e4 ")
	asked := strings.LastIndex(string(data[:answer]), "\n") + 1 // the model is asked
	lethetest.Must(t, os.WriteFile(log.Path, data[:asked], 0o600))
	s, err := events.Open(store, log, fmt.Sprint(asked))
	lethetest.Must(t, err)
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	watcher := chat.NewWatcher(20*time.Millisecond, nil)
	done, told := make(chan error, 2), make(chan events.Event, 100)
	tell := func(e events.Event) error {
		select {
		case told <- e:
		case <-ctx.Done(): // nobody listens to the rest
		}
		return nil
	}
	go func() { done <- watcher.Run(ctx) }()
	go func() { done <- s.Follow(ctx, watcher, tell) }()
	write := func(l status.Live) { show(dir, l) }
	expect := func(want ...string) {
		t.Helper()
		for _, want := range want {
			select {
			case e := <-told:
				if got := fmt.Sprintf("%s %s %d %s", e.Type, e.Entry, e.Offset, e.Text); got != want ||
					e.ID != "" && strings.HasSuffix(e.Type, "delta") {
					t.Fatalf("%s, want %s", got, want)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s did not come", want)
			}
		}
	}
	write(status.Live{Entry: "e4", Thinking: "hm"})
	expect("thinking.delta e4 0 hm")
	write(status.Live{Entry: "e4", Thinking: "hm…", Text: "Not"})
	expect("thinking.delta e4 2 …", "message.delta e4 0 Not")
	write(status.Live{Entry: "e4", Thinking: "hm…", Text: "Noted, “cat"})
	expect("message.delta e4 3 ed, “cat")
	write(status.Live{Entry: "e4", Text: "New"}) // it was asked again
	expect("thinking.delta e4 0 ", "message.delta e4 0 New")
	write(status.Live{Entry: "e4"}) // once more
	expect("message.delta e4 0 ")
	write(status.Live{Entry: "e4", Text: "\n ◆ \n◰"}) // as it begins when it is done, whatever follows
	expect("message.delta e4 0 ◆")
	write(status.Live{Entry: "e4", Text: "\n ◆ \n◰1 "})
	expect("message.delta e4 3  \n◱")
	write(status.Live{Entry: "e9", Text: "of another entry"})
	write(status.Live{Call: "e4.1", Output: "of no call"})
	write(status.Live{Entry: "e4", Text: "Noted"})
	expect("message.delta e4 0 Noted")
	f, err := os.OpenFile(log.Path, os.O_WRONLY|os.O_APPEND, 0)
	lethetest.Must(t, err)
	defer f.Close()
	_, err = f.Write(data[asked:]) // the answer is there
	lethetest.Must(t, err)
	expect("thinking.done e4 0 No phrase that I follow is in this, so I say something short and honest.")
	cancel()
	<-done
	<-done

	// A command was running when the process was killed.
	log = logs[0]
	end, err := events.End(log.Path)
	lethetest.Must(t, err)
	s, err = events.Open(store, log, end)
	lethetest.Must(t, err)
	defer s.Close()
	dir = filepath.Dir(log.Path)
	ctx, cancel = context.WithCancel(context.Background())
	go func() { done <- watcher.Run(ctx) }()
	go func() { done <- s.Follow(ctx, watcher, tell) }()
	for len(told) > 0 {
		<-told
	}
	write(status.Live{Call: "e5.1", Output: "one\n"})
	expect("tool.output e5.1 0 one\n")
	write(status.Live{Call: "e5.1", Output: "one\ntwo\n"})
	expect("tool.output e5.1 4 two\n")
	write(status.Live{Call: "e5.1", Output: "o\nthree", From: 6}) // the beginning is no longer shown
	expect("tool.output e5.1 8 three")
	write(status.Live{Call: "e5.1", Output: "far", From: 100})
	expect("tool.output e5.1 100 far")
	cancel()
	<-done
	<-done
}

// BenchmarkResume goes on at the end of a log of 100,000 lines, with an epoch of a real life every
// 200 of them.
func BenchmarkResume(b *testing.B) {
	store, logs := recorded(b)
	var epoch, reply life.Event
	lethetest.Must(b, life.Scan(logs[1].Path, func(e life.Event, _ int64) error {
		if e.Kind == life.Epoch {
			epoch = e
		}
		if e.Kind == "reply" {
			reply = e
		}
		return nil
	}))
	log, err := life.Open(logs[1].Path)
	lethetest.Must(b, err)
	var lines []life.Event
	for i := range 100_000 {
		line := event.Line(epoch.At, event.Spent{On: "turn", Calls: 1}, reply.Refs...)
		if i%200 == 0 {
			line = epoch
		}
		lines = append(lines, line)
	}
	for some := range slices.Chunk(lines, 10) {
		lethetest.Must(b, log.Append(some...))
	}
	lethetest.Must(b, log.Close())
	end, err := events.End(logs[1].Path)
	lethetest.Must(b, err)
	for b.Loop() {
		if got := read(b, store, logs[1], end, 1); len(got) > 0 {
			b.Fatal(got)
		}
	}
}

// show shows in dir what is under way.
func show(dir string, l status.Live) {
	v := status.NewView(dir)
	v.Live(func(now *status.Live) bool { *now = l; return true })
	v.Flush()
}
