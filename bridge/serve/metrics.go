package serve

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/bridge"
	"lethe/bridge/serve/backend"
	"lethe/home"
	"lethe/internal/durable"
	"lethe/internal/status"
	"lethe/mind"
	"lethe/report"
)

// samples are all that /metrics tells: by name, what it says, and the labels. docs/serve.md lists them.
var samples = map[string][]string{
	"agent_up":    {"Whether a process runs the identity.", "agent", "state"},
	"turns_total": {"Turns that have ended.", "agent"},
	"tokens_total": {
		"Tokens of requests that the provider's cache had (cached) or not (input), and of answers (output).", "agent", "kind",
	},
	"cost_dollars_total":   {"What the model was paid.", "agent"},
	"epochs_total":         {"How often the context has begun anew, as when it faded or was edited.", "agent"},
	"debts":                {"What is still to be done: lines to post, results of calls, an answer.", "agent", "kind"},
	"question_age_seconds": {"Age of the oldest question that people have not answered.", "agent"},
	"bridge_healthy":       {"Whether nothing of a bridge waits for a person to look.", "bridge", "state"},
	"bridge_waiting_lines": {"Lines that wait to go out to the other side, or in to their rooms.", "bridge", "direction"},
	"bridge_late_seconds":  {"Since when errors hold up a line of a bridge.", "bridge"},
	"sync_seconds":         {"How long a small file took to be durable in the home, at this scrape."},
	"unreadable":           {"How much could not be read or written at this scrape."},
}

// metrics adds GET /metrics, in the text format of Prometheus, which is plainer than its client library
// is large. A scrape reads the files of the home; nothing is counted in between.
func metrics(mux *http.ServeMux, b *backend.Backend) {
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		io.WriteString(w, collect(b.Home).String())
	})
}

func collect(place report.Home) scrape {
	s := scrape{time.Now(), map[string][]string{}}
	unread := 0
	failed := func(err error) bool {
		if err != nil {
			unread++
		}
		return err != nil
	}
	all, err := place.List()
	failed(err)
	for _, id := range all {
		live, up := report.Live(id)
		if !up {
			live.State = status.Stopped
		}
		s.send("agent_up", yes(up), id.Name, live.State)
		if m, err := home.Fold(id, place.Store); !failed(err) {
			s.mind(id, m)
		}
	}
	bridges, err := bridge.ReadHealth(place.Dir)
	failed(err)
	for _, h := range bridges {
		s.send("bridge_healthy", yes(h.Healthy()), h.Name, string(h.State))
		s.send("bridge_waiting_lines", float64(h.In), h.Name, "in")
		s.send("bridge_waiting_lines", float64(h.Out), h.Name, "out")
		s.age("bridge_late_seconds", h.Late, h.Name)
	}
	began := time.Now()
	if !failed(durable.WriteFile(filepath.Join(dir(place.Dir), "sync-test"), []byte("x"), 0o600)) {
		s.send("sync_seconds", time.Since(began).Seconds())
	}
	s.send("unreadable", float64(unread))
	return s
}

type scrape struct {
	now   time.Time
	lines map[string][]string // by sample
}

// mind sends what the log of an identity says.
func (s scrape) mind(id home.Identity, m *mind.State) {
	u, owed := m.Usage, m.Owed()
	s.send("turns_total", float64(m.Turn), id.Name)
	s.send("epochs_total", float64(m.Epoch), id.Name)
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

// labelText escapes the value of a label.
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
		fmt.Fprintf(&text, "# HELP lethe_%s %s\n# TYPE lethe_%[1]s %[3]s\n", name, samples[name][0], kind)
		text.WriteString(strings.Join(s.lines[name], ""))
	}
	return text.String()
}

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
