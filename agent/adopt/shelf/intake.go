package shelf

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/agent/adopt"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/internal/secret"
	"lethe/internal/secret/shape"
	"lethe/life/event"
	"lethe/mind"
)

// A session that is longer is laid down in parts: a search reads whole originals.
const (
	mostPart     = 256 << 10 // bytes, and what the last entry has beyond them
	mostPictures = 50
)

// intake is the sink of a Taking. It makes originals of sessions.
type intake struct {
	*Shelf  // nil: nothing is laid down
	agent   *adopt.Agent
	taken   *Taken
	session adopt.Session
	tools   map[string]string // of the session, by the ids of their calls
	knows   func() known
	now     *original
}

// original is the session, or the part of one, at hand.
type original struct {
	body, table bytes.Buffer
	entries     int
	pictures    []mind.Ref
	from, to    time.Time
	first       string // what a person said first, or else anybody
	isPersons   bool
}

// Session begins another original.
func (in *intake) Session(session adopt.Session) error {
	err := in.flush(nil)
	in.session, in.tools = session, map[string]string{}
	return err
}

// Read notes that a file was read to its end.
func (in *intake) Read(piece adopt.Piece) error { return in.flush(&piece) }

// Entry adds an entry to the original at hand.
func (in *intake) Entry(entry adopt.Entry) error {
	if in.Shelf == nil {
		in.taken.strike(in.session.File, entry)
		return nil
	}
	if in.knows().erased[in.session.ID] {
		in.taken.Away++
		return nil
	}
	if in.now.body.Len() > mostPart || len(in.now.pictures) > mostPictures {
		if err := in.flush(nil); err != nil {
			return err
		}
	}
	text := in.taken.strike(in.session.File, entry)
	for _, media := range entry.Media {
		tag, err := in.picture(media)
		if err != nil {
			return err
		}
		text = strings.TrimPrefix(text+"\n"+tag, "\n")
	}
	at := cmp.Or(entry.At, in.now.to, in.session.Began)
	in.now.from = cmp.Or(in.now.from, at)
	if at.After(in.now.to) {
		in.now.to = at
	}
	in.now.entries++
	in.write(entry, at, text)
	return nil
}

// write renders an entry as a section of the original: who said it, and when, stands in it.
func (in *intake) write(entry adopt.Entry, at time.Time, text string) {
	now, kind, who := in.now, string(entry.Kind), string(entry.Who)
	if entry.Who == adopt.Harness && entry.Kind == adopt.Said {
		kind, who = "harness", ""
	}
	switch entry.Kind {
	case adopt.Call, adopt.Result:
		usual := adopt.Assistant
		if entry.Kind == adopt.Result {
			usual = adopt.Tool
		}
		who = word(cmp.Or(entry.Tool, in.tools[entry.Call], "-"))
		in.tools[entry.Call] = entry.Tool
		if entry.Who != usual {
			who += " by " + string(entry.Who)
		}
	case adopt.Said:
		if entry.Who == adopt.Person && !now.isPersons {
			now.isPersons, now.first = true, text
		}
		now.first = cmp.Or(now.first, text)
	}
	text = mind.Outside(text)
	if kind == string(adopt.Said) && !at.IsZero() {
		speaker := "AGENT:"
		if entry.Who == adopt.Person {
			speaker = "USER:person@"
		}
		text, who = fmt.Sprintf("[%s%s %s] %s", speaker, in.agent.Name, at.UTC().Format(time.RFC3339), mind.Indent(text)), ""
	}
	head := strings.TrimRight(fmt.Sprintf("◆ a%d %s %s %s", now.entries, kind, in.agent.Name, who), " ")
	now.body.WriteString(head + "\n" + text + "\n")
	key := "-"
	if entry.Key != 0 {
		key = strconv.FormatUint(entry.Key, 36)
	}
	fmt.Fprintf(&now.table, "a%d %s %d %s\n", now.entries, key, entry.Line, word(cmp.Or(entry.ID, "-")))
}

// word makes a text one word.
func word(text string) string { return mind.Outside(strings.Join(strings.Fields(text), "_")) }

func oneLine(text string) string { return mind.Outside(strings.Join(strings.Fields(text), " ")) }

// picture stores a picture, once a run, and returns the tag that names it.
func (in *intake) picture(media adopt.Media) (tag string, err error) {
	_, extension, _ := strings.Cut(media.Type, "/")
	file := blobs.File{
		Kind: "picture", Name: "picture." + word(cmp.Or(extension, "bin")), Type: media.Type, Size: int64(len(media.Data)),
		From: in.agent.Name,
	}
	sum := blobs.Sum(media.Data)
	ref := in.pictures[sum]
	if ref.Hash.IsZero() {
		if ref, err = in.put(file.Gist(), media.Data); err != nil {
			return "", err
		}
		in.pictures[sum] = ref
	}
	in.now.pictures = append(in.now.pictures, ref)
	return file.Tag(ref.Short), nil
}

// sourceHead begins the section of an original that says where it comes from: a line about the session, and a line for
// each entry with its number, its key, its line in the file and the id of its message.
const sourceHead = "◆ a0 source "

// flush lays the original at hand down. whole is its file, if that was read to its end.
func (in *intake) flush(whole *adopt.Piece) error {
	now, from := in.now, in.session
	if in.now = new(original); now.entries == 0 {
		return nil
	}
	source := fmt.Sprintf("session %s of %s", from.ID, from.File)
	if from.Dir != "" {
		source += ", in " + from.Dir
	}
	if from.Parent != "" {
		source += ", from session " + from.Parent
	}
	fmt.Fprintf(&now.body, "%s%s\n%s\n%s", sourceHead, in.agent.Name, oneLine(source), now.table.String())
	ref, err := in.put(secret.Text(in.gist(now)), secret.Bytes(now.body.Bytes()))
	if err != nil {
		return err
	}
	if now.body.Reset(); now.body.Cap() < 4*mostPart {
		in.now.body = now.body // the next one needs as much
	}
	line := event.Adopted{
		Agent: in.agent.Name, Session: from.ID, Parent: from.Parent, File: from.File, From: now.from, To: now.to,
		Entries: now.entries,
	}
	if whole != nil && whole.Path == from.File {
		line.Size, line.Changed = whole.Size, whole.Changed
	}
	in.taken.Adopted++
	in.taken.Made = append(in.taken.Made, ref.Gist)
	in.taken.Added += now.entries
	in.keep(line, blobs.Ref{Hash: ref.Short, Gist: ref.Gist})
	in.records = append(in.records, journal.Record{Event: line, Stored: append(now.pictures, ref)})
	return nil
}

// rest commits what was laid down, so that others may write the journal. Pictures stand before the text that has them.
func (in *intake) rest() error {
	if in.Shelf == nil {
		return nil
	}
	if len(in.now.pictures) > 0 {
		if err := in.flush(nil); err != nil {
			return err
		}
	}
	return in.commit()
}

// gist says in a line what an original is: the agent, the directory, the day, the first words and the number of entries.
func (in *intake) gist(now *original) string {
	head := in.agent.Title
	if dir := in.session.Dir; dir != "" {
		head += ", " + path.Base(strings.ReplaceAll(dir, `\`, "/"))
	}
	if !now.from.IsZero() {
		head += ", " + now.from.UTC().Format(time.DateOnly)
	}
	if in.past[session{in.agent.Name, in.session.ID}].parts > 0 {
		head += ", continued"
	}
	tail := " … " + count(now.entries, "entry", "entries")
	first := []rune(blobs.Gist(shape.Text(cmp.Or(now.first, in.session.Title, in.session.ID))))
	room := blobs.MaxGist - utf8.RuneCountInString(head+tail) - len(`: ""`)
	if len(first) > room {
		first = append(first[:max(room-1, 0)], '…')
	}
	return fmt.Sprintf(`%s: "%s"%s`, head, string(first), tail)
}

var errNoSource = errors.New("no source")

// readKeys adds the keys of an original's entries to keys.
func readKeys(body []byte, keys *adopt.Keys) error {
	at := bytes.LastIndex(body, []byte("\n"+sourceHead))
	if at < 0 {
		return errNoSource
	}
	rows := strings.Split(strings.TrimSpace(string(body[at+1:])), "\n")
	for _, row := range rows[min(2, len(rows)):] {
		fields := strings.Fields(row)
		if len(fields) != 4 {
			return errNoSource
		}
		if fields[1] == "-" {
			continue
		}
		key, err := strconv.ParseUint(fields[1], 36, 64)
		if err != nil {
			return errNoSource
		}
		keys.Add(key)
	}
	return nil
}
