package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/llm"
	"lethe/mind"
)

// Bounds of what one look into a room takes in. A flood becomes at most
// maxEntries entries before the next model call; the rest waits in its file.
const (
	entryBytes = 16 << 10 // an entry of ordinary size, in bytes of room lines
	maxEntry   = 4 << 20  // the largest entry
	maxEntries = 8
	firstHeard = 20 // lines that a first subscription hears
)

// subscriptions brings the state in line with the links in subs/, which anyone
// may have changed.
func (a *Agent) subscriptions() error {
	linked, err := chat.Rooms(a.id.Subs())
	if err != nil {
		return err
	}
	for _, room := range linked {
		if r := a.state.Rooms[room]; r == nil || !r.Joined {
			err := a.join(room, r == nil)
			if deaf, ok := errors.AsType[*deafError](err); ok {
				a.warnDeaf(room, deaf) // it is joined once it can be read
			} else if err != nil {
				return err
			}
		}
	}
	if err := a.lookAtLinks(linked); err != nil {
		return err
	}
	for name, r := range a.state.Rooms {
		if r.Joined && !slices.Contains(linked, name) {
			if err := a.commit(happen("left", nil, "room", name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// join records a subscription. A first one begins before the last lines of the
// room and says how many there are; a renewed one goes on at its cursor.
func (a *Agent) join(room string, first bool) error {
	text := fmt.Sprintf("You hear room %s again, from where you left it.", room)
	d := happen("joined", []string{a.entryID(0)}, "room", room)
	if first {
		lines, total, at, err := chat.Tail(a.path(room), firstHeard)
		if err != nil {
			return &deafError{err}
		}
		d = happen("joined", []string{a.entryID(0)}, "room", room,
			"inode", strconv.FormatUint(at.Inode, 10), "at", strconv.FormatInt(at.Offset, 10),
			"before", at.Before, "last", strings.Join(at.Last, ","), "total", strconv.Itoa(total))
		if len(lines) > 0 {
			d = d.field("end", strconv.FormatInt(lines[len(lines)-1].To, 10))
		}
		switch {
		case total == 0:
			text = fmt.Sprintf("You now hear room %s. Nothing was said there yet.", room)
		case total <= len(lines):
			text = fmt.Sprintf("You now hear room %s, all of it: lines so far: %d.", room, total)
		default:
			text = fmt.Sprintf("You now hear room %s. It held %d lines before; you hear the last %d. Read rooms/%s.md for the others.", room, total, len(lines), room)
		}
	}
	return a.commit(d.with("joined room "+room, []byte(text)))
}

func (a *Agent) path(room string) string { return chat.Path(a.cfg.Home.Dir, room) }

// joined returns the rooms that are heard, sorted.
func (a *Agent) joined() []string {
	var out []string
	for name, r := range a.state.Rooms {
		if r.Joined {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// listen takes in what was said since the last look, room by room, in the order
// of each file.
func (a *Agent) listen() error {
	if err := a.subscriptions(); err != nil {
		return err
	}
	a.more = false
	rooms := a.joined()
	news := 0
	for _, room := range rooms {
		if _, end, err := chat.End(a.path(room)); err == nil && end != a.cursor(room).Offset {
			news++
		}
	}
	for _, room := range rooms {
		err := a.hear(room, max(1, news))
		var deaf *deafError
		switch {
		case errors.As(err, &deaf) && a.unlocked(deaf.error):
			a.more = true
		case errors.As(err, &deaf):
			a.warnDeaf(room, deaf)
		case err != nil:
			return err
		default:
			delete(a.deaf, room)
		}
	}
	return nil
}

// cursor is where to read on in a room.
func (a *Agent) cursor(room string) chat.Cursor {
	if c, ok := a.ahead[room]; ok {
		return c
	}
	return a.state.Rooms[room].Cursor
}

// hear takes in what is new in one room, which shares what may be taken in with
// as many others as have news.
func (a *Agent) hear(room string, rooms int) error {
	a.quota = a.budget() / rooms
	most := max(1, maxEntries/rooms)
	size := int64(entryBytes)
	if _, end, err := chat.End(a.path(room)); err == nil {
		size = min(maxEntry, max(size, (end-a.cursor(room).Offset)/int64(most)))
	}
	var entries []draft
	for n := 0; n < most; n++ {
		batch, err := chat.Read(a.path(room), a.cursor(room), int(size))
		if err != nil {
			if err := a.flush(room, &entries); err != nil {
				return err
			}
			return &deafError{err}
		}
		if batch.Missing {
			break
		}
		if batch.Realigned || batch.Restarted {
			delete(a.looked, room) // its offsets are another file's
			a.replaced[room] = true
		}
		if len(batch.Lines) == 0 && !batch.More {
			a.ahead[room] = batch.Next // what was aligned once need not be again
			break
		}
		if batch.Restarted && a.state.Rooms[room].Cursor.Offset > 0 {
			a.cfg.Log.Warn("a room was replaced and nothing in it was heard before; it is read from its start", "room", room)
		}
		all, err := a.take(room, batch, &entries)
		if err != nil {
			return err
		}
		if a.replaced[room] { // what comes next is told from own lines by the new offsets
			if err := a.flush(room, &entries); err != nil {
				return err
			}
		}
		if !all {
			a.more = true
			break
		}
		if !batch.More {
			break
		}
		a.more = a.more || n+1 == most
	}
	return a.flush(room, &entries)
}

// take goes through a batch: runs of lines become inbound entries, commands are
// obeyed in between, own lines are passed over. It reports whether that was all of
// it: what follows the last of so many commands waits for the next look.
func (a *Agent) take(room string, batch chat.Batch, entries *[]draft) (all bool, err error) {
	moved := a.replaced[room]
	from := batch.After(0).Offset
	var run []chat.Line
	obeyed := 0
	end := func(upto int) { // the run ends before line upto
		if d, ok := a.inbound(room, from, run, batch.After(upto), moved); ok {
			*entries = append(*entries, d)
			moved = false
		}
		run, from = nil, batch.After(upto).Offset
	}
	for i, l := range batch.Lines {
		if stopped := a.state.Rooms[room].Stopped; len(run) > 0 && run[0].From < stopped && l.From >= stopped {
			end(i)
		}
		name, arg, ok := a.command(room, l, moved)
		if !ok || a.unheard(room, l, moved) {
			run = append(run, l)
			continue
		}
		end(i)
		if err := a.flush(room, entries); err != nil {
			return false, err
		}
		if err := a.obey(room, l, batch.After(i+1), name, arg, false); err != nil {
			return false, err
		}
		from, moved = l.To, false
		if obeyed++; obeyed == maxCommands {
			a.ahead[room] = batch.After(i + 1)
			return false, nil
		}
	}
	end(len(batch.Lines))
	a.ahead[room] = batch.Next
	return true, nil
}

// unheard reports whether a line is one that the identity posted itself, or a
// command that it obeyed already.
func (a *Agent) unheard(room string, l chat.Line, moved bool) bool {
	r, signed := a.state.Rooms[room], a.signed(l)
	if signed && slices.ContainsFunc(a.state.Outbox, func(p mind.Post) bool { return p.Room == room && strings.HasPrefix(p.Line, string(l.Raw)) }) {
		return true // an attempt at a post that failed, and yet is there, or its beginning
	}
	// Offsets mean nothing in another file, and a file may have become another
	// one behind the cursor, where nothing tells.
	_, _, command := chat.Command(l)
	if !moved && (command || signed) && mind.Covered(r.Own, l.From, l.To) {
		return true
	}
	return signed && slices.Contains(r.Posted, chat.Hash(l.Raw))
}

// inbound drafts the entry for a run of lines that ends where next stands. There
// is none when all of them are our own.
func (a *Agent) inbound(room string, from int64, run []chat.Line, next chat.Cursor, moved bool) (draft, bool) {
	var text []byte
	var own []mind.Span
	var first chat.Line // that is heard
	heard, agents := 0, 0
	for _, l := range run {
		at := int64(len(text))
		text = append(append(text, l.Raw...), '\n')
		if a.unheard(room, l, moved) {
			own = mind.AddSpan(own, mind.Span{From: at, To: int64(len(text))})
			continue
		}
		if heard++; heard == 1 {
			first = l
		}
		if l.Agent {
			agents++
		}
	}
	if heard == 0 {
		return draft{}, false
	}
	d := happen(mind.Inbound, []string{"e"}, "room", room,
		"inode", strconv.FormatUint(next.Inode, 10), "at", mind.Span{From: from, To: next.Offset}.String(),
		"before", next.Before, "lines", strconv.Itoa(heard))
	for _, o := range own {
		d = d.field("own", o.String())
	}
	if moved {
		d = d.field("moved", "yes")
	}
	r := a.state.Rooms[room]
	if agents == heard && r.AgentTurns >= a.cfg.MaxAgentTurns || !moved && next.Offset <= r.Stopped {
		d = d.field("wake", "no")
	}
	gist := fmt.Sprintf("%s: %s", room, first.Text)
	if heard > 1 {
		gist = fmt.Sprintf("%s: %d lines, from %s: %s", room, heard, first.Name, first.Text)
	}
	d.shown = mind.Heard(text, own)
	return d.with(gist, text), true
}

// flush commits the entries of a room, with what users granted in them. They
// share what is left of the room's quota.
func (a *Agent) flush(room string, entries *[]draft) error {
	if len(*entries) == 0 {
		return nil
	}
	var out []draft
	for k, d := range *entries {
		if d.event.Get("moved") != "" {
			delete(a.replaced, room)
		}
		d.event.Args = []string{a.entryID(k)}
		share := a.quota / (len(*entries) - k)
		if show := fit(d.shown, d.bodies[0].gist, len(d.shown), share); show > 0 {
			d = d.field("show", strconv.Itoa(show))
			a.quota -= share
		} else {
			a.quota -= llm.Weight(d.shown)
		}
		out = append(out, d)
	}
	for _, d := range *entries {
		out = append(out, a.grants(d.bodies[0].data)...)
	}
	*entries = nil
	a.retryAt = time.Time{} // somebody is there: an unreachable model is asked at once
	return a.commit(out...)
}

// grants finds the blobs of other lives that users name: naming one gives the
// identity the right to open it.
func (a *Agent) grants(text []byte) []draft {
	var out []draft
	for raw := range strings.Lines(string(text)) {
		l := chat.Parse([]byte(raw))
		if l.Agent {
			continue
		}
		for _, short := range blobs.Mentions(l.Text) {
			h, err := a.store.Resolve(short)
			if err != nil || a.state.Grants[h.String()] {
				continue
			}
			if b, err := a.store.Get(h); err == nil && b.Life != a.id.Self && h.String() != a.id.Self {
				out = append(out, happen("grant", nil, "hash", h.String(), "by", l.Name))
			}
		}
	}
	return out
}

// scopes is what on disk concerns the identity. The rooms are watched as a whole,
// since what it hears may change.
func (a *Agent) scopes() []chat.Scope {
	return []chat.Scope{
		{Dir: a.cfg.Home.Chats()},
		{Dir: a.id.Subs()},
		{Dir: a.id.Dir, Names: append([]string{stopFile, compactFile, contextFile}, ownFiles...)},
	}
}

// Files in an identity's directory that ask a running one to stop, or to compact.
const (
	stopFile    = "stop"
	compactFile = "compact"
)

// AskToCompact asks a running identity to compact its context. It returns at once;
// a new epoch in its log says that it is done.
func AskToCompact(id Identity) error {
	return durable.Overwrite(filepath.Join(id.Dir, compactFile), nil, 0o600)
}

// CompactPending reports whether a running identity has yet to notice that it was
// asked to compact.
func CompactPending(id Identity) bool {
	_, err := os.Lstat(filepath.Join(id.Dir, compactFile))
	return err == nil
}

// Stop asks a running identity to stop. It returns at once; the identity's lock
// is free when it has stopped.
func Stop(id Identity) error {
	return durable.Overwrite(filepath.Join(id.Dir, stopFile), nil, 0o600)
}

func (a *Agent) stopAsked() bool {
	_, err := os.Lstat(filepath.Join(a.id.Dir, stopFile))
	return err == nil
}

func (a *Agent) forgetStop() error {
	err := os.Remove(filepath.Join(a.id.Dir, stopFile))
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// Running returns the process that holds an identity, or false.
func Running(id Identity) (pid string, ok bool) {
	lock := lockOf(id)
	free, err := lock.TryRLock()
	if err != nil {
		return "", false
	}
	if free {
		lock.Unlock()
		return "", false
	}
	return holder(lock.Path()), true
}
