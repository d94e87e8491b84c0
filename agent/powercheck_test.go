package agent

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"

	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/test/crashdisk"
	"lethe/internal/test/lethetest"
	"lethe/life"
)

// resume lets the identity go on in a home as a power loss has left it, and
// checks what must be true.
func (l *recorded) resume(left, all crashdisk.Tree) {
	sound := l.soundLog(left)
	var err error
	_, err = home.Open(l.home.Dir)
	lethetest.Must(l, err)
	l.store, err = blobs.Open(l.home.Blobs())
	lethetest.Must(l, err)
	id, err := l.home.Find("ada")
	if errors.Is(err, home.ErrNotFound) {
		id, err = home.Boot(l.home, l.store, home.BootOptions{Name: "ada", Rooms: []string{"dev", "ops"}})
	}
	lethetest.Must(l, err)
	if sound > 0 {
		equal(l, "the identity", id.Self, l.id.Self)
	}
	edits := 0
	if sound > 0 {
		edits = len(l.having(id, "epoch", "why", "edit"))
	}
	var now []sentAt
	l.conf.Home, l.conf.Store = l.home, l.store
	l.gauge.tell = func(r llm.Request) { l.note(&now, id, r) }
	r := l.run(id)
	r.settled()
	l.send("dev", "last question")
	r.finish()

	l.checkHome(id)
	l.checkRooms(id, left, all)
	l.checkRequests(id, sound, now)
	l.checkEdit(id, left, len(l.having(id, "epoch", "why", "edit"))-edits)
}

// checkEdit: what a person saved is in force if all of it is left, and else nothing of it is, but it is kept; nothing
// else that is left is taken for an edit.
func (l *recorded) checkEdit(id home.Identity, left crashdisk.Tree, more int) {
	view := left["agents/"+l.id.Self+"/"+home.ContextFile].Data
	whole := len(l.saved) > 0 && bytes.Equal(bytes.TrimSpace(view), bytes.TrimSpace(l.saved))
	obeyed := strings.Contains(l.read(l.own(id, home.MemoryFile)), edited)
	kept := slices.ContainsFunc(l.kept(id), func(text string) bool { return strings.Contains(text, edited) })
	if more > 0 && !whole {
		l.Errorf("%d edits are in force, and nobody made one: context.md was\n%q", more, view)
	}
	if !obeyed && (whole || bytes.Contains(view, []byte(edited)) && !kept) {
		l.Errorf("lost: an edit is not in force, whole %v, kept %v", whole, kept)
	}
}

// soundLog returns how much of the log is left: whole lines of what it was.
func (l *recorded) soundLog(left crashdisk.Tree) int {
	log := left["agents/"+l.id.Self+"/LIFE.md"].Data
	n := 0
	for n < min(len(log), len(l.log)) && log[n] == l.log[n] {
		n++
	}
	return bytes.LastIndexByte(log[:n], '\n') + 1
}

// checkHome: one identity, which owes nothing, whose log and blobs are whole.
func (l *recorded) checkHome(id home.Identity) {
	all, err := l.home.List()
	lethetest.Must(l, err)
	equal(l, "identities", len(all), 1)
	if ran, _ := os.ReadFile(l.own(id, "workspace/ran.txt")); len(ran) > len("ran\n") {
		l.Errorf("BASH ran twice: %q", ran)
	}
	equal(l, "owes", l.owes(id), false)
	l.conserved(id)
	for _, e := range l.life(id) {
		for i := range e.Refs {
			l.body(e, i)
		}
	}
}

// checkRooms: what a room still has, and what the log had, is heard once; what was
// seen in a room, or decided, is in it once.
func (l *recorded) checkRooms(id home.Identity, left, all crashdisk.Tree) {
	for _, room := range []string{"dev", "ops", "lab"} {
		heard, there := map[string]int{}, map[string]int{}
		for _, text := range append(l.heard(id, room), l.obeyed(id, room)...) {
			heard[text]++
		}
		for text, n := range heard {
			if n > 1 {
				l.Errorf("doubled: %q of room %s was heard %d times", text, room, n)
			}
		}
		for _, line := range l.lines(room) {
			there[string(line.Raw)]++
		}
		for _, line := range wholeLines(left, room) {
			torn := bytes.HasPrefix(line.Raw, []byte("[AGENT:ada ")) // its own post, cut off: nobody's message
			if !line.Agent && !torn && heard[line.Text] == 0 {
				l.Errorf("lost: %q of room %s was not heard", line.Text, room)
			}
			if there[string(line.Raw)] == 0 {
				l.Errorf("lost: %q is not in room %s any more", line.Raw, room)
			}
		}
		for _, line := range wholeLines(all, room) {
			if n := there[string(line.Raw)]; line.Agent && n == 0 {
				l.Errorf("lost: %q was seen in room %s", line.Raw, room)
			}
		}
		l.checkPosts(id, room)
	}
	if n := len(l.heard(id, "dev")); n == 0 || l.heard(id, "dev")[n-1] != "last question" {
		l.Errorf("lost: the last question was not heard")
	}
}

// wholeLines returns the lines of a room that have a newline and no hole.
func wholeLines(t crashdisk.Tree, room string) []chat.Line {
	var out []chat.Line
	for raw := range bytes.Lines(t["chats/"+room+".md"].Data) {
		if line := chat.Parse(raw); bytes.HasSuffix(raw, []byte("\n")) && !bytes.Contains(raw, []byte{0}) && !line.Blank() {
			out = append(out, line)
		}
	}
	return out
}

// checkPosts: each line that was decided is in the room once, and nothing else of
// the identity's is, but what was torn.
func (l *recorded) checkPosts(id home.Identity, room string) {
	decided, posted := 0, 0
	for _, e := range l.life(id) {
		for _, p := range e.All("post") {
			if strings.HasPrefix(p, room+"@") {
				decided++
			}
		}
		if e.Kind == "posted" && e.Get("room") == room {
			posted++
		}
	}
	var said []string
	for _, line := range l.lines(room) {
		if line.Agent && !bytes.Contains(line.Raw, []byte{0}) {
			said = append(said, string(line.Raw))
			for _, hash := range blobs.Mentions(line.Text) {
				h, err := l.store.Resolve(hash)
				if err != nil {
					l.Errorf("lost: the file of %q: %v", line.Raw, err)
					continue
				}
				if b, err := l.store.Get(h); err != nil || string(b.Body) != "ran\n" {
					l.Errorf("lost: the file of %q: %v, %q", line.Raw, err, b.Body)
				}
			}
		}
	}
	whole := unbroken(said)
	switch {
	case len(whole) > posted:
		l.Errorf("doubled: room %s has %d lines, %d were posted: %q", room, len(whole), posted, said)
	case decided != posted || len(whole) != posted:
		l.Errorf("lost: room %s: %d lines were decided, %d posted, and it has %d: %q", room, decided, posted, len(whole), said)
	}
}

// unbroken drops what a post that was cut off has left in a room, before the post
// was made again.
func unbroken(said []string) []string {
	return slices.DeleteFunc(slices.Clone(said), func(s string) bool {
		return slices.ContainsFunc(said, func(o string) bool { return len(s) < len(o) && strings.HasPrefix(o, s) })
	})
}

// obeyed returns the texts of the commands that were recorded.
func (w *world) obeyed(id home.Identity, room string) []string {
	var out []string
	for _, e := range w.events(id, "command") {
		if e.Get("room") == room {
			out = append(out, chat.Parse([]byte(e.Get("line"))).Text)
		}
	}
	return out
}

// checkRequests: each begins with the last one
// whose answer the log had, until another epoch began.
func (l *recorded) checkRequests(id home.Identity, sound int, now []sentAt) {
	var base []byte
	epochs := map[int64]string{} // where each epoch event with a number stands
	lethetest.Must(l, life.Scan(id.LIFE(), func(e life.Event, at int64) error {
		if e.Kind == life.Epoch {
			epochs[at] = e.Arg(0)
		}
		return nil
	}))
	epochAt := func(n int64) (number string) {
		last := int64(-1)
		for at, e := range epochs {
			if at < n && at > last {
				last, number = at, e
			}
		}
		return number
	}
	var asked int64
	for _, q := range l.sent {
		if rest := string(l.log[q.log:max(q.log, int64(sound))]); strings.HasPrefix(rest[strings.IndexByte(rest, ']')+1:], " reply ") {
			base, asked = q.messages, q.log
		}
	}
	for _, q := range now {
		if base != nil && epochAt(q.log) == epochAt(asked) && !bytes.Equal(q.messages, base) &&
			!bytes.HasPrefix(q.messages, append(bytes.Clone(base), ',')) {
			l.Errorf("a request does not begin with the one that was answered before:\n%s\n%s", base, q.messages)
		}
	}
}
