package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path"
	"sync"
	"time"
)

// model is an OpenAI-compatible server on loopback that reads of a request only whose it is, so that its own time
// does not count: llm/rehearsal, which checks each message, would take longer than a round.
type model struct {
	url     string             // a column adds its title
	mu      sync.Mutex         // guards what follows, and the marks; held while a script's next runs
	scripts map[string]*script // by the column's title and the identity's name, which begins with prefix
	failed  error              // the first error of a script's next
	buffers sync.Pool
}

const prefix = "bench-"

// script is what the model answers to an identity, and what it saw of it.
type script struct {
	calls  int          // answers with a call, before each final one
	before func(n int)  // called before the answer to request n; may be nil
	next   func() error // called behind each final answer; may be nil
	proc   *process     // whose usage is noted at each request; may be nil

	marks []mark    // all requests
	done  chan mark // those that got a final answer
}

// mark is one request.
type mark struct {
	came, answered time.Time
	bytes          int
	final          bool
	usage
}

func (m *model) listen(ctx context.Context) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	m.url, m.scripts = "http://"+ln.Addr().String()+"/", map[string]*script{}
	m.buffers.New = func() any { return new(bytes.Buffer) }
	srv := &http.Server{Handler: m, ErrorLog: log.New(io.Discard, "", 0)} // of identities that are stopped while they talk
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	go func() { _ = srv.Serve(ln) }() // ends with ctx
	return nil
}

// expect replaces what the model answers to an identity.
func (m *model) expect(c *column, name string, l script) *script {
	l.done = make(chan mark, 16)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.scripts[c.title+name] = &l
	return &l
}

// hush has no script go on by itself: when it returns, nobody says a line any more. Its error is the first of a line
// that could not be said.
func (m *model) hush() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.scripts {
		l.next = nil
	}
	return m.failed
}

// finals is how many final answers a script has had since a time, and how long passed between the first and the last.
func (m *model) finals(l *script, since time.Time) (n float64, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var first time.Time
	for _, r := range l.marks {
		if r.final && r.came.After(since) {
			if n++; n == 1 {
				first = r.came
			}
			took = r.came.Sub(first)
		}
	}
	return n, took
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := m.buffers.Get().(*bytes.Buffer)
	defer m.buffers.Put(body)
	body.Reset()
	_, err := body.ReadFrom(r.Body)
	now := mark{came: time.Now(), bytes: body.Len()}
	_, name, _ := bytes.Cut(body.Bytes(), []byte(prefix))
	m.mu.Lock()
	l := m.scripts[path.Dir(path.Dir(r.URL.Path))[1:]+prefix+string(name[:min(3, len(name))])]
	m.mu.Unlock()
	if err != nil || l == nil {
		http.Error(w, "no such identity", http.StatusBadRequest)
		return
	}
	if l.proc != nil {
		now.usage = l.proc.usage()
	}
	n := len(l.marks)
	now.final = n%(l.calls+1) == l.calls
	if l.before != nil {
		l.before(n)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	now.answered = time.Now()
	_, _ = io.WriteString(w, answer(now.final, n, now.bytes))
	m.mu.Lock()
	defer m.mu.Unlock()
	l.marks = append(l.marks, now)
	if !now.final {
		return
	}
	select {
	case l.done <- now:
	default: // nobody waits
	}
	if l.next == nil {
		return
	}
	if err := l.next(); err != nil && m.failed == nil {
		m.failed = err
	}
}

// answer is a whole stream: a call of a cheap tool, or a final text.
func answer(final bool, n, size int) string {
	const event = "data: " + `{"id":"bench","object":"chat.completion.chunk","created":0,"model":"bench","choices":[%s]%s}` + "\n\n"
	delta, finish := `"content":"Done."`, "stop"
	if !final { // not the same call again, which would be remarked upon
		delta = fmt.Sprintf(`"tool_calls":[{"index":0,"id":"call%05d","type":"function","function":{"name":"LIST","arguments":"{\"path\":\"%s\"}"}}]`, n, [2]string{"rooms", "self"}[n%2])
		finish = "tool_calls"
	}
	return fmt.Sprintf(event, `{"index":0,"delta":{"role":"assistant",`+delta+`},"finish_reason":null}`, "") +
		fmt.Sprintf(event, `{"index":0,"delta":{},"finish_reason":"`+finish+`"}`, "") +
		fmt.Sprintf(event, "", fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"completion_tokens":9,"total_tokens":%d}`, size/4, size/4+9)) +
		"data: [DONE]\n\n"
}
