package recall

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/life"
)

// The scale test makes a life of many originals, indexes it in a process of its
// own, and searches it in another. Its figures are in docs/internals/recall.md:
//
//	LETHE_RECALL_BLOBS=1000000 go test -run TestScale -v -timeout 2h ./recall
//
// The data are made in LETHE_RECALL_DIR, where a finished life is used again.
const (
	blobsEnv = "LETHE_RECALL_BLOBS"
	dirEnv   = "LETHE_RECALL_DIR"
	childEnv = "LETHE_RECALL_CHILD"
)

// fewBlobs is how many there are without an environment that says otherwise.
const fewBlobs = 400

func TestMain(m *testing.M) {
	switch what := os.Getenv(childEnv); what {
	case "":
		os.Exit(m.Run())
	case "index", "search":
		if err := scaleChild(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
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
	fmt.Fprintf(&b, "\n◆ e%d.1 call BASH\n{\"command\":\"cat %s\"}\n◆ e%d.1 result ok ◱hash=%016x gist=…◲\n", 3*n+2, path, 3*n+2, r.Uint64())
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
func generate(dir string, n int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	store, err := blobs.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, "LIFE.md"))
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	log := chronicle{out: out}
	at := scaleBoot
	self, err := putUnsynced(store, blobs.Meta{At: scaleBoot}, "soul")
	if err != nil {
		return err
	}
	boot := life.New(at, "boot", nil, "name", "scale")
	boot.Refs = refs(self)
	if err := log.append(boot); err != nil {
		return err
	}
	v := newVocabulary(scaleWords)
	var fades []life.Event
	for i := range n {
		at = at.Add(time.Minute)
		text, subject := original(scaleRand(i), v, i, at)
		for k := range 3 {
			if err := log.append(life.New(at, "reply", []string{fmt.Sprintf("e%d", 3*i+1+k)})); err != nil {
				return err
			}
		}
		h, err := putUnsynced(store, blobs.Meta{At: at, Gist: strings.Join(subject[:3], " "), Life: self.String()}, text)
		if err != nil {
			return err
		}
		fade := life.New(at, "fade", []string{fmt.Sprintf("e%d..e%d", 3*i+1, 3*i+3)}, "to", "gist", "rel", "4")
		fade.Refs = refs(h)
		if fades = append(fades, fade); len(fades) < 8 && i < n-1 {
			continue
		}
		epoch := life.New(at, "epoch", []string{strconv.Itoa(i/8 + 1)}, "why", "full")
		if err := log.append(append(fades, epoch)...); err != nil {
			return err
		}
		fades = nil
	}
	return out.Flush()
}

func TestScale(t *testing.T) {
	n := fewBlobs
	if s := os.Getenv(blobsEnv); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	dir := os.Getenv(dirEnv)
	if dir == "" {
		dir = t.TempDir()
	}
	if _, err := os.Stat(filepath.Join(dir, "done")); err != nil {
		if err := generate(dir, n); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "done"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, what := range []string{"index", "search"} {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), childEnv+"="+what, blobsEnv+"="+strconv.Itoa(n), dirEnv+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		var got map[string]float64
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s: %v: %s", what, err, out)
		}
		t.Logf("%s: %s", what, out)
		switch what {
		case "index":
			if int(got["originals"]) != n {
				t.Errorf("indexed %v originals, want %d", got["originals"], n)
			}
		case "search":
			if got["hit@1"] < 0.5 || got["hit@10"] < 0.8 {
				t.Errorf("found %v first and %v among ten", got["hit@1"], got["hit@10"])
			}
		}
	}
}

// scaleChild is the process that is measured.
func scaleChild(what string) error {
	dir := os.Getenv(dirEnv)
	n, err := strconv.Atoi(os.Getenv(blobsEnv))
	if err != nil {
		return err
	}
	x := Open(filepath.Join(dir, "recall.db"), scaleSelf.String(), slog.New(slog.NewTextHandler(os.Stderr, nil)))
	defer x.Close()
	store, err := blobs.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		return err
	}
	got := map[string]float64{}
	if what == "index" {
		err = scaleIndex(x, store, dir, got)
	} else {
		err = scaleSearch(x, store, n, got)
	}
	if err != nil {
		return err
	}
	got["peak_rss_mb"] = float64(peakKB()) / 1024
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err == nil {
		got["cpu_seconds"] = float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
	}
	return json.NewEncoder(os.Stdout).Encode(got)
}

func scaleIndex(x *Index, store *blobs.Store, dir string, got map[string]float64) error {
	start := time.Now()
	last := start
	added, err := x.Sync(context.Background(), store, filepath.Join(dir, "LIFE.md"), func(done, total int) {
		if time.Since(last) > 20*time.Second {
			last = time.Now()
			fmt.Fprintf(os.Stderr, "%.0f%% after %v, peak %d MB\n", 100*float64(done)/float64(total), time.Since(start).Round(time.Second), peakKB()>>10)
		}
	})
	if err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	got["originals"], got["seconds"], got["per_second"] = float64(added), took, float64(added)/took
	for _, suffix := range []string{"", "-wal"} {
		if fi, err := os.Stat(filepath.Join(dir, "recall.db"+suffix)); err == nil {
			got["index_mb"] += float64(fi.Size()) / (1 << 20)
		}
	}
	return nil
}

// scaleSearch asks for known items: some words of one original, most of them of
// its subject.
func scaleSearch(x *Index, store *blobs.Store, n int, got map[string]float64) error {
	v := newVocabulary(scaleWords)
	r := rand.New(rand.NewPCG(1, 1))
	queries := min(n/10, 1000)
	var took []time.Duration
	first, ten := 0, 0
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
		want := fmt.Sprintf("e%d ", 3*i+1)
		start := time.Now()
		hits, err := x.Search(context.Background(), store, Query{Text: strings.Join(words, " "), Now: at})
		took = append(took, time.Since(start))
		if err != nil {
			return err
		}
		for k, h := range hits {
			if fmt.Sprintf("e%d ", h.From) == want {
				ten++
				if k == 0 {
					first++
				}
			}
		}
	}
	slices.Sort(took)
	ms := func(share float64) float64 {
		return float64(took[int(share*float64(len(took)-1))].Microseconds()) / 1000
	}
	got["queries"], got["p50_ms"], got["p95_ms"], got["max_ms"] = float64(queries), ms(0.5), ms(0.95), ms(1)
	got["hit@1"], got["hit@10"] = float64(first)/float64(queries), float64(ten)/float64(queries)
	return nil
}

// peakKB is the most memory that this process has had, 0 where nobody tells.
func peakKB() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}
