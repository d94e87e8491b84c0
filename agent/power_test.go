package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/status"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/crashdisk"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
)

// Traces are kept by home, as faults are.
var traces sync.Map // home directory to func(durable.Op)

func tellTraces(op durable.Op) {
	traces.Range(func(home, tell any) bool {
		if op, ok := crashdisk.In(home.(string), op); ok {
			tell.(func(durable.Op))(op)
		}
		return true
	})
}

// recorded is a life of which each operation on the disk is known, from the first
// in an empty home on.
type recorded struct {
	*world
	disk  *badDisk
	id    home.Identity
	log   []byte // its LIFE
	rooms string // links to the rooms' files, which states keep: LIFE knows their inodes

	saved []byte // context.md, by a person

	mu   sync.Mutex
	ops  []durable.Op
	sent []sentAt
}

// sentAt is what was asked of the model, and how long the log was then.
type sentAt struct {
	log      int64
	messages []byte
}

// powerScript is what the model says, in the life that is recorded and in those
// that go on from a state of it. Who is asked the long question thinks until
// somebody stops it, or until it was resumed.
func powerScript(resumed bool) []rehearsal.Step {
	var forever chan struct{}
	if !resumed {
		forever = make(chan struct{})
	}
	done := func(r *rehearsal.Request) bool {
		return r.Last().Role == "tool" || strings.Contains(r.Last().Text(), "hear room lab")
	}
	return []rehearsal.Step{
		{Match: done, Times: -1, Answer: text("the first answer")},
		{Contains: "last question", Times: -1, Answer: text("the last answer")},
		{Contains: "second question", Times: -1, Answer: text("the second answer")},
		{Contains: "long question", Times: -1, Answer: text("the long answer"), Hold: forever},
		{Contains: "first question", Times: -1, Answer: calls(
			"BASH", `{"command":"echo ran >> ran.txt"}`, "SAY", `{"room":"ops","message":"half way","files":"ran.txt"}`, "JOIN",
			`{"room":"lab"}`, "READ_FILE", `{"path":"self/SOUL.md"}`,
			"SAY", `{"room":"ops","message":"`+strings.Repeat("a long word ", 100)+`"}`)},
		{Times: -1, Answer: text("noted")},
	}
}

// recordLife lives through the script. Whenever the disk lets the identity fail, it is
// opened again.
func recordLife(t testing.TB, disk *badDisk) *recorded {
	t.Helper()
	l := &recorded{world: newWorld(t, powerScript(false)...), disk: disk}
	l.limit = time.Minute
	l.conf.Forgetting.Mechanical = true
	l.gauge.tell = func(r llm.Request) { l.note(&l.sent, l.id, r) }
	lethetest.Must(t, empty(l.home.Dir)) // the home is made under the record's eyes
	traces.Store(l.home.Dir, func(op durable.Op) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ops = append(l.ops, op)
	})
	defer traces.Delete(l.home.Dir)
	defer disk.put(l.world)()
	l.again("open the home", l.disk.restart, func() error {
		_, err := home.Open(l.home.Dir)
		if err == nil {
			l.store, err = blobs.Open(l.home.Blobs())
		}
		return err
	})
	l.conf.Store = l.store
	l.live()
	l.copyHome()
	return l
}

// empty removes what is in a directory.
func empty(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)) }

func (l *recorded) note(to *[]sentAt, id home.Identity, r llm.Request) {
	if isTask(r) {
		return
	}
	messages, err := json.Marshal(r.Messages)
	fi, serr := os.Stat(id.LIFE())
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && serr == nil {
		*to = append(*to, sentAt{fi.Size(), bytes.TrimSuffix(messages, []byte("]"))})
	}
}

// outside records what somebody else does to the disk, who syncs nothing.
func (l *recorded) outside(do func() error, ops ...durable.Op) {
	l.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	lethetest.Must(l, do())
	for _, op := range ops {
		op, ok := crashdisk.In(l.home.Dir, op)
		if !ok {
			l.Fatalf("%s is not in the home", op.Path)
		}
		l.ops = append(l.ops, op)
	}
}

// echo says a line as `echo >>` does, without a sync.
func (l *recorded) echo(room, text string) {
	l.Helper()
	line, err := chat.Format(false, "ann", time.Now(), text)
	lethetest.Must(l, err)
	end, err := chat.End(l.path(room))
	lethetest.Must(l, err)
	l.outside(func() error { l.put(room, string(line)); return nil },
		durable.Op{Kind: "write", Path: l.path(room), Data: line, At: end.Size()})
}

// send says a line as lethe does: it is durable when it returns.
func (w *world) send(room, text string) {
	w.Helper()
	line, err := chat.Format(false, "ann", time.Now(), text)
	lethetest.Must(w, err)
	_, _, err = chat.Append(w.path(room), line)
	lethetest.Must(w, err)
}

// again tries until it works. retry is called before each attempt.
func (w *world) again(what string, retry func(), do func() error) {
	w.Helper()
	for try := 0; ; try++ {
		retry()
		err := do()
		if err == nil {
			return
		}
		if try == 100 {
			w.Fatalf("%s: fails again and again: %v\n%s", what, err, w.dump())
		}
	}
}

// rebirth boots until it works, as a person would.
func (w *world) rebirth(retry func(), name string, rooms ...string) (id home.Identity) {
	w.Helper()
	w.again("boot", retry, func() (err error) {
		id, err = home.Boot(w.home, w.store, home.BootOptions{Name: name, Rooms: rooms})
		if errors.Is(err, home.ErrExists) { // made, and yet reported as failed
			return nil
		}
		return err
	})
	return id
}

// live is the script: questions, an edit, a turn that is stopped, a compaction,
// a stop and another epoch.
func (l *recorded) live() {
	l.Helper()
	l.id = l.rebirth(l.disk.restart, "ada", "dev", "ops")
	var r *running
	until := func(what string, done func() bool) {
		l.Helper()
		l.again(what, l.disk.restart, func() (err error) {
			if r == nil || r.ended() {
				if r, err = l.try(l.id); err != nil {
					return err
				}
			}
			l.disk.kills(r)
			l.eventually(what, func() bool { return r.ended() || done() })
			if r.ended() {
				return fmt.Errorf("ended: %w", r.err)
			}
			return nil
		})
	}
	stop := func() {
		r.cancel()
		_ = r.wait()
	}
	has := func(room, text string) bool { return slices.Contains(l.said(room), text) }
	l.disk.spare(func() { l.send("dev", "first question") })
	l.echo("dev", "and another line")
	until("the first answer", func() bool { return has("dev", "the first answer") && r.idle() })
	shown := func() bool {
		view, _ := os.ReadFile(l.own(l.id, home.ContextFile))
		return bytes.Contains(view, []byte("◆ memory\n"))
	}
	if !shown() { // the disk failed a view, which is not tried again before something happens
		stop()
		until("context.md", func() bool { return shown() && r.idle() })
	}
	l.edit()
	until("the edit", func() bool { return len(l.having(l.id, "epoch", "why", "edit")) > 0 && r.idle() })
	l.disk.spare(func() { l.send("dev", "long question") })
	until("the long thought", func() bool {
		asked := l.asked()
		return bytes.Contains(asked[len(asked)-1].Body, []byte("long question"))
	})
	l.echo("dev", "/stop")
	until("the end of the thought", func() bool { return has("dev", "Stopped.") && r.idle() })
	l.disk.spare(func() { lethetest.Must(l, home.Ask(l.id, home.WishCompact)) })
	until("the compaction", func() bool {
		s, err := status.Read(l.id.Dir)
		return err == nil && !s.Compacting && !home.Asked(l.id, home.WishCompact) && r.idle()
	})
	stop()
	l.echo("dev", "second question")
	until("the second answer", func() bool { return has("dev", "the second answer") && r.idle() })
	stop()
}

// edit saves context.md with other words in MEMORY, as one editor or another does: in place, and nothing is synced (but a
// journal keeps that the old text went before the new one came), or by a rename, after a sync of the bytes and not of the name.
func (l *recorded) edit() {
	l.Helper()
	path := l.own(l.id, home.ContextFile)
	l.saved = []byte(strings.Replace(l.read(path), "◆ memory\n", "◆ memory\n"+edited+"\n", 1))
	if rand.IntN(2) == 0 {
		l.outside(func() error { return os.WriteFile(path, l.saved, 0o600) },
			durable.Op{Kind: "truncate", Path: path}, durable.Op{Kind: "sync", Path: path}, durable.Op{Kind: "write", Path: path, Data: l.saved})
		return
	}
	l.outside(func() error {
		return errors.Join(os.WriteFile(path+"~", l.saved, 0o600), os.Rename(path+"~", path))
	}, durable.Op{Kind: "write", Path: path + "~", Data: l.saved}, durable.Op{Kind: "sync", Path: path + "~"},
		durable.Op{Kind: "rename", Path: path + "~", To: path})
}

// edited is what a person wants to be remembered.
const edited = "mind the step"

// copyHome keeps what is needed to judge states when the home is overwritten.
func (l *recorded) copyHome() {
	l.Helper()
	var err error
	l.log, err = os.ReadFile(l.id.LIFE())
	lethetest.Must(l, err)
	l.rooms = l.TempDir()
	names, err := os.ReadDir(l.home.Chats())
	lethetest.Must(l, err)
	for _, n := range names {
		lethetest.Must(l, os.Link(filepath.Join(l.home.Chats(), n.Name()), filepath.Join(l.rooms, n.Name())))
	}
}

// lose makes the home a state of itself after the first n operations, and
// returns that state and the one in which nothing is lost.
func (l *recorded) lose(n int, keep float64, r *rand.Rand) (left, all crashdisk.Tree) {
	l.Helper()
	d := crashdisk.New()
	for _, op := range l.ops[:n] {
		d.Do(op)
	}
	left, all = d.PowerLoss(keep, r), d.PowerLoss(1, nil)
	lethetest.Must(l, empty(l.home.Dir))
	lethetest.Must(l, left.Write(l.home.Dir))
	before := time.Now().Add(-time.Hour)
	for name, f := range left {
		path := filepath.Join(l.home.Dir, name)
		if kept := filepath.Join(l.rooms, filepath.Base(name)); strings.HasPrefix(name, "chats/") {
			lethetest.Must(l, os.WriteFile(kept, f.Data, 0o600))
			lethetest.Must(l, os.Remove(path))
			lethetest.Must(l, os.Link(kept, path))
		}
		if f.Link == "" {
			lethetest.Must(l, os.Chtimes(path, before, before))
		}
	}
	return left, all
}
