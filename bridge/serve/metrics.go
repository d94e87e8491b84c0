package serve

import (
	_ "embed"
	"net/http"
	"sync"
	"text/template"
	"time"

	"lethe/agent/home"
	"lethe/agent/share/hosts"
	"lethe/agent/status"
	"lethe/bridge"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/mind"
)

//go:embed metrics.txt
var metricsText string

// samples is the page of /metrics, in the text format of Prometheus: the client library is large, and the format plain.
// docs/serve.md lists its samples. Its labels are names of identities and rooms, which need no escapes.
var samples = sync.OnceValue(func() *template.Template {
	funcs := template.FuncMap{
		"sub": func(a, b int64) int64 { return a - b },
		"age": func(since time.Time) float64 { return max(0, time.Since(since).Seconds()) },
	}
	return template.Must(template.New("").Funcs(funcs).Parse(metricsText))
})

// sampled is an identity at a scrape.
type sampled struct {
	Name, State string
	Up          bool
	Mind        *mind.State // nil where the log cannot be read
}

// metrics adds GET /metrics. A scrape reads the files of the home; nothing is counted in between.
func metrics(mux *http.ServeMux, b *backend.Backend) {
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		ids, err := b.List()
		if err != nil {
			backend.WriteError(w, err)
			return
		}
		bridges, err := bridge.ReadHealth(b.Dir)
		if err != nil {
			backend.WriteError(w, err)
			return
		}
		var all []sampled
		unread := 0
		for _, id := range ids {
			live, up := report.Live(id)
			one := sampled{Name: id.Name, State: live.State, Up: up}
			if !up {
				one.State = status.Stopped
			}
			if one.Mind, err = home.Fold(id, b.Store); err != nil {
				one.Mind, unread = nil, unread+1
			}
			all = append(all, one)
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_ = samples().Execute(w, map[string]any{ // who asks may be gone
			"Agents": all, "Bridges": bridges, "Unread": unread, "Shared": b.Shared != nil, "Share": hosts.ReadStatus(b.Dir),
		})
	})
}
