package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
func (t *tour) say(text string) (answer string) { return t.answer(t.post(text)) }

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
func (t *tour) answer(end int64) (answer string) {
	t.await(fmt.Sprintf("an answer to line %d", t.said), func() bool {
		for _, l := range t.lines() {
			if l.From >= end && l.Agent && answer == "" {
				answer = l.Text
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

// logged is an event of LIFE.md with its line.
type logged struct {
	life.Event
	line string
}

// bare is a line of LIFE without its time and checksum.
func (l logged) bare() string {
	_, line, _ := strings.Cut(l.line, "] ")
	if i := strings.LastIndex(line, " #"); i >= 0 {
		line = line[:i]
	}
	return strings.TrimSuffix(line, " +")
}

// happened returns the events of some kinds from the n-th line of LIFE.md on, of all
// kinds where none is given. A last line that is being written is left out.
func (t *tour) happened(n int, kinds ...string) (out []logged) {
	lines := strings.SplitAfter(string(must(os.ReadFile(t.id.LIFE()))), "\n")
	for _, line := range lines[min(n, len(lines)):] {
		line, whole := strings.CutSuffix(line, "\n")
		if !whole {
			continue
		}
		if e := must(life.ParseLine(line)); len(kinds) == 0 || slices.Contains(kinds, e.Kind) {
			out = append(out, logged{e, line})
		}
	}
	return out
}

// view reads context.md.
func (t *tour) view() string {
	return string(must(os.ReadFile(filepath.Join(t.id.Dir, "context.md"))))
}

// viewed waits until context.md is whole and shows all of a state that will do.
func (t *tour) viewed(what string, will func(*mind.State) bool) (s *mind.State, text string) {
	t.await(what, func() bool {
		var err error
		if s, err = agent.Fold(t.id, t.store); err != nil || !will(s) {
			return false
		}
		text = t.view()
		seen, ok := mind.ReadView([]byte(text))
		return ok && seen.Intact && seen.Epoch == s.Epoch && seen.Through == s.Next-1
	})
	return s, text
}

// reach counts the bytes of all lines that were ever said in the room or given by a
// tool, and those of them that are neither in the context nor behind its refs, nor behind
// the refs found there.
func (t *tour) reach() (total, lost int) {
	pages, opened := []string{blobs.Unescape(t.view())}, map[blobs.Hash]bool{}
	for behind, depth := pages, 0; depth < 2; depth++ {
		behind = t.open(strings.Join(behind, "\n"), opened)
		pages = append(pages, behind...)
	}
	for _, line := range t.seen() {
		total += len(line)
		if !slices.ContainsFunc(pages, func(page string) bool { return strings.Contains(page, line) }) {
			lost += len(line)
		}
	}
	return total, lost
}

// seen lists the lines of everything that was said in the room or that a tool
// gave. What UNCOMPACT gave was there before.
func (t *tour) seen() (out []string) {
	var texts []string
	for _, l := range t.lines() {
		texts = append(texts, l.Text)
	}
	for _, e := range t.happened(0, "result") {
		if result, _ := event.As[event.Result](e.Event); result.Tool != "UNCOMPACT" {
			texts = append(texts, t.cat(e.Refs[0].Hash))
		}
	}
	for line := range strings.Lines(strings.Join(texts, "\n")) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// open follows the refs of a text, each once. An address that is no blob of the store
// was only written by somebody.
func (t *tour) open(text string, opened map[blobs.Hash]bool) (out []string) {
	for _, short := range blobs.Mentions(text) {
		h, err := t.store.Resolve(short)
		if errors.Is(err, blobs.ErrNotFound) || opened[h] {
			continue
		}
		check(err)
		opened[h] = true
		out = append(out, blobs.Unescape(t.cat(short)))
	}
	return out
}

// cat reads the body of a blob, checked, as lethe cat does.
func (t *tour) cat(short string) string {
	return string(must(t.store.Get(must(t.store.Resolve(short)))).Body)
}
