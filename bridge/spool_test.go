package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/bridge"
	"lethe/chat"
)

// The lines from here to the end of the file are a whole bridge, to which docs/bridges.md leads.

// spool is a directory: each file in in/ is a message to room dev, and what
// agents say there becomes a file in out/.
type spool string

var peer = bridge.Peer{Key: "spool", Room: "dev"}

func (dir spool) Run(ctx context.Context, home string) error {
	watcher := chat.NewWatcher(0, nil)
	b, err := bridge.Open(bridge.Config{Home: home, Name: "spool", Watcher: watcher})
	if err != nil {
		return err
	}
	defer b.Close()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return watcher.Run(ctx) })
	g.Go(func() error { return b.Run(ctx) })
	g.Go(func() error { return b.Deliver(ctx, peer, dir) })
	g.Go(func() error {
		for {
			if err := dir.fetch(ctx, b); err != nil {
				b.Trouble(err)
			} else {
				b.Exchanged()
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(time.Second):
			}
		}
	})
	return g.Wait()
}

func (dir spool) fetch(ctx context.Context, b *bridge.Bridge) error {
	files, err := filepath.Glob(filepath.Join(string(dir), "in", "*"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fi, err := os.Stat(file)
		if err != nil {
			return err
		}
		err = b.Accept(bridge.Message{
			ID: filepath.Base(file) + fi.ModTime().Format(time.RFC3339Nano), // this file, whoever asks again
			At: fi.ModTime(), Peer: peer.Key, Room: peer.Room, User: "spool", Text: string(text),
		})
		if err != nil {
			return err
		}
		if err := os.Remove(file); err != nil { // now the room has it
			return err
		}
	}
	return err
}

func (dir spool) Parts(_ bridge.Peer, l bridge.Line) ([]bridge.Part, error) {
	text, err := json.Marshal(l.Text)
	return []bridge.Part{{Data: text}}, err
}

func (dir spool) Send(_ context.Context, _ bridge.Peer, part bridge.Part) error {
	var text string
	if err := json.Unmarshal(part.Data, &text); err != nil {
		return fmt.Errorf("%w: %w", bridge.ErrRefused, err)
	}
	name := time.Now().UTC().Format("20060102T150405.000000000")
	return os.WriteFile(filepath.Join(string(dir), "out", name), []byte(text), 0o600)
}
