package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.uber.org/goleak"

	"lethe/agent/budget"
	"lethe/agent/config"
	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/status"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/bridge/serve/api"
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/servetest"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

func TestMain(m *testing.M) {
	host.Main()
	// Of the connections to the offline model some end a moment after it.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreAnyFunction("net/http.(*conn).serve"))
}

// world is a home with an identity that runs offline, and a guarded server before it.
type world struct {
	*servetest.Server
	t    *testing.T
	id   home.Identity
	spec spec
	seen map[string]bool // operations that were asked, by method and path
}

func newWorld(t *testing.T) *world {
	place, err := home.Open(lethetest.Dir(t))
	lethetest.Must(t, err)
	h, err := host.New(place, config.Settings{People: []string{"you"}, Budget: config.Budget{Day: 5}}, host.Options{Offline: true})
	lethetest.Must(t, err)
	w := &world{t: t, seen: map[string]bool{}}
	w.id, err = h.Boot(home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
	lethetest.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- h.Serving(ctx, func(ctx context.Context) error { return h.Run(ctx, []home.Identity{w.id}) })
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	w.Server = servetest.Start(t, place.Dir, api.Routes)
	w.Backend.Limits = budget.Limits{Sums: budget.Sums{Day: budget.Of(5)}}
	text := servetest.Text(t, w.Do(t, "GET", "/api/openapi.json", ""), 200)
	var whole struct {
		Components map[string]map[string]json.RawMessage
	}
	lethetest.Must(t, json.Unmarshal([]byte(text), &whole))
	for _, kind := range []string{"parameters", "responses"} { // what stands there once
		for name, component := range whole.Components[kind] {
			text = strings.ReplaceAll(text, fmt.Sprintf("{\n\"$ref\":\"#/components/%s/%s\"\n}", kind, name), string(component))
		}
	}
	lethetest.Must(t, json.Unmarshal([]byte(text), &w.spec))
	return w
}

// room is the file of a room.
func (w *world) room(name string) string { return chat.Path(w.Backend.Dir, name) }

// spec is what the tests read of the description.
type spec struct {
	OpenAPI string `json:"openapi"`
	Paths   map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Summary     string
		Parameters  []struct{ Name, In, Description string }
		RequestBody struct{ Content map[string]media }
		Responses   map[string]struct{ Content map[string]media }
	}
	Components struct {
		Schemas map[string]*jsonschema.Schema
	}
}

type media struct {
	Schema struct {
		Ref string `json:"$ref"`
	}
}

// find is the path of the description that fits one of a request.
func (s spec) find(path string) string {
	best := ""
	for template := range s.Paths {
		pattern := regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(template), `[^/]+`)
		if regexp.MustCompile("^"+pattern+"$").MatchString(path) && (best == "" || strings.Count(template, "{") < strings.Count(best, "{")) {
			best = template
		}
	}
	return best
}

// fits checks a JSON value against the schema of an answer.
func (w *world) fits(what string, m media, data string) {
	w.t.Helper()
	name := strings.TrimPrefix(m.Schema.Ref, "#/components/schemas/")
	schema := w.spec.Components.Schemas[name]
	if schema == nil {
		w.t.Fatalf("%s: %q is no schema", what, m.Schema.Ref)
	}
	resolved, err := schema.CloneSchemas().Resolve(nil)
	lethetest.Must(w.t, err)
	var v any
	lethetest.Must(w.t, json.Unmarshal([]byte(data), &v))
	if err := resolved.Validate(v); err != nil {
		w.t.Errorf("%s: %v in\n%.2000s", what, err, data)
	}
}

// ask sends a request, and checks status and answer against the description.
func (w *world) ask(method, path, body string, status int, headers ...string) string {
	w.t.Helper()
	bare, _, _ := strings.Cut(path, "?")
	template := w.spec.find(bare)
	op, ok := w.spec.Paths[template][strings.ToLower(method)]
	if !ok {
		w.t.Fatalf("%s %s is not described", method, path)
	}
	w.seen[method+" "+template] = true
	resp := w.Do(w.t, method, path, body, headers...)
	text := servetest.Text(w.t, resp, status)
	kind := resp.Header.Get("Content-Type")
	if status == 304 {
		return text
	}
	answer, ok := op.Responses[fmt.Sprint(status)]
	if !ok {
		if answer = op.Responses["default"]; status < 400 || kind != "application/json" || !strings.Contains(text, `"message"`) {
			w.t.Errorf("%s %s: %d of %s is not described: %s", method, path, status, kind, text)
		}
	}
	m, ok := answer.Content[kind]
	if _, any := answer.Content["*/*"]; !ok && !any {
		w.t.Errorf("%s %s: the type %s is not described", method, path, kind)
	}
	if kind == "application/json" && ok {
		w.fits(method+" "+path, m, text)
	}
	return text
}

// into reads an answer.
func into[T any](t *testing.T, text string) (v T) {
	t.Helper()
	lethetest.Must(t, json.Unmarshal([]byte(text), &v))
	return v
}

// answered says something, and waits until it is answered.
func (w *world) answered(text string) {
	w.t.Helper()
	said := into[backend.Said](w.t, w.ask("POST", "/api/rooms/dev/lines", fmt.Sprintf(`{"text":%q}`, text), 202))
	lethetest.Eventually(w.t, "the answer to "+text, func() bool {
		live, _ := report.Live(w.id)
		return live.Heard["dev"] >= said.To && live.State == status.Idle && len(live.Answering) == 0
	})
}

type list[T any] struct {
	Items []T
	Next  string
}

// Every route answers as it is described, and none without the token.
func TestRoutes(t *testing.T) {
	w := newWorld(t)
	w.answered("hello")
	a := into[report.Agent](t, w.ask("GET", "/api/agents/ada", "", 200))
	if a.Name != "ada" || a.State != "idle" || a.Turns != 1 || a.Rooms[0] != "dev" {
		t.Errorf("ada is %+v", a)
	}
	if l := into[list[report.Agent]](t, w.ask("GET", "/api/agents", "", 200)); len(l.Items) != 1 || l.Items[0].Self != a.Self || l.Next != "" {
		t.Errorf("agents: %+v", l)
	}
	lethetest.Words(t, w.ask("GET", "/api/agents/"+a.Self[:8]+"/context", "", 200), `"messages":[{"role":"system"`, `"epoch":0`)
	all := into[list[events.Event]](t, w.ask("GET", "/api/agents/ada/life", "", 200))
	two := into[list[events.Event]](t, w.ask("GET", "/api/agents/ada/life?limit=2", "", 200))
	more := into[list[events.Event]](t, w.ask("GET", "/api/agents/ada/life?after="+two.Next, "", 200))
	if joined := append(two.Items, more.Items...); len(two.Items) != 2 || !reflect.DeepEqual(joined, all.Items) ||
		!slices.ContainsFunc(joined, func(e events.Event) bool { return e.Type == events.UserMessage && e.Text == "hello" }) {
		t.Errorf("%d events in two parts, %d at once: %+v", len(joined), len(all.Items), joined)
	}

	w.answered("run until [ -e go ]; do sleep 0.01; done in the background") // it outlasts the call that hands it over
	lethetest.Must(t, os.WriteFile(filepath.Join(w.id.Dir, "workspace", "go"), nil, 0o600))
	lethetest.Eventually(t, "the job has ended", func() bool {
		return strings.Contains(w.ask("GET", "/api/agents/ada/jobs", "", 200), `"state":"ended"`)
	})
	w.ask("POST", "/api/agents/ada/jobs/1/stop", "", 409)
	w.answered("run sleep 1000 in the background")
	lethetest.Eventually(t, "the second job runs", func() bool {
		return strings.Contains(w.ask("GET", "/api/agents/ada/jobs", "", 200), `"state":"running"`)
	})
	if j := into[report.Job](t, w.ask("POST", "/api/agents/ada/jobs/2/stop", "", 200)); j.ID != 2 || j.State != "ended" {
		t.Errorf("stopped: %+v", j)
	}

	w.answered("every day at nine say good morning")
	trigger := into[list[report.Trigger]](t, w.ask("GET", "/api/agents/ada/triggers", "", 200)).Items[0]
	w.ask("POST", "/api/agents/ada/triggers/"+trigger.Name+"/run", "", 202)
	lethetest.Eventually(t, "it fires", func() bool {
		return into[list[report.Trigger]](t, w.ask("GET", "/api/agents/ada/triggers", "", 200)).Items[0].Fired == 1
	})

	w.answered("ask me before you delete the harbour")
	q := into[list[report.Question]](t, w.ask("GET", "/api/questions", "", 200)).Items[0]
	if q.Identity != "ada" {
		t.Errorf("the question is %+v", q)
	}
	w.ask("POST", "/api/questions/"+q.ID, `{"text":"perhaps"}`, 400)
	w.ask("POST", "/api/questions/"+q.ID, `{"text":"yes","user":"eve"}`, 400)
	for range 3 {
		if s := into[backend.Said](t, w.ask("POST", "/api/questions/"+q.ID, `{"text":"2"}`, 202,
			"Idempotency-Key: the answer")); s.Room != "dev" || s.Name != "you" {
			t.Errorf("answered: %+v", s)
		}
		lethetest.Eventually(t, "it is no question any more", func() bool {
			return len(into[list[report.Question]](t, w.ask("GET", "/api/questions", "", 200)).Items) == 0
		})
	}
	w.ask("POST", "/api/questions/"+q.ID, `{"text":"yes"}`, 404)
	lethetest.Equal(t, "answers", strings.Count(lethetest.Read(t, w.room("dev")), "] "+q.ID+" no\n"), 1)

	lethetest.Words(t, w.ask("GET", "/api/budget", "", 200), `"of":"day","who":"ada","limit_usd":5`)
	w.ask("POST", "/api/rooms/dev/lines", `{"text":"/budget +1.5 today"}`, 202)
	lethetest.Eventually(t, "the limit is raised", func() bool {
		return strings.Contains(w.ask("GET", "/api/agents/ada/budget", "", 200), `"limit_usd":6.5`)
	})
	lethetest.Words(t, w.ask("GET", "/api/agents/ada/recall?q=harbour", "", 200), `"items":[`)

	for range 2 {
		w.ask("POST", "/api/rooms", `{"name":"ops","agents":["ada"]}`, 201)
	}
	if l := into[list[report.Room]](t, w.ask("GET", "/api/rooms", "", 200)); len(l.Items) != 2 || l.Items[0].Name != "ops" ||
		l.Items[0].Heard[0] != "ada" || l.Items[0].Last != nil {
		t.Errorf("rooms: %+v", l)
	}
	first := into[list[report.Said]](t, w.ask("GET", "/api/rooms/dev/lines?after=0&limit=3", "", 200)).Items
	if back := into[list[report.Said]](t, w.ask("GET", fmt.Sprintf("/api/rooms/dev/lines?before=%d", first[2].From), "",
		200)).Items; len(back) != 2 || back[0] != first[0] {
		t.Errorf("before the third line: %+v", back)
	}
	for range 2 {
		lethetest.Words(t, w.ask("POST", "/api/rooms/quiet/lines", `{"text":"once"}`, 202, "Idempotency-Key: k1"), `"from":0,"to":37,`)
	}
	w.ask("POST", "/api/rooms/quiet/lines", `{"text":"other"}`, 409, "Idempotency-Key: k1")

	page := lethetest.Page(t, "api.md")
	for template, ops := range w.spec.Paths {
		lethetest.Words(t, page, strings.TrimPrefix(template, "/api/agents/{self}"))
		for method, op := range ops {
			if name := strings.ToUpper(method) + " " + template; !w.seen[name] && !later[name] {
				t.Errorf("%s is not tried here", name)
			}
			path := strings.NewReplacer("{self}", "ada", "{room}", "dev").Replace(template)
			servetest.Text(t, w.Do(t, strings.ToUpper(method), path, "", "Authorization:"), 401)
			if op.Summary == "" || op.OperationID == "" {
				t.Errorf("%s %s does not say what it does", method, template)
			}
			named := 0
			for _, p := range op.Parameters {
				if p.Description == "" {
					t.Errorf("%s %s does not describe %s", method, template, p.Name)
				}
				if p.In == "path" && strings.Contains(template, "{"+p.Name+"}") {
					named++
				}
			}
			if named != strings.Count(template, "{") {
				t.Errorf("%s %s does not describe what its path names", method, template)
			}
		}
	}
}

// later are the routes that other tests try.
var later = map[string]bool{
	"GET /api/blobs/{hash}": true, "POST /api/uploads": true, "GET /api/agents/{self}/events": true,
	"POST /api/agents": true, "POST /api/agents/{self}/stop": true, "POST /api/agents/{self}/archive": true, "DELETE /api/agents/{self}": true,
}

// What is wrong gets one line that says what, and its own status.
func TestWrong(t *testing.T) {
	w := newWorld(t)
	w.answered("hello")
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/api/agents/eve", "", 404, "eve"},
		{"GET", "/api/rooms/dev/lines?limit=0", "", 400, "limit"},
		{"GET", "/api/rooms/dev/lines?limit=x", "", 400, "limit"},
		{"GET", "/api/rooms/dev/lines?limit=1&limit=2", "", 400, "limit is given 2 times"},
		{"GET", "/api/agents?limits=1", "", 400, "limits"},
		{"GET", "/api/agents?%zz", "", 400, "query"},
		{"GET", "/api/agents/ada/life?after=x", "", 400, "after"},
		{"GET", "/api/agents/ada/life?after=99999999", "", 410, "99999999"},
		{"GET", "/api/agents/eve/events", "", 404, "eve"},
		{"GET", "/api/agents/ada/events?after=x", "", 400, "after"},
		{"GET", "/api/agents/ada/events?after=99999999", "", 410, "99999999"},
		{"GET", "/api/agents/ada/recall", "", 400, "q is missing"},
		{"GET", "/api/agents/ada/recall?q=x&kind=y", "", 400, "kind"},
		{"GET", "/api/agents/ada/recall?q=x&since=yesterday", "", 400, "since"},
		{"POST", "/api/agents/ada/triggers/none/run", "", 404, "none"},
		{"POST", "/api/agents/ada/triggers/..%2f..%2fx/run", "", 404, "x"},
		{"POST", "/api/agents/ada/jobs/7/stop", "", 404, "7"},
		{"POST", "/api/agents/ada/jobs/x/stop", "", 400, "job"},
		{"POST", "/api/questions/q000000", `{"text":"x"}`, 404, "q000000"},
		{"POST", "/api/rooms", `{"name":"../x"}`, 400, "../x"},
		{"POST", "/api/rooms", `{"name":"x","agents":["eve"]}`, 404, "eve"},
		{"POST", "/api/rooms", `{"name":"notify-you","agents":["ada"]}`, 403, "notify-you"},
		{"GET", "/api/rooms/none/lines", "", 404, "none"},
		{"GET", "/api/rooms/dev/lines?after=1&before=2", "", 400, "before"},
		{"POST", "/api/rooms", `{"name":"dev","title":"other"}`, 400, "title"},
		{"POST", "/api/rooms/dev/lines", `{"text":" "}`, 400, "blank"},
		{"POST", "/api/rooms/dev/lines", `{"text":"x","user":"a b"}`, 400, "a b"},
		{"POST", "/api/rooms/dev/lines", `{"text":"x"`, 400, "body"},
		{"POST", "/api/rooms/dev/lines", `[]`, 400, "body"},
		{"POST", "/api/rooms/..%2fx/lines", `{"text":"x"}`, 400, "../x"},
		{"GET", "/api/blobs/xyz", "", 400, "xyz"},
		{"GET", "/api/blobs/" + strings.Repeat("0", 64), "", 404, "000"},
		{"POST", "/api/uploads", `{}`, 400, "multipart"},
	} {
		got := w.ask(c.method, c.path, c.body, c.status)
		if e := into[backend.ErrorBody](t, got).Error; !strings.Contains(e.Message, c.says) || strings.Contains(e.Message, "\n") {
			t.Errorf("%s %s %s: %q", c.method, c.path, c.body, e.Message)
		}
	}
	servetest.Text(t, w.Do(t, "GET", "/api/none", ""), 404)
	if resp := w.Do(t, "DELETE", "/api/rooms", ""); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("DELETE of rooms: %s, %s", resp.Status, resp.Header.Get("Allow"))
	}
	if names, _ := filepath.Glob(filepath.Join(w.Backend.Dir, "x*")); len(names) > 0 {
		t.Error(names)
	}
}

// What is in a blob is never run, whatever it looks like, and one that lies is refused.
func TestBlobs(t *testing.T) {
	w := newWorld(t)
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR<script>alert(1)</script>"
	script := `<script>document.title = "it ran"</script>`
	files := map[string]struct{ data, claims, is, shown string }{
		"page.html": {"<!doctype html><html>" + script, "text/html", "document page.html text/html", "text/plain; charset=utf-8"},
		"x.svg": {`<svg xmlns="http://www.w3.org/2000/svg">` + script + "</svg>", "image/svg+xml",
			"photo x.svg image/svg+xml", "text/plain; charset=utf-8"},
		"x.png": {png, "image/png", "photo x.png image/png", "image/png"},
		"x.pdf": {"%PDF-1.7\xff\x00", "", "document x.pdf application/pdf", "application/octet-stream"},
		"x.js":  {"alert(1)", "text/javascript", "document x.js text/javascript", "text/plain; charset=utf-8"},
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, f := range files {
		part, err := form.CreatePart(map[string][]string{"Content-Disposition": {fmt.Sprintf(`form-data; name="f"; filename="%s"`,
			name)}, "Content-Type": {f.claims}})
		lethetest.Must(t, err)
		io.WriteString(part, f.data)
	}
	lethetest.Must(t, form.Close())
	stored := into[list[backend.Upload]](t, w.ask("POST", "/api/uploads", body.String(), 201, "Content-Type: "+form.FormDataContentType()))
	if len(stored.Items) != len(files) {
		t.Fatalf("stored: %+v", stored)
	}
	for _, u := range stored.Items {
		f := files[u.Name]
		path := "/api/blobs/" + u.Hash.String()
		resp := w.Do(t, "GET", path, "")
		text, h := servetest.Text(t, resp, 200), resp.Header
		if text != f.data || h.Get("Content-Type") != f.shown || h.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") ||
			!strings.Contains(h.Get("Cache-Control"), "immutable") ||
			(h.Get("Content-Disposition") != "") != (f.shown == "application/octet-stream") {
			t.Errorf("%s: %d bytes, %v", u.Name, len(text), h)
		}
		if !strings.HasPrefix(u.Line, "["+f.is+" ") || !strings.HasSuffix(u.Line, " hash="+u.Hash.String()[:16]+"]") {
			t.Errorf("%s: the line is %q", u.Name, u.Line)
		}
		w.ask("GET", path, "", 304, "If-None-Match: "+h.Get("ETag"))
		if short := w.Do(t, "GET", path[:len(path)-40], ""); servetest.Text(t, short, 200) != f.data ||
			strings.Contains(short.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s by a part of its hash: %v", u.Name, short.Header)
		}
	}
	lie := w.Backend.Store.Path(stored.Items[0].Hash)
	lethetest.Must(t, os.Chmod(lie, 0o600))
	lethetest.Must(t, os.WriteFile(lie, append([]byte(lethetest.Read(t, lie)), 'x'), 0o600))
	lethetest.Words(t, w.ask("GET", "/api/blobs/"+stored.Items[0].Hash.String(), "", 500), "digest mismatch")
}

// A stream begins with what happens from now on, says where that is, and goes on behind any event.
func TestFollow(t *testing.T) {
	w := newWorld(t)
	w.answered("hello")
	end, err := events.End(w.id.LIFE())
	lethetest.Must(t, err)
	all := into[list[events.Event]](t, w.ask("GET", "/api/agents/ada/life", "", 200)).Items
	read := func(n int, query string, headers ...string) (ids []string) {
		resp := w.Do(t, "GET", "/api/agents/ada/events"+query, "", headers...)
		defer resp.Body.Close()
		if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || kind != "text/event-stream" {
			t.Fatalf("%s of %s", resp.Status, kind)
		}
		for r := bufio.NewScanner(resp.Body); len(ids) < n && r.Scan(); {
			if id, ok := strings.CutPrefix(r.Text(), "id: "); ok {
				ids = append(ids, id)
			}
		}
		return ids
	}
	if got := read(1, ""); got[0] != end {
		t.Errorf("a new stream begins at %v, the log ends at %s", got, end)
	}
	if got := read(3, "?after=0"); got[0] != "0" || got[1] != all[0].ID || got[2] != all[1].ID {
		t.Errorf("from the beginning: %v", got)
	}
	if got := read(3, "?after=0", "Last-Event-ID: "+all[3].ID); got[0] != all[3].ID || got[1] != all[4].ID || got[2] != all[5].ID {
		t.Errorf("behind event 4, %s: %v", all[3].ID, got)
	}
	w.ask("POST", "/api/rooms/dev/lines", `{"text":"what is 1+1?"}`, 202)
	if got := read(3, "", "Last-Event-ID: "+end); got[0] != end || got[2] == got[1] {
		t.Errorf("what happens next: %v", got)
	}
	if resp := w.Do(t, "HEAD", "/api/agents/ada/events", ""); resp.StatusCode != 200 {
		t.Errorf("HEAD: %s", resp.Status)
	}
}

// Long arguments of calls count in how much of a life is listed at once.
func TestLifeIsListedInParts(t *testing.T) {
	s := servetest.Start(t, lethetest.Dir(t), api.Routes)
	id, err := home.Boot(s.Backend.Home.Home, s.Backend.Store, home.BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	state, err := home.Fold(id, s.Backend.Store)
	lethetest.Must(t, err)
	var answer mind.Answer
	lines := []life.Event{{}}
	for k := range 30 {
		answer.Calls = append(answer.Calls, mind.AnswerCall{Tool: "BASH", Args: `{"command":"` + strings.Repeat("x", 60<<10) + `"}`})
		lines = append(lines, event.Line(time.Now(), event.Call{ID: mind.CallID(state.Next, k+1), Tool: "BASH"}))
	}
	h, err := s.Backend.Store.Put(blobs.Meta{At: time.Now(), Gist: "calls", Life: id.Self}, answer.Encode())
	lethetest.Must(t, err)
	lines[0] = event.Line(time.Now(), event.Reply{N: state.Next, Turn: 1}, blobs.Ref{Hash: s.Backend.Store.Short(h), Gist: "calls"})
	log, err := life.Open(id.LIFE())
	lethetest.Must(t, err)
	lethetest.Must(t, errors.Join(log.Append(lines...), log.Close()))
	calls, after := 0, "0"
	for after != "" {
		text := servetest.Text(t, s.Do(t, "GET", "/api/agents/ada/life?limit=1000&after="+after, ""), 200)
		part := into[list[events.Event]](t, text)
		calls, after = calls+strings.Count(text, `"args":`), part.Next
		if len(text) > 1<<20+64<<10 {
			t.Errorf("%d events at once have %d bytes", len(part.Items), len(text))
		}
	}
	lethetest.Equal(t, "calls", calls, 30)
}
