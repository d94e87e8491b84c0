package adopt

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/blake3"

	"lethe/internal/pattern"
	"lethe/internal/picture"
)

// A Stream takes the entries of a source, drops those that came before, and passes the rest to a Sink.
type Stream struct {
	ctx     context.Context
	store   fs.FS
	sink    Sink
	options Options
	report  *Report

	failed  error  // of the sink or of ctx; nothing is passed on any more
	refused bool   // the piece: nothing of it is read any more
	file    string // the piece that is read
	raw     []byte // the record of it
	line    int    // in it; 0 in an export
	session Session
	begun   bool            // the sink knows the session
	calls   map[uint64]bool // of the turn: its calls and their results
	hash    *blake3.Hasher  // of keyOf: making one is dear

	seen     *Keys
	sessions map[string]bool   // that are counted
	assets   []string          // of ChatGPT: the files that pointers may name
	roots    map[string]string // of Codex: the first one of a thread's forks
	listed   map[string]bool   // ids of sessions that have a file: a list of prompts tells of the others
}

func newStream(ctx context.Context, store fs.FS, sink Sink, options Options) *Stream {
	if options.Past == nil {
		options.Past = func(string) (file, parent string) { return "", "" }
	}
	return &Stream{
		ctx: ctx, store: store, sink: sink, options: options, hash: blake3.New(),
		report: &Report{Unknown: []Unknown{}},
		seen:   new(Keys), sessions: map[string]bool{}, roots: map[string]string{}, listed: map[string]bool{},
	}
}

// stops reports whether nothing more of the piece is read.
func (s *Stream) stops() bool {
	if s.failed == nil {
		s.failed = s.ctx.Err()
	}
	return s.refused || s.failed != nil
}

// refuse ends the reading of a piece, and reports why.
func (s *Stream) refuse(why string) {
	s.line, s.refused = 0, true
	s.notUnderstood(why)
}

// open begins a session. The sink hears of it with its first entry.
func (s *Stream) open(session Session) {
	session.File = s.file
	s.session, s.begun, s.calls = session, false, map[uint64]bool{}
}

// put passes an entry on, unless it is empty, nobody said it, or one with the same key and text was there. An empty key
// is unique.
func (s *Stream) put(key string, entry Entry) {
	isEmpty := strings.TrimSpace(entry.Text) == "" && len(entry.Media) == 0
	if isEmpty || entry.Who == "" || s.failed != nil {
		return
	}
	if entry.Who == Person {
		clear(s.calls)
		if s.session.Side {
			entry.Who = Assistant // the parent's
		}
	}
	if key != "" {
		entry.Key = s.keyOf(key, entry)
	}
	isKnown := entry.Key != 0 && s.options.Known != nil && s.options.Known(entry.Key)
	isEarly := !entry.At.IsZero() && entry.At.Before(s.options.Since)
	switch isDoubled := s.isDoubled(entry, isKnown); {
	case isKnown:
		s.report.Known++
		return
	case isDoubled:
		s.report.Doubled++
		return
	case isEarly:
		s.report.Early++
		return
	}
	if !s.begun {
		s.begun = true
		s.failed = s.sink.Session(s.session)
	}
	s.count(entry)
	if s.failed == nil {
		s.failed = s.sink.Entry(entry)
	}
}

// Keys are keys of entries: in order, and apart by their first bits. They take a third of the memory of a map.
type Keys [1 << 10][]uint64

// Has reports whether a key is there.
func (k *Keys) Has(key uint64) bool {
	_, known := slices.BinarySearch(k[key>>54], key)
	return known
}

// Add adds a key, and reports whether it was there.
func (k *Keys) Add(key uint64) (known bool) {
	part := k[key>>54]
	at, known := slices.BinarySearch(part, key)
	if !known {
		part = append(part, 0)
		copy(part[at+1:], part[at:])
		part[at], k[key>>54] = key, part
	}
	return known
}

// isDoubled reports whether an entry with the same key was there, or the turn has the call or the result already. Some
// programs count calls anew in each turn.
func (s *Stream) isDoubled(entry Entry, isKnown bool) bool {
	if entry.Key != 0 && !isKnown && s.seen.Add(entry.Key) {
		return true
	}
	if entry.Call == "" {
		return false
	}
	key := s.keyOf(entry.Call, entry)
	doubled := s.calls[key]
	s.calls[key] = true
	return doubled
}

func (s *Stream) count(entry Entry) {
	report := s.report
	report.Entries++
	report.Pictures += len(entry.Media)
	if entry.Kind == Memory {
		report.Memories++
		return
	}
	if !s.sessions[s.session.ID] {
		s.sessions[s.session.ID] = true
		report.Sessions++
	}
	if entry.At.IsZero() {
		return
	}
	if report.First.IsZero() || entry.At.Before(report.First) {
		report.First = entry.At
	}
	if entry.At.After(report.Last) {
		report.Last = entry.At
	}
}

// keyOf returns the key of an entry that a source knows by an id.
func (s *Stream) keyOf(id string, entry Entry) uint64 {
	hash := s.hash
	hash.Reset()
	fmt.Fprintf(hash, "%s\x00%s\x00%s\x00%s\x00", id, entry.Who, entry.Kind, entry.Text)
	for _, media := range entry.Media {
		_, _ = hash.Write(media.Data)
	}
	return binary.BigEndian.Uint64(hash.Sum(nil))
}

// pass passes on the entries of a message with the id, time and line of base, with its kind if it has one, and with its
// voice where they have no other.
func (s *Stream) pass(key string, base Entry, all ...Entry) {
	for _, entry := range all {
		s.say(key, s.of(base, entry))
	}
}

func (s *Stream) of(base, entry Entry) Entry {
	entry.ID, entry.At, entry.Line = base.ID, base.At, cmp.Or(base.Line, s.line)
	entry.Who, entry.Kind = cmp.Or(entry.Who, base.Who), cmp.Or(base.Kind, entry.Kind)
	return entry
}

const cut = "\x00"

var reminders = pattern.Lazy(`(?s)<system-reminder>.*?</system-reminder>`)

// say passes on an entry. Of what stands where a person's text does, the harness's parts are the harness's.
func (s *Stream) say(key string, entry Entry) {
	if entry.Kind != Said || entry.Who == Assistant {
		s.put(key, entry)
		return
	}
	texts := []string{entry.Text}
	if strings.Contains(entry.Text, marks[0]) {
		texts = strings.Split(reminders().ReplaceAllString(entry.Text, cut+"$0"+cut), cut)
	}
	for _, text := range texts {
		part := entry
		if part.Text = text; len(texts) > 1 {
			part.Text = strings.TrimSpace(text)
		}
		if isHarness(strings.TrimSpace(text)) {
			part.Who = Harness
		}
		s.put(key, part)
		entry.Media = nil // they go with the first
	}
}

// voice returns who speaks in a role, by the words of all formats. Entries of a role that is not understood are dropped.
func (s *Stream) voice(role string) Who {
	who := Who(roles.of(role))
	if who == "" {
		s.unknown("role", role)
	}
	return who
}

const roles table = `
	person: user, human,
	assistant: assistant, gemini,
	tool: tool, tool_result,
	harness: system, developer, info, error, warning, session_meta,`

// A table has a line for each thing: its name, and the words of all formats for it.
type table string

// of returns the name of what a word stands for, or "".
func (t table) of(word string) string {
	at := strings.Index(string(t), " "+word+",")
	if at < 0 {
		return ""
	}
	name, _, _ := strings.Cut(string(t[strings.LastIndex(string(t[:at]), "\t")+1:]), ":")
	return name
}

// marks begin the texts that harnesses write as if a person had.
var marks = strings.Split(`<system-reminder>
<task-notification>
<user-prompt-submit-hook>
[Request interrupted
Caveat: The messages below
<command-name>
<command-message>
<command-args>
<local-command-
<bash-stdout>
<bash-stderr>
<environment_context>
<user_instructions>
# AGENTS.md instructions
<permissions instructions>
<skills_instructions>
<skill>
<turn_aborted>
<collaboration_mode>
<subagent_notification>
<model_switch>
<apps_instructions>
<plugins_instructions>
<session_context>
[CONTEXT COMPACTION
[CONTEXT SUMMARY]`, "\n")

func isHarness(text string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.HasPrefix(text, mark) })
}

// moment is a time in JSON: RFC 3339, or a number of seconds, milliseconds or microseconds since 1970, by its size.
type moment struct{ time.Time }

func (m *moment) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		m.Time = at.UTC()
		return nil
	}
	var seconds float64
	_ = json.Unmarshal([]byte(text), &seconds) // a time that nobody can read is unknown
	for seconds > 1e11 {
		seconds /= 1000
	}
	if seconds > 0 {
		m.Time = time.UnixMicro(int64(seconds * 1e6)).UTC()
	}
	return nil
}

// media returns a picture, or nothing where data is empty.
func media(kind, name string, data []byte) []Media {
	if len(data) == 0 {
		return nil
	}
	return []Media{{Type: picture.MediaType(kind, name, data), Data: data}}
}
