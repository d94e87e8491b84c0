package bench

import (
	"errors"
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
	"lethe/internal/must"
	"lethe/life"
	"lethe/life/event"
)

// recall lets originals fade that nobody has said, and measures the index of them, and lines while it is there.
func (b *bench) recall() {
	name, n, now := b.boot(1)[0], 20_000, time.Now()
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
		log, epoch := c.log(name)
		self, lines := filepath.Base(must.Get(filepath.EvalSymlinks(filepath.Join(c.home, "names", name)))), []life.Event(nil)
		var files errgroup.Group
		files.SetLimit(runtime.NumCPU())
		for i := range n {
			body := fmt.Sprintf("◆ e%d inbound room=dev\n[USER:ada %s] %s\n", i+1, now.UTC().Format(time.RFC3339), words(150))
			data := blobs.Encode(blobs.Meta{At: now, Gist: "of " + words(3), Life: self}, []byte(body))
			hash := blobs.Sum(data).String()
			files.Go(func() error { return os.WriteFile(filepath.Join(c.shard(hash), hash[3:]), data, 0o400) })
			fade := event.Fade{Entries: event.Entries{From: i + 1, To: i + 1}, To: "gist", Relevance: 4}
			if lines = append(lines, event.Line(now, fade, blobs.Ref{Hash: hash[:16], Gist: "of it"})); len(lines) == 200 {
				must.Do(log.Append(append(lines, epoch)...))
				lines = nil
			}
		}
		must.Do(errors.Join(files.Wait(), log.Close()))
		if c == b.lethe {
			b.search(filepath.Join(c.home, "names", name), self, n, words)
		}
	}
	b.say("recalling", name, b.programs)
}

// search makes the index of n originals, and asks it.
func (b *bench) search(dir, self string, n int, words func(int) string) {
	began := time.Now()
	x := recall.Open(filepath.Join(dir, "recall.db"), func(b blobs.Blob) bool { return b.Meta.Life == self }, slog.New(slog.DiscardHandler))
	store := must.Get(blobs.Open(filepath.Join(b.lethe.home, "blobs")))
	if added := must.Get(x.Sync(b.ctx, store, filepath.Join(dir, "LIFE.md"))); added != n {
		must.Do(fmt.Errorf("the index has %d originals of %d", added, n))
	}
	b.note("index made", b.lethe, time.Since(began).Seconds()*1e6/float64(n))
	for range 200 {
		began := time.Now()
		must.Get(x.Search(b.ctx, store, recall.Query{Text: "what about " + words(6), Limit: 10, Now: time.Now()}))
		b.note("search", b.lethe, ms(time.Since(began)))
	}
	size := 0.0
	for _, file := range must.Get(filepath.Glob(filepath.Join(dir, "recall.db*"))) {
		size += float64(must.Get(os.Stat(file)).Size())
	}
	b.note("index size", b.lethe, size/float64(n))
}

func (b *bench) parts() {
	b.puts()
	text, dir := []byte(strings.Repeat("x", 4096)), b.lethe.shard("000")
	log := must.Get(os.Create(filepath.Join(dir, "log")))
	defer log.Close()
	w := chat.NewWatcher(0, nil)
	changed, cancel := w.Subscribe(chat.Scope{Dir: dir, Names: []string{"log"}})
	defer cancel()
	go func() { _ = w.Run(b.ctx) }() // ends with ctx
	b.pause(100 * time.Millisecond)
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
			must.Do(step(i))
			b.note(row, b.six, ms(time.Since(began)))
		}
	}
	for _, c := range b.programs {
		b.note("binary", c, float64(must.Get(os.Stat(c.exe)).Size())/1e6)
	}
}

// puts compares a blob store with a loop that writes the same files and does no more than it must, in small batches
// in turn.
func (b *bench) puts() {
	const size, batches = 32, 40
	s, meta, n := must.Get(blobs.Open(filepath.Join(b.lethe.home, "blobs"))), blobs.Meta{At: time.Now()}, 0
	both := [2]func(text []byte) error{func(text []byte) error {
		data := blobs.Encode(meta, text)
		hash := blobs.Sum(data).String()
		return blob(b.lethe.shard(hash), "raw-"+hash, data)
	}, func(text []byte) error {
		_, err := s.Put(meta, text)
		return err
	}}
	must.Get(s.Put(meta, nil)) // the first lists the directories
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
			must.Do(all.Wait())
			if took[which] = time.Since(began); i%2 == 1 {
				b.note(fmt.Sprint("puts ", writers), b.lethe, 100*float64(took[0])/float64(took[1]))
			}
		}
	}
}
