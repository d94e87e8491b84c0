//go:build unix

package main_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/life"
)

var (
	trialTime = flag.Duration("trial", 10*time.Minute, "how long hosts are tormented with LETHE_LONG=1")
	trialSize = flag.Int("identities", 1000, "how many live in a trial with LETHE_LONG=1")
)

// TestShareTrial has three hosts of one home live, as processes, while each is killed, stopped and cut off at random
// moments. Each line of a person is heard once and answered once, all hosts have the same rooms, and no host that was
// asleep has said anything. With LETHE_LONG=1 for ten minutes with a thousand identities, on each engine, with clocks
// that are an hour apart.
func TestShareTrial(t *testing.T) {
	lethetest.Unraced(t)
	const hosts = 3
	t.Run("directory", func(t *testing.T) { runTrial(t, directoryEngine(t, hosts)) })
	if !lethetest.Long() {
		return
	}
	t.Run("bucket", func(t *testing.T) { runTrial(t, bucketEngine(t, hosts)) })
	t.Run("nats3", func(t *testing.T) { runTrial(t, natsEngine(t, hosts)) })
}

// trial is three hosts of a home, and what was said there.
type trial struct {
	testing.TB
	engine *engine
	sites  []*site
	names  []string
	tries  int // lines that wait for an answer at a time

	mu    sync.Mutex // over what follows
	next  int        // number of the next line
	said  map[int]string
	waits map[string]waiting // by the name of who is to answer
	took  []time.Duration
	acts  map[string]int
}

// newTrial makes the hosts of a home, and names so many identities. With step 1, two share a room; with 2, each has its
// own.
func newTrial(t testing.TB, e *engine, hosts, size, step int) *trial {
	x := &trial{TB: t, engine: e, next: 1000000, said: map[int]string{}, waits: map[string]waiting{}, acts: map[string]int{}}
	for k := range size {
		x.names = append(x.names, fmt.Sprintf("i%05d", k*step))
	}
	x.sites = newSites(t, e, hosts, trialSettings(x.names))
	return x
}

func runTrial(t *testing.T, e *engine) {
	size, sayers := 8, 4
	if lethetest.Long() {
		size, sayers = *trialSize, max(4, min(24, *trialSize/40)) // or most wait, and people say more than anybody hears
	}
	x := newTrial(t, e, 3, size, 1)
	x.tries = sayers
	x.prepare()
	t.Cleanup(x.tell)
	began := time.Now()
	x.boot()
	t.Logf("%d identities made in %v", size, time.Since(began).Round(time.Millisecond))
	for _, s := range x.sites {
		s.start()
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { x.talk(ctx) })
	if lethetest.Long() {
		x.long()
	} else {
		x.short()
	}
	cancel()
	all.Wait()
	x.settle()
	x.check()
}

// trialSettings has identities hear only lines that mention them: two share a room.
func trialSettings(names []string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "agents.%s.wake = \"mentions\"\n", name)
	}
	if !canConfine() {
		b.WriteString("[tools]\nbash = \"trusted\"\n")
	}
	return b.String()
}

func (x *trial) room(name string) string {
	return "r" + name[1:len(name)-1] + string('0'+(name[len(name)-1]-'0')/2)
}

// prepare has the daemons be as fast as the trial is short, or have clocks that are far apart.
func (x *trial) prepare() {
	if !lethetest.Long() {
		for _, s := range x.sites {
			s.env = append(s.env, paceOf+"=200ms 1500ms")
		}
		return
	}
	program := skewed(x.TB)
	apart := time.Hour
	if x.engine.name == "bucket" {
		apart = 6 * time.Minute // S3 refuses requests that are a quarter of an hour off
	}
	if x.engine.via != nil {
		apart = 10 * time.Minute
	}
	for k, s := range x.sites {
		s.program = program
		s.env = append(s.env, fmt.Sprintf("%s=%d", clockOf, k*int(apart.Seconds())))
	}
}

func (x *trial) boot() {
	var all sync.WaitGroup
	for k, s := range x.sites {
		var names []string
		for i := k; i < len(x.names); i += len(x.sites) {
			names = append(names, x.names[i])
		}
		all.Go(func() { s.boot(names, x.room) })
	}
	all.Wait()
}

// talk has people say something to identities that owe no answer, until ctx ends.
func (x *trial) talk(ctx context.Context) {
	for ctx.Err() == nil {
		x.mu.Lock()
		for name := range x.answered(x.sites[rand.IntN(len(x.sites))]) {
			x.took = append(x.took, time.Since(x.waits[name].since))
			delete(x.waits, name)
		}
		free := x.tries
		for _, w := range x.waits {
			if !w.at.down.Load() && time.Since(w.since) < 5*time.Second {
				free--
			}
		}
		for ; free > 0 && ctx.Err() == nil; free-- {
			name, at := x.names[rand.IntN(len(x.names))], x.sites[rand.IntN(len(x.sites))]
			if rand.IntN(3) == 0 {
				x.say(name, at, "by the way, %d!") // also where nobody is up
			}
			if _, waits := x.waits[name]; waits || at.down.Load() {
				continue
			}
			x.question(name, at, time.Now())
		}
		x.mu.Unlock()
		time.Sleep(50 * time.Millisecond)
	}
}

// waiting is a line that waits for its answer, and the host at which it was said.
type waiting struct {
	n     int
	at    *site
	since time.Time
}

// say appends a line with the next number to the room of an identity, as people do.
func (x *trial) say(name string, at *site, form string) {
	text := fmt.Sprintf(form, x.next)
	line, err := chat.Format(false, "grace", time.Now(), text)
	if err == nil {
		_, _, err = chat.Append(chat.Path(at.dir, x.room(name)), line)
	}
	if err != nil {
		x.Error(err)
	}
	x.said[x.next] = text
	x.next++
}

// question asks an identity at a host, which is to answer from a time on.
func (x *trial) question(name string, at *site, since time.Time) {
	x.waits[name] = waiting{x.next, at, since}
	x.say(name, at, "@"+name+" what is %d+1?")
}

func (x *trial) answer(n int) string { return fmt.Sprintf("%d+1 = %d", n, n+1) }

// answered returns who has answered, as the rooms of a host show it.
func (x *trial) answered(at *site) map[string]bool {
	done := map[string]bool{}
	for name, w := range x.waits {
		text, _ := os.ReadFile(chat.Path(at.dir, x.room(name)))
		for line := range bytes.Lines(text) {
			if bytes.HasPrefix(line, []byte("[AGENT:"+name+" ")) && bytes.Contains(line, []byte(x.answer(w.n))) {
				done[name] = true
			}
		}
	}
	return done
}

// short kills one host and stops another one, each until the others have its identities.
func (x *trial) short() {
	x.await("first answers", func() bool { return x.count() > 2*x.tries })
	for k, s := range x.sites[:2] {
		if k == 0 {
			x.act("kill", s.kill)
		} else {
			x.act("stop", func() { s.signal(syscall.SIGSTOP) })
		}
		x.await("takeover", func() bool { return !slices.Contains(slices.Collect(maps.Values(holders(x, x.sites[2], x.sites))), s) })
		before := x.count()
		x.await("answers of who took over", func() bool { return x.count() > before+x.tries })
		if k == 0 {
			s.start()
		} else {
			s.signal(syscall.SIGCONT)
		}
		before = x.count()
		x.await("answers of all", func() bool { return x.count() > before+x.tries })
	}
}

// long torments the hosts at random moments, for ten minutes.
func (x *trial) long() {
	ctx, cancel := context.WithTimeout(x.Context(), *trialTime)
	defer cancel()
	var all sync.WaitGroup
	for k, s := range x.sites {
		all.Go(func() {
			for pause(ctx, 40*time.Second); ctx.Err() == nil; pause(ctx, 90*time.Second) {
				x.torment(ctx, k, s)
			}
		})
	}
	if x.engine.leader != nil {
		all.Go(func() {
			for pause(ctx, 60*time.Second); ctx.Err() == nil; pause(ctx, 90*time.Second) {
				x.act("leader killed", x.engine.leader)
			}
		})
	}
	all.Wait()
}

func (x *trial) torment(ctx context.Context, k int, s *site) {
	const most = 75 * time.Second
	switch rand.IntN(5) {
	case 0:
		x.act("kill", s.kill)
		pause(ctx, most)
		s.start()
	case 1:
		x.act("kill", s.kill)
		s.start() // at once
	case 2:
		x.act("stop", func() { s.signal(syscall.SIGSTOP) })
		pause(ctx, most)
		s.signal(syscall.SIGCONT)
	default:
		way := []string{deaf, mute, away}[rand.IntN(3)]
		x.act(way, func() { x.engine.cut(k, way) })
		pause(ctx, most)
		x.engine.heal(k)
	}
}

func pause(ctx context.Context, most time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(most)):
	}
}

func (x *trial) act(what string, do func()) {
	x.mu.Lock()
	x.acts[what]++
	x.mu.Unlock()
	do()
}

func (x *trial) count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.took)
}

func (x *trial) await(what string, ok func() bool) {
	x.Helper()
	for deadline := time.Now().Add(4 * time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.Fatalf("waited in vain: %s", what)
		}
	}
}

// settle waits until all hosts are well, all lines answered, and the rooms of all hosts equal; then it ends the hosts.
func (x *trial) settle() {
	began := time.Now()
	for k, s := range x.sites {
		x.engine.heal(k)
		s.signal(syscall.SIGCONT)
	}
	for deadline := time.Now().Add(5 * time.Minute); !x.settled() && time.Now().Before(deadline); {
		time.Sleep(200 * time.Millisecond)
	}
	x.Logf("settled in %v", time.Since(began).Round(time.Millisecond))
	for _, s := range x.sites {
		s.signal(syscall.SIGTERM)
	}
	for _, s := range x.sites {
		<-s.gone
		s.lethe("hosts") // brings the rooms
	}
}

func (x *trial) settled() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.sites {
		if len(x.answered(s)) < len(x.waits) {
			return false
		}
	}
	return !slices.ContainsFunc(x.rooms(), func(room string) bool { return len(x.differ(room)) > 0 })
}

// differ returns the hosts that have another room than the first one.
func (x *trial) differ(room string) []*site {
	text := func(s *site) string {
		data, _ := os.ReadFile(chat.Path(s.dir, room))
		return string(data)
	}
	first := text(x.sites[0])
	return slices.DeleteFunc(slices.Clone(x.sites), func(s *site) bool { return text(s) == first })
}

func (x *trial) rooms() (all []string) {
	for _, name := range x.names {
		all = append(all, x.room(name))
	}
	return slices.Compact(all)
}

var (
	asksSum  = regexp.MustCompile(`@(i\d+) what is (\d+)\+1\?`)
	tellsSum = regexp.MustCompile(`\d+\+1 = \d+`)
)

// check counts what was lost, doubled and said by who did not have the life.
func (x *trial) check() {
	at := holders(x, x.sites[0], x.sites)
	heard, replied := map[string]int{}, map[string]int{}
	for _, name := range x.names {
		if at[name] == nil {
			x.Errorf("nobody has %s", name)
			continue
		}
		x.read(at[name], name, heard, replied)
	}
	stands := x.stand()
	lost, doubled, stale := 0, 0, 0
	for n, line := range x.said {
		counts := []int{stands[line]}
		if m := asksSum.FindStringSubmatch(line); m != nil {
			counts = append(counts, heard[line], stands[m[1]+" "+x.answer(n)], replied[m[1]+" "+x.answer(n)])
		}
		least, most := slices.Min(counts), slices.Max(counts)
		if least < 1 {
			lost++
		} else if most > 1 {
			doubled++
		}
		if least != 1 || most != 1 {
			x.Errorf("%q: stands, heard, answer stands, replied: %v", line, counts)
		}
	}
	for said, count := range stands {
		if strings.Contains(said, " = ") && replied[said] < count {
			stale++
			x.Errorf("said, and its life does not know of it: %q", said)
		}
	}
	for _, s := range x.sites {
		if out := s.lethe("check"); !strings.Contains(out, "faults: 0") {
			x.Errorf("%s: %s", filepath.Base(s.dir), out)
		}
	}
	slices.Sort(x.took)
	x.Logf("%s: %d lines, %d answers; %v", x.engine.name, len(x.said), len(x.took), x.acts)
	x.Logf("line to answer: p50 %v, p99 %v, longest %v", x.took[len(x.took)/2], x.took[len(x.took)*99/100], x.took[len(x.took)-1])
	x.Logf("lost %d, doubled %d, said by a stale host %d", lost, doubled, stale)
}

// stand counts the lines of people in the rooms, and the sums that each identity tells. The rooms must be the same at
// all hosts.
func (x *trial) stand() map[string]int {
	counts := map[string]int{}
	for _, room := range x.rooms() {
		text, _ := os.ReadFile(chat.Path(x.sites[0].dir, room))
		for _, s := range x.differ(room) {
			x.Errorf("room %s is another one at %s", room, filepath.Base(s.dir))
		}
		for line := range bytes.Lines(text) {
			l := chat.Parse(line)
			if l.Agent {
				for _, sum := range tellsSum.FindAllString(l.Text, -1) {
					counts[l.Name+" "+sum]++
				}
			} else {
				counts[l.Text]++
			}
		}
	}
	return counts
}

// read counts the questions that a life has heard, and the sums that its replies tell.
func (x *trial) read(at *site, name string, heard, replied map[string]int) {
	id, err := home.Home{Dir: at.dir}.Find(name)
	lethetest.Must(x, err)
	texts, err := blobs.Open(home.Home{Dir: at.dir}.Blobs())
	lethetest.Must(x, err)
	lethetest.Must(x, life.Scan(id.LIFE(), func(e life.Event, _ int64) error {
		if e.Kind != "inbound" && e.Kind != "reply" {
			return nil
		}
		b, err := texts.Find(e.Refs[0].Hash)
		if err != nil {
			return err
		}
		if e.Kind == "reply" { // which has its thoughts before its text
			sums := tellsSum.FindAllString(string(b.Body), -1)
			slices.Sort(sums)
			for _, sum := range slices.Compact(sums) {
				replied[name+" "+sum]++
			}
			return nil
		}
		for _, m := range asksSum.FindAllStringSubmatch(string(b.Body), -1) {
			if m[1] == name {
				heard[m[0]]++
			}
		}
		return nil
	}))
}

// tell shows what the daemons said, if the trial has failed.
func (x *trial) tell() {
	for _, s := range x.sites {
		text := s.err.String()
		if x.Failed() {
			x.Logf("%s said:\n%s", filepath.Base(s.dir), text[max(0, len(text)-8000):])
		}
	}
}
