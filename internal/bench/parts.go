package bench

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/blobs"
	"lethe/chat"
	"lethe/life"
	"lethe/life/event"
	"lethe/recall"
)

// recall lets originals fade that nobody has said, and measures the index of them, and lines while it is there.
func (b *bench) recall() {
	b.homes(1)
	n, now := 20_000, time.Now()
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
	for _, c := range b.columns[:len(b.columns)-1] {
		log, epoch := c.log()
		self := filepath.Base(must(filepath.EvalSymlinks(filepath.Join(c.home, "names", nameOf(0)))))
		shards := must(os.ReadDir(filepath.Join(c.home, "blobs")))
		digits, lines := len(shards[0].Name()), []life.Event(nil)
		for i := range n {
			body := fmt.Sprintf("◆ e%d inbound room=dev\n[USER:ada %s] %s\n", i+1, now.UTC().Format(time.RFC3339), words(150))
			data := blobs.Encode(blobs.Meta{At: now, Gist: "of " + words(3), Life: self}, []byte(body))
			h := blobs.Sum(data)
			shard := filepath.Join(c.home, "blobs", h.String()[:digits])
			check(errors.Join(os.MkdirAll(shard, 0o700), os.WriteFile(filepath.Join(shard, h.String()[digits:]), data, 0o400)))
			fade := event.Fade{Entries: event.Entries{From: i + 1, To: i + 1}, To: "gist", Relevance: 4}
			if lines = append(lines, event.Line(now, fade, blobs.Ref{Hash: h.String()[:16], Gist: "of it"})); len(lines) == 200 {
				check(log.Append(append(lines, epoch)...))
				lines = nil
			}
		}
		check(log.Close())
		if c == b.lethe {
			b.search(c, self, n, words)
		}
	}
	b.say("recalling", 150, b.columns[:len(b.columns)-1])
}

// search makes the index of n originals, and asks it.
func (b *bench) search(c *column, self string, n int, words func(int) string) {
	dir, began := filepath.Join(c.home, "names", nameOf(0)), time.Now()
	x := recall.Open(filepath.Join(dir, "recall.db"), func(b blobs.Blob) bool { return b.Meta.Life == self }, slog.New(slog.DiscardHandler))
	store := must(blobs.Open(filepath.Join(c.home, "blobs")))
	if added := must(x.Sync(b.ctx, store, filepath.Join(dir, "LIFE.md"))); added != n {
		check(fmt.Errorf("the index has %d originals of %d", added, n))
	}
	b.set("index made", c, time.Since(began).Seconds()*1e6/float64(n))
	var took []time.Duration
	for range 200 {
		began := time.Now()
		must(x.Search(b.ctx, store, recall.Query{Text: "what about " + words(6)}))
		took = append(took, time.Since(began))
	}
	b.set("search", c, quantile(took, 0.5))
	size := 0.0
	for _, file := range must(filepath.Glob(filepath.Join(dir, "recall.db*"))) {
		size += float64(must(os.Stat(file)).Size())
	}
	b.set("index size", c, size/float64(n))
}

func (b *bench) parts() {
	text, dir := []byte(strings.Repeat("x", 4096)), filepath.Join(b.dir, "parts")
	for i := range 256 {
		check(os.MkdirAll(filepath.Join(dir, "raw", fmt.Sprintf("%02x", i)), 0o700))
	}
	shards(filepath.Join(dir, "blobs"))
	s := must(blobs.Open(filepath.Join(dir, "blobs")))
	put := func(i int) error {
		_, err := s.Put(blobs.Meta{At: time.Now()}, fmt.Append(nil, i, string(text)))
		return err
	}
	raw := func(i int) error {
		return blob(filepath.Join(dir, "raw", fmt.Sprintf("%02x", i%256)), fmt.Sprint(i), text)
	}
	for _, writers := range []int{1, 16} {
		var took [2]time.Duration
		for round := range 6 {
			for k, write := range []func(int) error{raw, put} {
				began := time.Now()
				var all errgroup.Group
				all.SetLimit(writers)
				for i := range 300 {
					all.Go(func() error { return write(1e6*writers + 1000*round + i) })
				}
				check(all.Wait())
				if round > 0 { // the first makes the directories
					took[k] += time.Since(began)
				}
			}
		}
		b.set(fmt.Sprint("puts ", writers), b.lethe, 100*float64(took[0])/float64(took[1]))
	}
	log := must(os.Create(filepath.Join(dir, "log")))
	defer log.Close()
	w := chat.NewWatcher(0, nil)
	changed, cancel := w.Subscribe(chat.Scope{Dir: dir, Names: []string{"log"}})
	defer cancel()
	go func() { _ = w.Run(b.ctx) }() // ends with ctx
	b.pause(100 * time.Millisecond)
	var took [3][]time.Duration
	for i := range 100 {
		for k, step := range []func() error{
			func() error { return store(log, text) },
			func() error { return raw(1e8 + i) },
			func() error {
				for len(changed) > 0 {
					<-changed
				}
				_, err := log.Write(line)
				<-changed
				return err
			},
		} {
			began := time.Now()
			check(step())
			took[k] = append(took[k], time.Since(began))
		}
	}
	for k, row := range []string{"append", "blob", "event"} {
		b.set(row, b.six, quantile(took[k], 0.5))
	}
	for _, c := range b.columns[:len(b.columns)-1] {
		b.set("binary", c, float64(must(os.Stat(c.exe)).Size())/1e6)
	}
}
