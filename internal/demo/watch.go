package demo

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/status"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// What the tour knows it reads from the files of the home: the room, LIFE.md,
// status.json, context.md, and the fold of the log.

// say appends a line to the room and waits for the answer.
func (t *tour) say(text string) (answer string) { return t.answer(text, t.post(text)) }

// post appends a line to the room, as any bridge does, and returns where it ends.
func (t *tour) post(text string) (end int64) {
	line := must(chat.Format(false, "you", time.Now(), text))
	_, end, err := chat.Append(chat.Path(t.home.Dir, room), line)
	check(err)
	t.said++
	return end
}

// answer waits for what is said to a line that ends at a byte of the room, and
// until nothing is owed any more.
func (t *tour) answer(line string, end int64) (answer string) {
	t.await("an answer to "+strconv.Quote(cut(line, 40)), func() bool {
		for _, l := range t.lines() {
			if l.From >= end && l.Agent && l.Name == name {
				answer = l.Text
				break
			}
		}
		return answer != "" && t.idle(end)
	})
	return answer
}

// lines reads the room. One that is not there yet is empty.
func (t *tour) lines() []chat.Line {
	batch, err := chat.Read(chat.Path(t.home.Dir, room), chat.Cursor{}, 1<<24)
	if err != nil {
		return nil
	}
	return batch.Lines
}

// status is what the identity shows; zero when it cannot be read.
func (t *tour) status() status.Status {
	s, _ := status.Read(t.id.Dir)
	return s
}

// idle reports whether all of the room through a byte has been heard and nothing
// is owed for it.
func (t *tour) idle(through int64) bool {
	s := t.status()
	return s.PID == t.daemon.cmd.Process.Pid && s.State == status.Idle &&
		s.Heard[room] >= through && !slices.Contains(s.Answering, room)
}

// fold reads the state of the identity from its log, as lethe context does.
func (t *tour) fold() (*mind.State, error) { return agent.Fold(t.id, t.store) }

// logged is an event of LIFE.md with its line.
type logged struct {
	life.Event
	line string
}

// life reads LIFE.md. A last line that is being written is left out.
func (t *tour) life() []logged {
	var out []logged
	for line := range strings.Lines(string(must(os.ReadFile(t.id.LIFE())))) {
		if line, whole := strings.CutSuffix(line, "\n"); whole {
			out = append(out, logged{must(life.ParseLine(line)), line})
		}
	}
	return out
}

// bare is a line of LIFE without its time and checksum.
func (l logged) bare() string {
	_, line, _ := strings.Cut(l.line, "] ")
	if i := strings.LastIndex(line, " #"); i >= 0 {
		line = line[:i]
	}
	return strings.TrimSuffix(line, " +")
}

// happened returns the events of some kinds from the n-th on.
func (t *tour) happened(n int, kinds ...string) []logged {
	all := t.life()
	return slices.DeleteFunc(all[min(n, len(all)):], func(e logged) bool { return !slices.Contains(kinds, e.Kind) })
}

// view reads context.md.
func (t *tour) view() string {
	return string(must(os.ReadFile(filepath.Join(t.id.Dir, "context.md"))))
}

// viewed waits until context.md is whole and shows all of a state that will do.
func (t *tour) viewed(what string, will func(*mind.State) bool) (s *mind.State, text string) {
	t.await(what, func() bool {
		var err error
		if s, err = t.fold(); err != nil || !will(s) {
			return false
		}
		raw, err := os.ReadFile(filepath.Join(t.id.Dir, "context.md"))
		seen, ok := mind.ReadView(raw)
		text = string(raw)
		return err == nil && ok && seen.Intact && seen.Epoch == s.Epoch && seen.Through == s.Next-1
	})
	return s, text
}

// measure reads the tokens of the context before and after the compaction in the
// daemon's log.
func (t *tour) measure() {
	log := must(os.ReadFile(filepath.Join(t.dir, "daemon.log")))
	m := regexp.MustCompile(`msg=compacted .*tokens_before=(\d+) tokens_after=(\d+)`).FindSubmatch(log)
	if m == nil {
		fail("the daemon's log says nothing of a compaction")
	}
	t.before, _ = strconv.Atoi(string(m[1])) // digits, by the pattern
	t.after, _ = strconv.Atoi(string(m[2]))
}

// reach looks every line that was ever said in the room or given by a tool up in
// the context, then behind its refs, then behind the refs found there. It returns
// how many bytes are how many refs away; the last are out of reach.
func (t *tour) reach() (at [4]int) {
	seen := t.seen()
	pages, opened := []string{blobs.Unescape(t.view())}, map[blobs.Hash]bool{}
	for depth := range at {
		seen = slices.DeleteFunc(seen, func(line string) bool {
			found := depth == 3 || slices.ContainsFunc(pages, func(p string) bool { return strings.Contains(p, line) })
			if found {
				at[depth] += len(line)
			}
			return found
		})
		pages = t.open(pages, opened)
	}
	return at
}

// seen lists the lines of everything that was said in the room or that a tool
// gave. What UNCOMPACT gave was there before.
func (t *tour) seen() []string {
	var texts, out []string
	for _, l := range t.lines() {
		texts = append(texts, l.Text)
	}
	for _, e := range t.happened(0, "result") {
		for _, ref := range e.Refs {
			if result, _ := event.As[event.Result](e.Event); result.Tool != "UNCOMPACT" {
				texts = append(texts, t.cat(ref.Hash))
			}
		}
	}
	for line := range strings.Lines(strings.Join(texts, "\n")) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// open follows the refs of some texts, each once. An address that is no blob of
// the store was only written by somebody.
func (t *tour) open(texts []string, opened map[blobs.Hash]bool) (out []string) {
	for _, text := range texts {
		for _, short := range blobs.Mentions(text) {
			h, err := t.store.Resolve(short)
			if errors.Is(err, blobs.ErrNotFound) || opened[h] {
				continue
			}
			check(err)
			opened[h] = true
			out = append(out, blobs.Unescape(t.cat(short)))
		}
	}
	return out
}

// cat reads the body of a blob, checked, as lethe cat does.
func (t *tour) cat(short string) string {
	return string(must(t.store.Get(must(t.store.Resolve(short)))).Body)
}
