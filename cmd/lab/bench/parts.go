package bench

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/blobs"
	"lethe/chat"
	"lethe/compactor/recall"
	"lethe/life"
	"lethe/life/event"
)

// recall lets originals fade that nobody has said, and measures the index of them, and lines while it is there.
func (b *bench) recall() error {
	name, err := b.bootOne()
	if err != nil {
		return err
	}
	n := 20_000
	if len(b.Only) == 1 {
		n = 100_000
	}
	b.Notes = append(b.Notes, fmt.Sprintf("The index is of %d originals; 100000 with --only recall alone.", n))
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 3, 400_000) // a few words are frequent, and most are rare
	words := func(n int) string {
		var text strings.Builder
		for range n {
			fmt.Fprintf(&text, "w%x ", z.Uint64())
		}
		return text.String()
	}
	for _, c := range b.programs {
		dir := filepath.Join(c.home, "names", name)
		path, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return err
		}
		self := filepath.Base(path)
		if err := c.fade(name, self, n, words); err != nil {
			return err
		}
		if c != b.lethe {
			continue
		}
		if err := b.search(dir, self, n, words); err != nil {
			return err
		}
	}
	return b.say("recalling", name, b.programs)
}

// fade lets n originals of words fade from an identity that does not run.
func (c *column) fade(name, self string, n int, words func(int) string) error {
	log, epoch, err := c.log(name)
	if err != nil {
		return err
	}
	now := time.Now()
	var files errgroup.Group
	files.SetLimit(runtime.NumCPU())
	var lines []life.Event
	for i := range n {
		body := fmt.Sprintf("◆ e%d inbound room=dev\n[USER:ada %s] %s\n", i+1, now.UTC().Format(time.RFC3339), words(150))
		data := blobs.Encode(blobs.Meta{At: now, Gist: "of " + words(3), Life: self}, []byte(body))
		hash := blobs.Sum(data).String()
		files.Go(func() error { return os.WriteFile(filepath.Join(c.shard(hash), hash[3:]), data, 0o400) })
		fade := event.Fade{Entries: event.Entries{From: i + 1, To: i + 1}, To: "gist", Relevance: 4}
		lines = append(lines, event.Line(now, fade, blobs.Ref{Hash: hash[:16], Gist: "of it"}))
		if len(lines) == 200 {
			err = log.Append(append(lines, epoch)...)
			lines = nil
		}
		if err != nil {
			break
		}
	}
	written, closed := files.Wait(), log.Close()
	for _, err := range []error{err, written, closed} {
		if err != nil {
			return err
		}
	}
	return nil
}

// search makes the index of n originals, and asks it.
func (b *bench) search(dir, self string, n int, words func(int) string) error {
	began := time.Now()
	own := func(b blobs.Blob) bool { return b.Meta.Life == self }
	x := recall.Open(filepath.Join(dir, "recall.db"), own, slog.New(slog.DiscardHandler))
	store, err := blobs.Open(filepath.Join(b.lethe.home, "blobs"))
	if err != nil {
		return err
	}
	added, err := x.Sync(b.ctx, store, filepath.Join(dir, "LIFE.md"))
	if err != nil {
		return err
	}
	if added != n {
		return fmt.Errorf("the index has %d originals of %d", added, n)
	}
	b.note("index made", b.lethe, time.Since(began).Seconds()*1e6/float64(n))
	for range 200 {
		began := time.Now()
		query := recall.Query{Text: "what about " + words(6), Limit: 10, Now: began}
		if _, err := x.Search(b.ctx, store, query); err != nil {
			return err
		}
		b.note("search", b.lethe, ms(time.Since(began)))
	}
	files, err := filepath.Glob(filepath.Join(dir, "recall.db*"))
	if err != nil {
		return err
	}
	size := 0.0
	for _, file := range files {
		fi, err := os.Stat(file)
		if err != nil {
			return err
		}
		size += float64(fi.Size())
	}
	b.note("index size", b.lethe, size/float64(n))
	return nil
}

func (b *bench) parts() error {
	if err := b.puts(); err != nil {
		return err
	}
	text, dir := []byte(strings.Repeat("x", 4096)), b.lethe.shard("000")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	w := chat.NewWatcher(0, nil)
	changed, cancel := w.Subscribe(chat.Scope{Dir: dir, Names: []string{"log"}})
	defer cancel()
	go func() { _ = w.Run(b.ctx) }() // ends with ctx
	if err := b.pause(100 * time.Millisecond); err != nil {
		return err
	}
	steps := map[string]func(i int) error{
		"append": func(int) error { return store(log, text) },
		"blob":   func(i int) error { return blob(b.lethe.shard(fmt.Sprintf("%03x", i)), "raw", text) },
		"event": func(int) error {
			for len(changed) > 0 {
				<-changed
			}
			_, err := log.Write(line)
			<-changed
			return err
		},
	}
	for i := range 100 {
		for row, step := range steps {
			began := time.Now()
			if err := step(i); err != nil {
				return err
			}
			b.note(row, b.six, ms(time.Since(began)))
		}
	}
	for _, c := range b.programs {
		fi, err := os.Stat(c.exe)
		if err != nil {
			return err
		}
		b.note("binary", c, float64(fi.Size())/1e6)
	}
	return nil
}

// puts compares a blob store with a loop that writes the same files and does no more than it must, in small batches
// in turn.
func (b *bench) puts() error {
	const size, batches = 32, 40
	s, err := blobs.Open(filepath.Join(b.lethe.home, "blobs"))
	if err != nil {
		return err
	}
	meta, n := blobs.Meta{At: time.Now()}, 0
	both := [2]func(text []byte) error{func(text []byte) error {
		data := blobs.Encode(meta, text)
		hash := blobs.Sum(data).String()
		return blob(b.lethe.shard(hash), "raw-"+hash, data)
	}, func(text []byte) error {
		_, err := s.Put(meta, text)
		return err
	}}
	if _, err := s.Put(meta, nil); err != nil { // the first lists the directories
		return err
	}
	for _, writers := range []int{1, 16} {
		var took [2]time.Duration
		for i := range 2 * batches {
			which := (i + i/2) % 2 // each goes first as often as the other
			began, all := time.Now(), errgroup.Group{}
			all.SetLimit(writers)
			for range size {
				n++
				text := fmt.Appendf(nil, "%4000d", n)
				all.Go(func() error { return both[which](text) })
			}
			if err := all.Wait(); err != nil {
				return err
			}
			if took[which] = time.Since(began); i%2 == 1 {
				b.note(fmt.Sprint("puts ", writers), b.lethe, 100*float64(took[0])/float64(took[1]))
			}
		}
	}
	return nil
}
