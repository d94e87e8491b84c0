package serve

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/share/hosts"
	"lethe/agent/status"
	"lethe/bridge"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/mind"
)

// sampled is an identity at a scrape.
type sampled struct {
	Name, State string
	Up          bool
	Mind        *mind.State // nil where the log cannot be read
}

// metrics adds GET /metrics. A scrape reads the files of the home; nothing is counted in between.
func metrics(mux *http.ServeMux, with *backend.Backend) {
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		ids, err := with.List()
		if err != nil {
			backend.WriteError(w, err)
			return
		}
		bridges, err := bridge.ReadHealth(with.Dir)
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
			if one.Mind, err = home.Fold(id, with.Store); err != nil {
				one.Mind, unread = nil, unread+1
			}
			all = append(all, one)
		}
		var out exposition
		out.agents(all)
		out.bridges(bridges)
		out.minds(all)
		if with.Shared != nil {
			out.share(hosts.ReadStatus(with.Dir), hosts.ReadChecked(with.Dir))
		}
		out.usage(all)
		out.metric("lethe_unreadable", "gauge", "How many identities could not be read at this scrape.")
		out.sample("", unread)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = io.WriteString(w, out.String()) // who asks may be gone
	})
}

// exposition is the page of /metrics, in the text format of Prometheus: the client library is large, and the format
// plain. docs/serve.md lists its samples.
type exposition struct {
	strings.Builder
	name string // of the metric whose samples follow
}

func (e *exposition) metric(name, kind, help string) {
	e.name = name
	fmt.Fprintf(e, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// sample writes a value of the metric. labels are a name and a value each, in turn; a value is the name of an identity,
// a room or a state, which needs no escapes.
func (e *exposition) sample(suffix string, value any, labels ...string) {
	e.WriteString(e.name + suffix)
	for i := 0; i < len(labels); i += 2 {
		before := ","
		if i == 0 {
			before = "{"
		}
		fmt.Fprintf(e, `%s%s="%s"`, before, labels[i], labels[i+1])
	}
	if len(labels) > 0 {
		e.WriteString("}")
	}
	fmt.Fprintf(e, " %v\n", value)
}

// each writes a sample for each identity whose log can be read.
func (e *exposition) each(all []sampled, value func(m *mind.State) any) {
	for _, one := range all {
		if one.Mind != nil {
			e.sample("", value(one.Mind), "agent", one.Name)
		}
	}
}

// kinds writes samples for each identity whose log can be read, one for each kind of a value.
func (e *exposition) kinds(all []sampled, kinds []string, values func(m *mind.State) []any) {
	for _, one := range all {
		if one.Mind == nil {
			continue
		}
		for i, value := range values(one.Mind) {
			e.sample("", value, "agent", one.Name, "kind", kinds[i])
		}
	}
}

func (e *exposition) agents(all []sampled) {
	e.metric("lethe_agent_up", "gauge", "Whether a process runs the identity.")
	for _, one := range all {
		e.sample("", number(one.Up), "agent", one.Name, "state", one.State)
	}
}

func (e *exposition) bridges(all []bridge.Health) {
	e.metric("lethe_bridge_healthy", "gauge", "Whether nothing of a bridge waits for a person to look.")
	for _, one := range all {
		e.sample("", number(one.Ailment() == ""), "bridge", one.Name, "state", string(one.State))
	}
	e.metric("lethe_bridge_late_seconds", "gauge", "Since when errors hold up a line of a bridge.")
	for _, one := range all {
		late := 0.0
		if !one.Late.IsZero() {
			late = age(one.Late)
		}
		e.sample("", late, "bridge", one.Name)
	}
	e.metric("lethe_bridge_waiting_lines", "gauge",
		"Lines that wait to go out to the other side, or in to their rooms.")
	for _, one := range all {
		e.sample("", one.In, "bridge", one.Name, "direction", "in")
		e.sample("", one.Out, "bridge", one.Name, "direction", "out")
	}
}

func (e *exposition) minds(all []sampled) {
	e.metric("lethe_cost_dollars_total", "counter", "What the model was paid.")
	e.each(all, func(m *mind.State) any { return m.Usage.USD })
	e.metric("lethe_debts", "gauge", "What is still to be done: lines to post, results of calls, an answer.")
	e.kinds(all, []string{"post", "result", "answer"}, func(m *mind.State) []any {
		owed := m.Owed()
		return []any{len(owed.Posts), len(owed.Calls), number(owed.Answer)}
	})
	e.metric("lethe_epochs_total", "counter",
		"How often the context has begun anew, as when it faded or was edited.")
	e.each(all, func(m *mind.State) any { return m.Epoch })
	e.metric("lethe_question_age_seconds", "gauge", "Age of the oldest question that people have not answered.")
	e.each(all, func(m *mind.State) any {
		if len(m.Questions) == 0 {
			return 0
		}
		return age(m.Questions[0].Asked)
	})
}

func (e *exposition) share(s hosts.Status, found hosts.Checked) {
	e.metric("lethe_share_check_age_seconds", "gauge", "Since all that the store has was last read; 9e9: never.")
	e.sample("", age(found.Read))
	e.metric("lethe_share_commit_seconds", "summary",
		"How long commits of lives took to be durable at the store of all hosts.")
	e.sample("_sum", s.CommitSum.Seconds())
	e.sample("_count", s.Commits)
	e.metric("lethe_share_conflicts_total", "counter", "Texts that another host was faster to store.")
	e.sample("", s.Asked.Conflicts)
	e.metric("lethe_share_faults", "gauge", "What was found lost or damaged in the store, and not written again.")
	e.sample("", len(found.Faults))
	e.metric("lethe_share_lease_age_seconds", "gauge", "Since this host last said to others that it is there.")
	e.sample("", age(s.Renewed))
	e.metric("lethe_share_requests_total", "counter", "Requests to the bucket, or messages to NATS, by kind.")
	kinds := []string{"put", "get", "list", "delete", "message"}
	for k, n := range []int64{s.Asked.Puts, s.Asked.Gets, s.Asked.Lists, s.Asked.Deletes, s.Asked.Messages} {
		e.sample("", n, "kind", kinds[k])
	}
	e.metric("lethe_share_rooms_age_seconds", "gauge", "Since the rooms here were last what all hosts have.")
	e.sample("", age(s.Synced))
	e.metric("lethe_share_takeovers_total", "counter", "Lives that this host took from silent or drained ones.")
	e.sample("", s.Takeovers)
}

func (e *exposition) usage(all []sampled) {
	e.metric("lethe_tokens_total", "counter", "Tokens of requests that the provider's cache had (cached) or not"+
		" (input), and of answers (output).")
	e.kinds(all, []string{"input", "cached", "output"}, func(m *mind.State) []any {
		return []any{m.Usage.Input - m.Usage.Cached, m.Usage.Cached, m.Usage.Output}
	})
	e.metric("lethe_turns_total", "counter", "Turns that have ended.")
	e.each(all, func(m *mind.State) any { return m.Turn })
}

// number returns 1 for true, and 0 for false.
func number(holds bool) int {
	if holds {
		return 1
	}
	return 0
}

// age returns the seconds since a moment.
func age(since time.Time) float64 { return max(0, time.Since(since).Seconds()) }
