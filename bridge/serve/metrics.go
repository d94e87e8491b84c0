package serve

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"lethe/agent"
	"lethe/bridge"
	"lethe/bridge/serve/backend"
	"lethe/internal/durable"
	"lethe/internal/status"
	"lethe/life"
	"lethe/mind"
	"lethe/report"
)

// samples are all that /metrics tells: by name, what it says, and the labels. docs/serve.md lists them.
var samples = map[string][]string{
	"agent_up":             {"Whether a process runs the identity.", "agent", "state"},
	"turns_total":          {"Turns that have ended.", "agent"},
	"tokens_total":         {"Tokens of requests that the provider's cache had (cached) or not (input), and of answers (output).", "agent", "kind"},
	"cost_dollars_total":   {"What the model was paid.", "agent"},
	"compactions_total":    {"How often older context has faded.", "agent"},
	"debts":                {"What the log says is still to be done: lines to post, results of calls, an answer.", "agent", "kind"},
	"question_age_seconds": {"Age of the oldest question that people have not answered.", "agent"},
	"bridge_healthy":       {"Whether nothing of a bridge waits for a person to look.", "bridge", "state"},
	"bridge_waiting_lines": {"Lines that wait to go out to the other side, or in to their rooms.", "bridge", "direction"},
	"bridge_late_seconds":  {"Since when errors hold up a line of a bridge.", "bridge"},
	"sync_seconds":         {"How long a small file took to be durable in the home, at this scrape."},
	"unreadable":           {"How much could not be read or written at this scrape."},
}

// metrics adds GET /metrics, for Prometheus: its text format, which is plainer than its client library
// is large.
func metrics(mux *http.ServeMux, b *backend.Backend) {
	c := &collector{home: b.Home, forgot: map[string]*forgetting{}}
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		io.WriteString(w, c.collect().String())
	})
}

// collector reads the files of a home when it is asked. Nothing is counted in between.
type collector struct {
	home report.Home

	mu     sync.Mutex
	forgot map[string]*forgetting // by identity
}

// forgetting is how often LIFE tells of a compaction, up to a mark, so that a log is read once.
type forgetting struct {
	to    life.Mark
	fades bool // the append at the mark
	count int
}

func (c *collector) collect() scrape {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := scrape{time.Now(), map[string][]string{}}
	unread := 0
	failed := func(err error) bool {
		if err != nil {
			unread++
		}
		return err != nil
	}
	all, err := c.home.List()
	failed(err)
	for _, id := range all {
		live, up := report.Live(id)
		if !up {
			live.State = status.Stopped
		}
		s.send("agent_up", yes(up), id.Name, live.State)
		if m, err := agent.Fold(id, c.home.Store); !failed(err) {
			s.mind(id, m)
		}
		if n, err := c.compactions(id); !failed(err) {
			s.send("compactions_total", float64(n), id.Name)
		}
	}
	bridges, err := bridge.ReadHealth(c.home.Dir)
	failed(err)
	for _, h := range bridges {
		s.send("bridge_healthy", yes(h.Healthy()), h.Name, string(h.State))
		s.send("bridge_waiting_lines", float64(h.In), h.Name, "in")
		s.send("bridge_waiting_lines", float64(h.Out), h.Name, "out")
		s.age("bridge_late_seconds", h.Late, h.Name)
	}
	began := time.Now()
	if !failed(durable.WriteFile(filepath.Join(dir(c.home.Dir), "sync-test"), []byte("x"), 0o600)) {
		s.send("sync_seconds", time.Since(began).Seconds())
	}
	s.send("unreadable", float64(unread))
	return s
}

// compactions counts those of an identity, from where it stopped the last time.
func (c *collector) compactions(id agent.Identity) (int, error) {
	f := c.forgot[id.Self]
	if f == nil {
		f = &forgetting{}
		c.forgot[id.Self] = f
	}
	count := func(e life.Event, follows bool) error {
		if f.fades = follows && f.fades || e.Kind == "fade"; f.fades && e.Kind == "epoch" {
			f.count++
		}
		return nil
	}
	err := life.ReadOn(id.LIFE(), &f.to, count)
	if errors.Is(err, life.ErrOtherLog) { // it was put back from a copy
		*f = forgetting{}
		err = life.ReadOn(id.LIFE(), &f.to, count)
	}
	return f.count, err
}

type scrape struct {
	now   time.Time
	lines map[string][]string // by sample
}

// mind tells what follows from the log of an identity.
func (s scrape) mind(id agent.Identity, m *mind.State) {
	u, owed := m.Usage, m.Owed()
	s.send("turns_total", float64(m.Turn), id.Name)
	s.send("tokens_total", float64(u.Input-u.Cached), id.Name, "input")
	s.send("tokens_total", float64(u.Cached), id.Name, "cached")
	s.send("tokens_total", float64(u.Output), id.Name, "output")
	s.send("cost_dollars_total", u.USD, id.Name)
	s.send("debts", float64(len(owed.Posts)), id.Name, "post")
	s.send("debts", float64(len(owed.Calls)), id.Name, "result")
	s.send("debts", yes(owed.Answer), id.Name, "answer")
	var oldest time.Time
	if len(m.Questions) > 0 {
		oldest = m.Questions[0].Asked
	}
	s.age("question_age_seconds", oldest, id.Name)
}

// age sends how long something has lasted; 0 when there is nothing.
func (s scrape) age(name string, since time.Time, labels ...string) {
	age := time.Duration(0)
	if !since.IsZero() {
		age = max(0, s.now.Sub(since))
	}
	s.send(name, age.Seconds(), labels...)
}

// labelText is how the value of a label is written.
var labelText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func (s scrape) send(name string, v float64, labels ...string) {
	var pairs []string
	for i, label := range samples[name][1:] {
		pairs = append(pairs, label+`="`+labelText.Replace(labels[i])+`"`)
	}
	of := ""
	if pairs != nil {
		of = "{" + strings.Join(pairs, ",") + "}"
	}
	s.lines[name] = append(s.lines[name], fmt.Sprintf("lethe_%s%s %v\n", name, of, v))
}

// String is the scrape in Prometheus's text format.
func (s scrape) String() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.lines)) {
		kind := "gauge"
		if strings.HasSuffix(name, "_total") {
			kind = "counter"
		}
		fmt.Fprintf(&text, "# HELP lethe_%s %s\n# TYPE lethe_%[1]s %[3]s\n%[4]s", name, samples[name][0], kind, strings.Join(s.lines[name], ""))
	}
	return text.String()
}

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
