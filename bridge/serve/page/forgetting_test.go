package page

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/bridge/report/history"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

var dawn = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// long writes a life of so many epochs, with as many turns in each as given, two lines a turn.
func long(t testing.TB, count, turns int) (report.Home, home.Identity) {
	t.Helper()
	place, err := home.Open(t.TempDir())
	lethetest.Must(t, err)
	store, err := blobs.Open(place.Blobs())
	lethetest.Must(t, err)
	id, err := home.Boot(place, store, home.BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	log, err := life.Open(id.LIFE())
	lethetest.Must(t, err)
	defer log.Close()
	at, s := dawn, mind.New()
	s.Stable = mind.Stable{System: strings.Repeat("soul ", 2000), Past: strings.Repeat("past ", 20_000), Tools: strings.Repeat("tool ", 1000)}
	put := func(gist, text string) mind.Ref {
		h, err := store.Put(blobs.Meta{At: at, Gist: gist}, []byte(text))
		lethetest.Must(t, err)
		return mind.Ref{Hash: h, Short: store.Short(h), Gist: gist}
	}
	ref := func(r mind.Ref) blobs.Ref { return blobs.Ref{Hash: r.Short, Gist: r.Gist} }
	turn := 0
	for k := range count {
		var lines []life.Event
		if k > 0 {
			gone := len(s.Live) - turns
			f := mind.Range{From: s.Live[0].N, To: s.Live[gone-1].N, Level: mind.Summary, Relevance: 3,
				Original: put(fmt.Sprintf("part %d <b>", k), "words"), Summary: new(put("in short", "less")), Text: "less", Epoch: k}
			s.Faded, s.Live = append(s.Faded, f), s.Live[gone:]
			lines = append(lines, event.Line(at, event.Fade{Entries: event.Entries{From: f.From, To: f.To}, To: f.Level,
				Relevance: 3}, ref(f.Original), ref(*f.Summary)))
			if n := len(s.Faded); n > 3 {
				s.Faded[n-4].Level, s.Faded[n-4].Text = mind.Gist, ""
			}
			if n := len(s.Faded); n > 150 {
				s.Faded = append([]mind.Range{{From: s.Faded[0].From, To: s.Faded[31].To, Level: mind.Card, Tier: 1, Count: 32,
					Original: put("a card", "")}}, s.Faded[32:]...)
			}
		}
		s.Epoch = k
		body, err := json.Marshal(s)
		lethetest.Must(t, err)
		lines = append(lines, event.Line(at, event.Epoch{K: k, Why: "full"}, ref(put(fmt.Sprint("epoch ", k), string(body)))))
		for i := range turns {
			at, turn = at.Add(time.Minute), turn+1
			if i == 1 && k > 1 {
				lines = append(lines, event.Line(at, event.Result{ID: "e9.1", Tool: "UNCOMPACT", Status: "ok",
					Opened: s.Faded[0].Original.Hash.String()}, ref(s.Faded[0].Original)))
			}
			lines = append(lines, event.Line(at, event.Inbound{N: s.Next, Passage: event.Passage{Room: "dev"}, Lines: 1},
				blobs.Ref{Hash: "81c68b6ce806a784", Gist: "dev: hello"}),
				event.Line(at, event.Reply{N: s.Next + 1, Turn: turn, Model: "m",
					Tokens: event.Tokens{In: int64(30_000 + 400*i), Cached: 29_000, Out: 100, USD: 0.01}, Finish: "stop"},
					blobs.Ref{Hash: "4d143dd228ecb196", Gist: "turn 1: hello"}))
			for range 2 {
				s.Live = append(s.Live, &mind.Entry{N: s.Next})
				s.Next++
			}
		}
		s.Turn, s.Usage = turn, mind.Usage{LastWeight: 120_000, LastInput: 30_000}
		lethetest.Must(t, log.Append(lines...))
	}
	return report.Home{Home: place, Store: store, Zone: time.UTC}, id
}

// A window of epochs has what each cost and let go, and its drawing a band for each thing that faded; the older ones
// go on where it begins.
func TestEpochs(t *testing.T) {
	h, id := long(t, 12, 5)
	list, older, err := history.Epochs(h.Store, id, 0)
	if err != nil || len(list) != history.Shown || list[0].K != 4 || older == 0 {
		t.Fatalf("%d epochs, older at %d, %v", len(list), older, err)
	}
	e := list[3]
	if e.Calls != 5 || fmt.Sprintf("%.2f", e.USD) != "0.05" || e.Before != 31_700 || e.After != 30_100 || e.Last != 31_700 {
		t.Errorf("epoch 7: %+v", e)
	}
	if f := list[0].Fades[0]; f.Was != "live" {
		t.Errorf("what the first of them let go was %s", f.Was)
	}
	if f := e.Fades[0]; len(e.Fades) != 1 || f.Was != "live" || f.To != "summary" || f.Away != 1 ||
		f.Original.Gist != "part 7 <b>" || f.Replacement.Gist != "in short" {
		t.Errorf("fades %+v", e.Fades)
	}
	if r := e.Reminded[0]; len(e.Reminded) != 1 || !r.Opened || r.From != 1 || r.Gist != "part 1 <b>" {
		t.Errorf("opened %+v", e.Reminded)
	}
	d := history.Draw(list, 40_000)
	if names := fmt.Sprint(d.Labels); len(d.Labels) != 5 || d.Labels[0].Name != "prompt" || d.Labels[3].Name != "live" ||
		d.Labels[4].Tokens != 40_000 {
		t.Errorf("labels %s", names)
	}
	if part, whole := report.Count(211.29), report.Count(950); part != "211" || whole != "950" {
		t.Errorf("counts are %s and %s", part, whole)
	}
	for i, l := range d.Labels[1:] {
		if l.Y > d.Labels[i].Y-12 {
			t.Errorf("%s stands on %s", l.Name, d.Labels[i].Name)
		}
	}
	bands := map[string]int{}
	for _, s := range d.Shapes {
		if strings.HasPrefix(s.Class, "fades ") {
			bands[s.Link]++
		}
		for _, y := range regexp.MustCompile(`[,V](-?[0-9.]+)`).FindAllStringSubmatch(s.Path, -1) {
			if v, _ := strconv.ParseFloat(y[1], 64); v < 0 || v > float64(d.Height) {
				t.Errorf("%s leaves the drawing: %s", s.Class, s.Path)
			}
		}
	}
	for _, e := range list[1:] {
		if link := fmt.Sprintf("k%d-f0", e.K); bands[link] != 1 {
			t.Errorf("%d bands lead to %s", bands[link], link)
		}
	}
	if len(bands) != len(list)-1 || len(d.Marks) != len(list) {
		t.Errorf("bands %v, %d marks", bands, len(d.Marks))
	}
	before, more, err := history.Epochs(h.Store, id, older)
	if err != nil || len(before) != 4 || before[3].K != 3 || before[0].Cut || more != 0 {
		t.Errorf("%d older epochs, %d, %v", len(before), more, err)
	}
	if _, _, err := history.Epochs(h.Store, id, older-5); err == nil {
		t.Error("a place within a line is taken")
	}
}

// cpu has a benchmark report the processor's time, which a busy machine does not stretch.
func cpu(b *testing.B, do func()) {
	used := func() time.Duration {
		var r syscall.Rusage
		lethetest.Must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	before := used()
	for b.Loop() {
		do()
	}
	b.ReportMetric(float64((used()-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// BenchmarkForgetting is the data of the view, and BenchmarkCost that of its first showing, with 100,000 lines of LIFE.
func BenchmarkForgetting(b *testing.B) {
	h, id := long(b, 400, 125)
	cpu(b, func() {
		list, _, err := history.Epochs(h.Store, id, 0)
		lethetest.Must(b, err)
		history.Draw(list, 100_000)
	})
}

func BenchmarkCost(b *testing.B) {
	_, id := long(b, 400, 125)
	cpu(b, func() {
		_, _, err := history.Days(id, time.UTC, daysShown)
		lethetest.Must(b, err)
	})
}

// Days are those of the budget, else of the zone; a half line is none.
func TestDays(t *testing.T) {
	h, err := home.Open(t.TempDir())
	lethetest.Must(t, err)
	id := home.Identity{Self: "x", Name: "ada", Dir: filepath.Join(h.Agents(), "x")}
	lethetest.Must(t, os.MkdirAll(id.Dir, 0o700))
	log, err := life.Create(id.LIFE())
	lethetest.Must(t, err)
	defer log.Close()
	used := event.Tokens{In: 100, Cached: 80, Out: 5, USD: 0.5}
	paid := used
	paid.Day = "2026-11-19"
	zone := time.FixedZone("", 13*3600)
	check := func(want ...string) {
		t.Helper()
		list, older, err := history.Days(id, zone, 3)
		lethetest.Must(t, err)
		if older {
			t.Error("there are older days")
		}
		var got []string
		for _, d := range list {
			got = append(got, fmt.Sprintf("%s %d %d %d %.1f", d.Date, d.In, d.Cached, d.Out, d.USD))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("days %q, want %q", got, want)
		}
	}
	check()
	lethetest.Must(t, log.Append(event.Line(dawn, event.Reply{N: 1, Tokens: paid}),
		event.Line(dawn, event.Note{N: 2, Why: "x"}), event.Line(dawn, event.Spent{On: "compaction", Tokens: used})))
	check("2026-11-21 100 80 5 0.5", "2026-11-19 100 80 5 0.5")
	lethetest.Must(t, log.Append(event.Line(dawn.AddDate(0, 0, 3), event.Reply{N: 3, Tokens: used})))
	half, err := os.OpenFile(id.LIFE(), os.O_WRONLY|os.O_APPEND, 0)
	lethetest.Must(t, err)
	_, _ = half.WriteString("[2026-11-20T12:00:00.000000Z] reply e4 in=9")
	lethetest.Must(t, half.Close())
	check("2026-11-24 100 80 5 0.5", "2026-11-21 100 80 5 0.5", "2026-11-19 100 80 5 0.5")
	if list, older, err := history.Days(id, zone, 2); err != nil || !older || len(list) != 2 || list[1].Date != "2026-11-21" {
		t.Errorf("of two days: %v, %v, %v", list, older, err)
	}
	lethetest.Must(t, os.Remove(id.LIFE()))
	lethetest.Write(t, id.LIFE(), "")
	check()
}

// What has faded nothing yet shows an example, and the cost of two days is a curve.
func TestExampleAndCurve(t *testing.T) {
	write := func(c content) string {
		html := &htmlPage{frame: &frame{ID: home.Identity{Name: "ada"}}}
		c.show(html)
		return html.String()
	}
	empty := &forgettingData{Counts: map[string]int{}}
	lethetest.Words(t, write(empty), "An example of three epochs")
	day := func(date string, usd float64) history.Day {
		return history.Day{Date: date, Tokens: event.Tokens{USD: usd}}
	}
	one := &costData{Days: []history.Day{day("2026-11-20", 1)}, Total: day("", 1), Most: 1}
	if strings.Contains(write(one), "<figure") {
		t.Error("one day is no curve")
	}
	two := &costData{Days: []history.Day{day("2026-11-21", 3), day("2026-11-20", 1)}, Total: day("", 4), Most: 3}
	lethetest.Words(t, write(two), `d="M0 100 L50.0 75.0 L100.0 0.0"`, "since 2026-11-20")
}
