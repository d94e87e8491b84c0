package bench

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/internal/test/lethetest"
)

// payers is a model that knows when each identity asked, and what it has paid.
type payers struct {
	sync.Mutex
	all map[string]*payer
}

type payer struct {
	asked chan time.Time
	last  []byte
	cost  float64
}

func (p *payers) of(name string) *payer {
	p.Lock()
	defer p.Unlock()
	if p.all[name] == nil {
		p.all[name] = &payer{asked: make(chan time.Time, 1)}
	}
	return p.all[name]
}

// ServeHTTP counts tokens of four bytes as prices usually are: one that the request before had costs a tenth, one of the
// answer one and a half.
func (p *payers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const text = "an answer of ordinary length, as they are given to people who talk all day; "
	came := time.Now()
	body, _ := io.ReadAll(r.Body)
	_, name, ok := bytes.Cut(body, []byte(prefix))
	if !ok {
		http.NotFound(w, r)
		return
	}
	one := p.of(string(name[:3]))
	same := 0
	for same < min(len(body), len(one.last)) && body[same] == one.last[same] {
		same++
	}
	said := strings.Repeat(text, 8)
	one.last = body
	one.cost += (float64(len(body)-same) + 0.1*float64(same) + 1.5*float64(len(said))) / 4
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, strings.Replace(answer(true, 0, len(body)), "Done.", said, 1))
	one.asked <- came
}

// A thousand lives that people have hired take at most 60 MB at rest, before one of them was loaded and after all were; the
// first request of one that sleeps comes at most 50 ms behind that of a loaded one; and a day of six private chats and two
// groups costs at most 1.1 times what it costs with one life for all. This takes ten minutes; what else the machine does
// falls on the first requests, so the second of eight counts.
func TestHired(t *testing.T) {
	if !lethetest.Long() {
		t.Skip("it takes some minutes; LETHE_LONG=1 runs it")
	}
	const lives, chats, lines = 1000, 8, 30
	model := &payers{all: map[string]*payer{}}
	server := httptest.NewServer(model)
	defer server.Close()
	dir := lethetest.Dir(t)
	b := &bench{Options: Options{Program: filepath.Join(dir, "lethe")}, ctx: t.Context(), dir: dir}
	out, err := exec.Command("go", "build", "-o", b.Program, "lethe/cmd/lethe").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	defer b.stopAll()
	c := &column{title: "lethe", exe: b.Program, home: filepath.Join(dir, "home"), url: server.URL}
	b.lethe, b.six = c, &column{}
	lethetest.Must(t, c.makeHome())
	file := config.File(c.home)
	lethetest.Write(t, file, lethetest.Read(t, file)+"[models.bench]\nwindow = 60000000\n") // else each start asks for it
	resident := func(asleep int, since time.Duration) float64 {                             // megabytes
		t.Helper()
		b.stopAll()
		p, err := b.start(c, "--name="+prefix+"one")
		lethetest.Must(t, err)
		for rests := -1; rests < asleep; {
			files, _ := filepath.Glob(filepath.Join(c.home, "agents", "*", "rest.toml"))
			rests = len(files)
			lethetest.Must(t, b.pause(time.Second))
		}
		lethetest.Must(t, b.pause(since))
		lethetest.Must(t, b.settle())
		return float64(p.usage().resident) / 1e6
	}
	none := resident(0, 0)
	lethetest.Write(t, filepath.Join(c.home, "roles", "bench", "SOUL.md"), "You are somebody's assistant.")
	place, err := home.Open(c.home)
	lethetest.Must(t, err)
	here, err := host.Look(place, config.Settings{Hire: config.Hire{Most: lives}}, host.Options{})
	lethetest.Must(t, err)
	var names []string
	for n := range lives {
		names = append(names, fmt.Sprintf(prefix+"%03x", 0x400+n))
		readers := []string{"bench"}
		if n < 2 {
			readers = append(readers, "ann", "ben", "cem")
		}
		_, err := here.Hire(names[n], "", home.Hired{Role: "bench", For: readers})
		lethetest.Must(t, err)
	}
	loaded := resident(lives, 150*time.Second) - none // at the first start all are; Go looks for garbage every two minutes
	asleep := resident(lives, 0) - none
	b.stopAll()
	args := []string{"--name=" + prefix + "all"}
	for _, name := range names[:chats] {
		args = append(args, "--room=all-"+name)
	}
	_, err = b.start(c, args...) // and beside it whoever is hired
	lethetest.Must(t, err)
	lethetest.Must(t, b.settle())
	took := map[string][]float64{}
	talk := func(room string, one *payer) {
		t.Helper()
		at, err := c.say(room)
		lethetest.Must(t, err)
		took[room] = append(took[room], ms((<-one.asked).Sub(at)))
		lethetest.Must(t, b.pause(50*time.Millisecond)) // the answer is posted meanwhile
	}
	each, all := 0.0, model.of("all")
	for range lines {
		for _, name := range names[:chats] {
			talk(name, model.of(strings.TrimPrefix(name, prefix)))
			talk("all-"+name, all)
		}
	}
	var woken []float64
	for _, name := range names[:chats] {
		each += model.of(strings.TrimPrefix(name, prefix)).cost
		woken = append(woken, took[name][0]-took[name][1])
	}
	slices.Sort(woken)
	ratio := each / all.cost
	t.Logf("MB at rest above %.1f: %.1f asleep, %.1f when all were loaded; ms later when woken: %.1f to %.1f; cost, of one life's: %.2f",
		none, asleep, loaded, woken[0], woken[chats-1], ratio)
	if asleep > 60 || loaded > 60 || woken[chats/4] > 50 || ratio > 1.1 {
		t.Error("at most 60 MB, 50 ms and 1.1 are meant")
	}
}
