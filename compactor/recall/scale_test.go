package recall

import (
	"bufio"
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// The scale test makes a life of many originals, indexes it and searches it. Its
// figures are in cmd/lab/README.md:
//
//	LETHE_RECALL_BLOBS=1000000 go test -run TestScale -v -timeout 2h ./compactor/recall
//
// The data are made in LETHE_RECALL_DIR, where a finished life is used again. LETHE_RECALL_FTS is where an index of
// SQLite's FTS5 is made to compare with.
func TestScale(t *testing.T) {
	lethetest.Unraced(t)
	n := 400
	if s := os.Getenv("LETHE_RECALL_BLOBS"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		lethetest.Must(t, err)
	}
	dir := cmp.Or(os.Getenv("LETHE_RECALL_DIR"), t.TempDir())
	done := filepath.Join(dir, "done")
	if _, err := os.Stat(done); err != nil {
		generate(t, dir, n)
		lethetest.Must(t, os.WriteFile(done, nil, 0o600))
	}
	store, err := blobs.Open(filepath.Join(dir, "blobs"))
	lethetest.Must(t, err)
	open := func() *Index {
		return Open(filepath.Join(dir, "recall.db"), (&mind.State{Self: scaleSelf.String()}).Owns, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	}
	x, start := open(), time.Now()
	added, err := x.Sync(t.Context(), store, filepath.Join(dir, "LIFE.md"))
	lethetest.Must(t, err)
	file, err := os.Stat(filepath.Join(dir, "recall.db"))
	lethetest.Must(t, err)
	used := usage()
	t.Logf("indexed %d in %v; file %d MB; processor %v, peak memory %d MB", added, time.Since(start), file.Size()>>20, used.cpu, used.peak>>10)
	x = open()
	first, ten := scaleSearch(t, x, store, n)
	if first < 0.5 || ten < 0.8 {
		t.Errorf("found %v first and %v among ten", first, ten)
	}
	after := usage()
	t.Logf("processor for searching %v, peak memory %d MB", after.cpu-used.cpu, after.peak>>10)
}

// used is what the process has used so far: processor time, and KB.
type used struct {
	cpu  time.Duration
	peak int64
}

func usage() used {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // only for the record
	return used{time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Maxrss}
}

// vocabulary is a Zipf-Mandelbrot language: word i is made of its number.
type vocabulary struct{ sums []float64 }

func newVocabulary(n int) *vocabulary {
	v := &vocabulary{make([]float64, n)}
	sum := 0.0
	for i := range v.sums {
		sum += 1 / math.Pow(float64(i)+2.7, 1.05)
		v.sums[i] = sum
	}
	return v
}

func (v *vocabulary) draw(r *rand.Rand) int {
	i, _ := slices.BinarySearch(v.sums, r.Float64()*v.sums[len(v.sums)-1])
	return i
}

var syllables = strings.Fields("ka to mi ra ne so lu pe di va gor tel min sta pro con ber al ti qu ma re fo ni sha dre vol pin gu es ta lo")

// word spells word i; frequent ones are short.
func word(i int) string {
	var b strings.Builder
	for n := i; ; n = n/len(syllables) - 1 {
		b.WriteString(syllables[n%len(syllables)])
		if n < len(syllables) {
			return b.String()
		}
	}
}

var endings = []string{"", "", "", "s", "ing", "ed"}

// original writes original n: some talk and some work about a subject, so that
// telling words come in bunches, as they do. It returns the words of the subject.
func original(r *rand.Rand, v *vocabulary, n int, at time.Time) (text string, subject []string) {
	var b strings.Builder
	for range 6 {
		subject = append(subject, word(200+int(math.Pow(r.Float64(), 2)*float64(len(v.sums)-200))))
	}
	prose := func(words int) {
		for range words {
			if r.IntN(9) == 0 {
				b.WriteString(subject[r.IntN(len(subject))])
			} else {
				b.WriteString(word(v.draw(r)))
				b.WriteString(endings[r.IntN(len(endings))])
			}
			b.WriteByte(" .,"[min(2, r.IntN(20))])
			b.WriteByte(' ')
		}
	}
	fmt.Fprintf(&b, "◆ e%d inbound room=%s ◱hash=%016x gist=…◲\n", 3*n+1, []string{"dev", "ops", "talk"}[n%3], r.Uint64())
	for i := range 1 + r.IntN(4) {
		fmt.Fprintf(&b, "[USER:%s %s] ", []string{"ada", "ben", "cleo"}[r.IntN(3)], at.Add(time.Duration(i)*time.Minute).Format(time.RFC3339))
		prose(6 + r.IntN(24))
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "◆ e%d reply ◱hash=%016x gist=…◲\n", 3*n+2, r.Uint64())
	prose(20 + r.IntN(40))
	path := fmt.Sprintf("%s/%s_%s.go", subject[0], subject[1], subject[2])
	fmt.Fprintf(&b, "\n◆ e%d.1 call BASH\n{\"command\":\"cat %s\"}\n◆ e%d.1 result ok ◱hash=%016x gist=…◲\n", 3*n+2,
		path, 3*n+2, r.Uint64())
	for range r.IntN(12) {
		fmt.Fprintf(&b, "%s:%d: ", path, r.IntN(900))
		prose(4 + r.IntN(8))
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "◆ e%d reply ◱hash=%016x gist=…◲\n", 3*n+3, r.Uint64())
	prose(10 + r.IntN(30))
	b.WriteByte('\n')
	return b.String(), subject
}

var (
	scaleBoot = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	scaleSelf = blobs.Sum(blobs.Encode(blobs.Meta{At: scaleBoot}, []byte("soul")))
)

func scaleRand(n int) *rand.Rand { return rand.New(rand.NewPCG(7, uint64(n))) }

const scaleWords = 400_000

// generate writes a life of n originals without syncing anything.
func generate(t *testing.T, dir string, n int) {
	lethetest.Must(t, os.MkdirAll(dir, 0o700))
	store, err := blobs.Open(filepath.Join(dir, "blobs"))
	lethetest.Must(t, err)
	file, err := os.Create(filepath.Join(dir, "LIFE.md"))
	lethetest.Must(t, err)
	defer file.Close()
	out := bufio.NewWriter(file)
	log := chronicle{out: out}
	put := func(m blobs.Meta, body string) blobs.Hash {
		h, err := putUnsynced(store, m, body)
		lethetest.Must(t, err)
		return h
	}
	at := scaleBoot
	self := put(blobs.Meta{At: scaleBoot}, "soul")
	lethetest.Must(t, log.append(event.Line(at, event.Boot{Name: "scale"}, refs(self)...)))
	v := newVocabulary(scaleWords)
	var fades []life.Event
	for i := range n {
		at = at.Add(time.Minute)
		text, subject := original(scaleRand(i), v, i, at)
		h := put(blobs.Meta{At: at, Gist: strings.Join(subject[:3], " "), Life: self.String()}, text)
		fade := event.Fade{Entries: event.Entries{From: 3*i + 1, To: 3*i + 3}, To: "gist", Relevance: 4}
		if fades = append(fades, event.Line(at, fade, refs(h)...)); len(fades) < 8 && i < n-1 {
			continue
		}
		epoch := event.Line(at, event.Epoch{K: i/8 + 1, Why: "full"})
		lethetest.Must(t, log.append(append(fades, epoch)...))
		fades = nil
	}
	lethetest.Must(t, out.Flush())
}

// scaleSearch asks for known items: some words of one original, most of them of
// its subject. It returns how many of them are found first, and among ten.
func scaleSearch(t *testing.T, x *Index, store *blobs.Store, n int) (first, ten float64) {
	v := newVocabulary(scaleWords)
	r := rand.New(rand.NewPCG(1, 1))
	queries := min(n/10, 1000)
	var took []time.Duration
	var asked []string
	var wanted, ranks []int
	for range queries {
		i := r.IntN(n)
		at := scaleBoot.Add(time.Duration(i+1) * time.Minute)
		text, subject := original(scaleRand(i), v, i, at)
		words := []string{"what", "about", "the"}
		for range 1 + r.IntN(3) {
			words = append(words, subject[r.IntN(len(subject))])
		}
		all := strings.Fields(text)
		for range 2 + r.IntN(4) {
			words = append(words, strings.Trim(all[r.IntN(len(all))], ".,"))
		}
		start := time.Now()
		found, err := x.Search(t.Context(), store, Query{Text: strings.Join(words, " "), Limit: 10, Now: at})
		took = append(took, time.Since(start))
		lethetest.Must(t, err)
		k := slices.IndexFunc(found.Hits, func(h Hit) bool { return h.From == 3*i+1 })
		asked, wanted, ranks = append(asked, strings.Join(words, " ")), append(wanted, i), append(ranks, k+1)
		switch {
		case k == 0:
			first++
			ten++
		case k > 0:
			ten++
		}
	}
	slices.Sort(took)
	first, ten = first/float64(queries), ten/float64(queries)
	t.Logf("a search: median %v, 95th percentile %v; first %.3f, among ten %.3f", took[queries/2], took[queries*19/20], first, ten)
	if path := os.Getenv("LETHE_RECALL_FTS"); path != "" {
		beside(t, path, n, asked, wanted, ranks)
	}
	return first, ten
}
