//go:build unix

package main_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/sharetest"
	"lethe/life/event"
)

// Figures of cmd/lab/share-trial.md.

var restSize = flag.Int("rest", 10000, "how many identities BenchmarkHostsAtRest has")

var restTime = flag.Duration("resttime", 6*time.Minute, "how long BenchmarkSharedRequests rests")

// plainEngines are engines without faults.
var plainEngines = map[string]func(b *testing.B) func(host int) string{
	"directory": func(b *testing.B) func(int) string {
		dir := b.TempDir()
		return func(int) string { return "file://" + dir }
	},
	"bucket": func(b *testing.B) func(int) string {
		url := sharetest.Bucket(b).URL("home")
		sharetest.Keys()
		return func(int) string { return url }
	},
	"nats3": func(b *testing.B) func(int) string {
		url := sharetest.NATS(b, 3, false).URL("home")
		return func(int) string { return url }
	},
}

func onEach(b *testing.B, f func(b *testing.B, e *engine)) {
	for _, name := range []string{"directory", "bucket", "nats3"} {
		b.Run(name, func(b *testing.B) { f(b, &engine{name: name, url: plainEngines[name](b)}) })
	}
}

// quantiles reports some times in a unit.
func quantiles(b *testing.B, what string, took []time.Duration) {
	slices.Sort(took)
	at := func(q float64) float64 { return took[int(q*float64(len(took)-1))].Seconds() * 1000 }
	b.ReportMetric(at(0.5), what+"-p50-ms")
	b.ReportMetric(at(0.99), what+"-p99-ms")
}

// BenchmarkTakeover kills one of three hosts, each time with some thirty identities over all, and asks what it had. The
// time is until the first answer at another host: from the kill, and from when that one began to take.
func BenchmarkTakeover(b *testing.B) {
	onEach(b, func(b *testing.B, e *engine) {
		x := newTrial(b, e, 3, 30, 1)
		x.boot()
		for _, s := range x.sites {
			s.start()
		}
		var fromKill, fromNotice []time.Duration
		for b.Loop() {
			x.ask(x.names, x.sites[0], time.Time{}) // all are there
			time.Sleep(rand.N(10 * time.Second))
			at := holders(b, x.sites[0], x.sites)
			s := at[x.names[rand.IntN(len(x.names))]]
			other := x.sites[(slices.Index(x.sites, s)+1)%len(x.sites)]
			var its []string
			for _, name := range x.names {
				if at[name] == s {
					its = append(its, name)
				}
			}
			killed := time.Now()
			s.kill()
			took := x.ask(its, other, killed)
			fromKill = append(fromKill, took...)
			noticed := x.noticed(killed)
			for _, t := range took {
				fromNotice = append(fromNotice, t-noticed.Sub(killed))
			}
			s.start()
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(len(fromKill)), "takeovers")
		quantiles(b, "kill", fromKill)
		quantiles(b, "notice", fromNotice)
	})
}

// ask asks some identities at a host, and returns when each had answered there.
func (x *trial) ask(names []string, at *site, since time.Time) (took []time.Duration) {
	for _, name := range names {
		x.question(name, at, since)
	}
	for end := time.Now().Add(4 * time.Minute); len(x.waits) > 0; time.Sleep(time.Millisecond) {
		for name := range x.answered(at) {
			took = append(took, time.Since(since))
			delete(x.waits, name)
		}
		if time.Now().After(end) {
			x.Fatalf("%d do not answer: %v", len(x.waits), x.waits)
		}
	}
	return took
}

var tookOver = regexp.MustCompile(`time=(\S+) .*"took a life over".* in=(\S+)`)

// noticed returns when the first take after a time began.
func (x *trial) noticed(after time.Time) (first time.Time) {
	for _, s := range x.sites {
		for _, m := range tookOver.FindAllStringSubmatch(s.err.String(), -1) {
			at, err := time.Parse(time.RFC3339Nano, m[1])
			length, lerr := time.ParseDuration(m[2])
			if began := at.Add(-length); err == nil && lerr == nil && began.After(after) && (first.IsZero() || began.Before(first)) {
				first = began
			}
		}
	}
	return first
}

// BenchmarkSharedTurns has one host beside itself on each engine and on none: a line until its answer, the one after
// the other in turn, and how many turns a second twenty identities do, with how much of the processor in the daemon.
func BenchmarkSharedTurns(b *testing.B) {
	order := []string{"none", "directory", "bucket", "nats3"}
	all := map[string]*trial{}
	for _, name := range order {
		e := &engine{name: name}
		if name != "none" {
			e.url = plainEngines[name](b)
		}
		x := newTrial(b, e, 1, 20, 2)
		x.boot()
		x.sites[0].start(x.names...)
		x.ask(x.names, x.sites[0], time.Now())
		all[name] = x
	}
	alone, turns, lasted := map[string][]time.Duration{}, map[string]int{}, map[string]time.Duration{}
	processor := map[string]time.Duration{}
	for b.Loop() {
		for range 20 {
			for _, name := range order {
				x := all[name]
				alone[name] = append(alone[name], x.ask(x.names[:1], x.sites[0], time.Now())...)
				time.Sleep(20 * time.Millisecond)
			}
		}
		for _, name := range order {
			began, used := time.Now(), all[name].processor()
			turns[name] += all[name].rush(5 * time.Second)
			lasted[name] += time.Since(began)
			processor[name] += all[name].processor() - used
		}
	}
	b.ReportMetric(0, "ns/op")
	for _, name := range order {
		quantiles(b, name, alone[name])
		b.ReportMetric(float64(turns[name])/lasted[name].Seconds(), name+"-turns/s")
		b.ReportMetric(processor[name].Seconds()*1000/float64(turns[name]), name+"-processor-ms/turn")
	}
}

// bucketAsks are the kinds of requests to a bucket, by what they ask and of which stream.
type bucketAsks struct {
	mu   sync.Mutex
	made map[string]int
}

var ofStream = regexp.MustCompile(`home/home/([a-z]+)|prefix=home%2F([a-z]+)`)

func (r *bucketAsks) count(q *http.Request) {
	kind := q.Method
	if q.URL.Query().Has("list-type") {
		kind = "LIST"
	}
	m := ofStream.FindStringSubmatch(q.URL.RequestURI())
	if m == nil {
		m = make([]string, 3)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made[kind]++
	r.made[kind+"-"+m[1]+m[2]]++
}

// report reports the requests since the last one, each divided by so many.
func (r *bucketAsks) report(b *testing.B, what string, by float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for kind, n := range r.made {
		b.Logf("%s: %-20s %.2f", what, kind, float64(n)/by)
		if !strings.Contains(kind, "-") {
			b.ReportMetric(float64(n)/by, what+"-"+kind)
		}
	}
	clear(r.made)
}

// BenchmarkSharedRequests counts the requests to a bucket: in a turn, and in a minute at rest of one host and of three
// with ten identities.
func BenchmarkSharedRequests(b *testing.B) {
	gateway, asked, faults := sharetest.Bucket(b), &bucketAsks{made: map[string]int{}}, &sharetest.Faults{}
	sharetest.Keys()
	faults.Before = asked.count
	url := gateway.URL("home", faults.HTTP(b, gateway.Address))
	x := newTrial(b, &engine{name: "bucket", url: func(int) string { return url }}, 3, 10, 2)
	x.boot()
	first, rest := x.sites[0], *restTime
	for b.Loop() {
		first.start()
		x.ask(x.names[:1], first, time.Now())
		time.Sleep(5 * time.Second)
		asked.report(b, "start", 1)
		for range 40 {
			x.ask(x.names[:1], first, time.Now())
		}
		asked.report(b, "turn", 40)
		time.Sleep(2 * time.Minute)
		asked.report(b, "calm", 2)
		time.Sleep(rest)
		asked.report(b, "rest-1", rest.Minutes())
		for _, s := range x.sites[1:] {
			s.start()
		}
		time.Sleep(2 * time.Minute)
		asked.report(b, "come", 1)
		time.Sleep(rest)
		asked.report(b, "rest-3", rest.Minutes())
	}
	b.ReportMetric(0, "ns/op")
}

// rush asks each identity as soon as it has answered, and returns how many answers there were.
func (x *trial) rush(length time.Duration) (turns int) {
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		for name := range x.answered(x.sites[0]) {
			delete(x.waits, name)
			turns++
		}
		for _, name := range x.names {
			if _, waits := x.waits[name]; !waits {
				x.question(name, x.sites[0], time.Now())
			}
		}
	}
	x.await("the last answers", func() bool { return len(x.answered(x.sites[0])) == len(x.waits) })
	turns += len(x.waits)
	clear(x.waits)
	return turns
}

// BenchmarkHostsAtRest has many identities do nothing on three hosts with three NATS servers.
func BenchmarkHostsAtRest(b *testing.B) {
	cluster := sharetest.NATS(b, 3, false)
	e := &engine{name: "nats3", url: func(int) string { return cluster.URL("home") }}
	x := &trial{TB: b, engine: e}
	plain := newSites(b, &engine{name: "none"}, 1, trialSettings(nil))[0] // with as many as one host has, and no share
	for k := range *restSize {
		x.names = append(x.names, fmt.Sprintf("i%05d", k))
	}
	x.sites = newSites(b, e, 3, trialSettings(nil))
	began := time.Now()
	x.boot()
	b.Logf("%d identities made in %v", len(x.names), time.Since(began).Round(time.Second))
	began = time.Now()
	all := append(slices.Clone(x.sites), plain)
	third := x.names[:len(x.names)/3]
	plain.boot(third, x.room)
	plain.start(third...)
	for _, s := range x.sites {
		s.start()
	}
	for _, s := range all {
		for ready := 0; ready < len(x.names)/3; time.Sleep(time.Second) {
			ready = strings.Count(s.err.String(), "ready ")
			if time.Since(began) > 20*time.Minute {
				b.Fatalf("%d of %s are ready", ready, filepath.Base(s.dir))
			}
		}
	}
	b.Logf("all ready after %v", time.Since(began).Round(time.Second))
	time.Sleep(90 * time.Second) // what a start does beside is done
	for b.Loop() {
		const length = 2 * time.Minute
		messages, processor := cluster.Messages(), x.processor()
		time.Sleep(length)
		b.ReportMetric(float64(cluster.Messages()-messages)/length.Seconds(), "messages/s")
		b.ReportMetric((x.processor()-processor).Seconds()/length.Seconds()*100, "processor-%")
	}
	b.ReportMetric(0, "ns/op")
	resident, own := 0, 0
	for _, s := range x.sites {
		resident += memory(b, s, "VmRSS")
		own += memory(b, s, "RssAnon")
	}
	b.ReportMetric(float64(resident)/3/1024, "MB-a-host")
	b.ReportMetric(float64(own)/3/1024, "own-MB-a-host")
	b.ReportMetric(float64(resident/3-memory(b, plain, "VmRSS"))/1024, "MB-by-share")
	b.ReportMetric(float64(own/3-memory(b, plain, "RssAnon"))/1024, "own-MB-by-share")
}

// memory reads a line of /proc/PID/status, in KB.
func memory(b *testing.B, s *site, what string) int {
	text := lethetest.Read(b, fmt.Sprintf("/proc/%d/status", s.daemon.Process.Pid))
	m := regexp.MustCompile(what + `:\s+(\d+) kB`).FindStringSubmatch(text)
	n, err := strconv.Atoi(m[1])
	lethetest.Must(b, err)
	return n
}

// processor returns how much processor time the daemons have used.
func (x *trial) processor() (all time.Duration) {
	for _, s := range x.sites {
		fields := strings.Fields(lethetest.Read(x, fmt.Sprintf("/proc/%d/stat", s.daemon.Process.Pid)))
		for _, f := range fields[13:15] {
			ticks, err := strconv.Atoi(f)
			lethetest.Must(x, err)
			all += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return all
}

// BenchmarkRestore restores a life of 200 MB on a new host: 20,000 lines of 1 KB, each with a text of 9 KB.
func BenchmarkRestore(b *testing.B) {
	onEach(b, func(b *testing.B, e *engine) {
		s := newSites(b, e, 1, "")[0]
		h, texts, shared := s.open()
		defer shared.Close()
		id, err := home.Boot(h, texts, home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
		lethetest.Must(b, err)
		j, err := journal.Hold(h, id, texts, nil)
		lethetest.Must(b, err)
		began := time.Now()
		for n := 0; n < 20000; n += 40 {
			var records []journal.Record
			for range 40 {
				records = append(records, journal.Told(event.Stopped{Why: noise(1000)}, "a text", noise(9000)))
			}
			if n%1000 == 0 {
				lethetest.Must(b, j.Epoch("size", nil))
			}
			lethetest.Must(b, j.Commit(records...))
		}
		lethetest.Must(b, j.Close())
		b.Logf("stored in %v", time.Since(began).Round(time.Second))
		var took []time.Duration
		for b.Loop() {
			fresh := filepath.Join(b.TempDir(), "home")
			began := time.Now()
			s.lethe("--home", fresh, "restore", e.url(0), "--key", filepath.Join(s.dir, "share.key"))
			took = append(took, time.Since(began))
		}
		b.ReportMetric(0, "ns/op")
		quantiles(b, "restore", took)
	})
}

// noise is a text that compresses as prose does.
func noise(size int) string {
	const letters = "      etaoinshrdlucm"
	text := make([]byte, size)
	for i := range text {
		text[i] = letters[rand.IntN(len(letters))]
	}
	return string(text)
}
