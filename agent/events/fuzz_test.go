package events_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/agent/events"
	"lethe/internal/test/lethetest"
	"lethe/life"
)

// A life from another home may have any line: what clients are told of it is whole, or it is an error.
func FuzzStream(f *testing.F) {
	store, logs := recorded(f)
	var lived []life.Event
	lethetest.Must(f, life.Scan(logs[0].Path, func(e life.Event, _ int64) error {
		if len(lived) < 60 {
			lived = append(lived, e)
		}
		return nil
	}))
	for _, line := range strings.Split(strings.TrimSpace(lethetest.Blocks(f, "life.md", "life")[0]), "\n") {
		_, text, _ := strings.Cut(line, "] ")
		f.Add(text[:strings.LastIndex(text, " #")], "")
	}
	for _, text := range []string{
		"reply e999 in=-1 out=99999999999999999999", "call e1.1 SAY args=[", "call e1.9999999999 BASH", "result e1.1 status=ok",
		"fade e9..e1 to=card", "fade e1..e9223372036854775807 to=gist", "epoch 0 why=fork", "posted k1 room=dev at=9..0",
		"inbound e1 room=dev at=-1..9 images=x", "moved custody=-1",
	} {
		f.Add(text, "0.1")
	}
	path := filepath.Join(f.TempDir(), "LIFE.md")
	f.Fuzz(func(t *testing.T, text, after string) {
		e, err := life.ParseLine("[2027-11-20T12:57:16.123456Z] " + text + " #000000000000")
		if err != nil {
			return
		}
		lethetest.Must(t, os.RemoveAll(path))
		log, err := life.Create(path)
		lethetest.Must(t, err)
		defer log.Close()
		lethetest.Must(t, log.Append(lived...))
		if log.Append(e) != nil {
			return
		}
		for _, id := range []string{"", after} {
			stream, err := events.Open(store, events.Log{Path: path, Name: "ada"}, id)
			if err != nil {
				continue
			}
			for told, err := range stream.All() {
				if err != nil {
					break
				}
				_, err := json.Marshal(told)
				if unsupported := errors.As(err, new(*json.UnsupportedValueError)); err != nil && !unsupported {
					t.Fatalf("%q is told as %+v: %v", text, told, err)
				}
				told.Words()
				told.Lead()
				told.Brief()
				told.Originals()
				told.LetGo()
				told.Where()
			}
			lethetest.Must(t, stream.Close())
		}
	})
}
