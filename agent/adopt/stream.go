package adopt

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/blake3"

	"lethe/internal/picture"
)

// A Stream takes the entries of a source, drops those that came before, and passes the rest to a Sink.
type Stream struct {
	ctx     context.Context
	store   fs.FS
	sink    Sink
	options Options
	report  *Report
	agent   string

	file    string // the piece that is read
	line    int    // in it; 0 in an export
	session Session
	begun   bool            // the sink knows the session
	calls   map[uint64]bool // of the turn: its calls and their results

	seen     map[uint64]bool   // keys of entries
	sessions map[uint64]bool   // that the sink knows
	assets   map[string]string // of ChatGPT: names of files by their ids
	roots    map[string]string // of Codex: the first one of a thread's forks
	listed   map[string]bool   // ids of sessions that have a file: a list of prompts tells of the others
}

func newStream(ctx context.Context, agent string, store fs.FS, sink Sink, options Options) *Stream {
	return &Stream{
		ctx: ctx, store: store, sink: sink, options: options, agent: agent,
		report: &Report{Unknown: []Unknown{}},
		seen:   map[uint64]bool{}, sessions: map[uint64]bool{},
		roots: map[string]string{}, listed: map[string]bool{},
	}
}

// sinkError is an error of the sink.
type sinkError struct{ err error }

func (e *sinkError) Error() string { return e.err.Error() }

func (s *Stream) begin(piece Piece) {
	s.file, s.line = piece.Path, 0
	s.open(Session{})
}

// open begins a session. The sink hears of it with its first entry.
func (s *Stream) open(session Session) {
	session.Agent, session.File = s.agent, s.file
	s.session, s.begun, s.calls = session, false, map[uint64]bool{}
}

// put passes an entry on, unless it is empty or one with the same key and text was there. An empty key is unique.
func (s *Stream) put(key string, entry Entry) error {
	if strings.TrimSpace(entry.Text) == "" && len(entry.Media) == 0 {
		return nil
	}
	if s.session.Side && entry.Who == Person {
		entry.Who = Assistant // the parent's
	}
	if key != "" {
		entry.Key = keyOf(key, entry)
		known := s.options.Known != nil && s.options.Known(entry.Key)
		if s.seen[entry.Key] || known {
			s.report.Doubled++
			return nil
		}
		s.seen[entry.Key] = true
	}
	if s.isDoubled(entry) {
		s.report.Doubled++
		return nil
	}
	if err := s.tell(entry.Kind); err != nil {
		return err
	}
	if entry.Line == 0 {
		entry.Line = s.line
	}
	s.count(entry)
	if err := s.sink.Entry(entry); err != nil {
		return &sinkError{err}
	}
	return nil
}

// isDoubled reports whether the turn has the call or the result already. Some programs count calls anew in each turn.
func (s *Stream) isDoubled(entry Entry) bool {
	if entry.Who == Person {
		clear(s.calls)
	}
	if entry.Call == "" {
		return false
	}
	key := keyOf(entry.Call, entry)
	doubled := s.calls[key]
	s.calls[key] = true
	return doubled
}

// tell tells the sink of the session, once. A file of memories is none that counts.
func (s *Stream) tell(kind Kind) error {
	if s.begun {
		return nil
	}
	s.begun = true
	if key := keyOf(s.session.ID, Entry{}); kind != Memory && !s.sessions[key] {
		s.sessions[key] = true
		s.report.Sessions++
	}
	if err := s.sink.Session(s.session); err != nil {
		return &sinkError{err}
	}
	return nil
}

func (s *Stream) count(entry Entry) {
	report := s.report
	report.Entries++
	report.Pictures += len(entry.Media)
	if entry.Kind == Memory {
		report.Memories++
		return
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
func keyOf(id string, entry Entry) uint64 {
	hash := blake3.New()
	for _, text := range []string{id, string(entry.Who), string(entry.Kind), entry.Text} {
		_, _ = hash.WriteString(text)
		_, _ = hash.Write([]byte{0})
	}
	for _, media := range entry.Media {
		_, _ = hash.Write(media.Data)
	}
	return binary.BigEndian.Uint64(hash.Sum(nil))
}

func binaryKey(key uint64) string { return string(binary.BigEndian.AppendUint64(nil, key)) }

// pass passes on an entry. Of what stands where a person's text does, the harness's parts are the harness's.
func (s *Stream) pass(key string, entry Entry) error {
	if entry.Kind != Said || entry.Who == Assistant {
		return s.put(key, entry)
	}
	texts := []string{entry.Text}
	if strings.Contains(entry.Text, reminder) {
		texts = strings.Split(cutReminders(entry.Text), cut)
	}
	for _, text := range texts {
		part := entry
		if part.Text = text; len(texts) > 1 {
			part.Text = strings.TrimSpace(text)
		}
		if isHarness(strings.TrimSpace(text)) {
			part.Who = Harness
		}
		if err := s.put(key, part); err != nil {
			return err
		}
		entry.Media = nil // they go with the first
	}
	return nil
}

// passAll passes on the entries of a message with the id, time and line of base, with its kind if it has one, and with
// its voice where they have no other.
func (s *Stream) passAll(key string, base Entry, all []Entry) error {
	for _, entry := range all {
		entry.ID, entry.At, entry.Line, entry.Kind = base.ID, base.At, base.Line, cmp.Or(base.Kind, entry.Kind)
		entry.Who = cmp.Or(entry.Who, base.Who)
		if err := s.pass(key, entry); err != nil {
			return err
		}
	}
	return nil
}

const (
	cut      = "\x00"
	reminder = "<system-reminder>"
	reminded = "</system-reminder>"
)

// cutReminders puts a cut before and behind each reminder of a harness.
func cutReminders(text string) string {
	text = strings.ReplaceAll(text, cut, "")
	for from := 0; ; {
		start := strings.Index(text[from:], reminder)
		end := strings.Index(text[from:], reminded)
		if start < 0 || end < start {
			return text
		}
		start, end = from+start, from+end+len(reminded)
		text = text[:start] + cut + text[start:end] + cut + text[end:]
		from = end + 2*len(cut)
	}
}

// marks begin the texts that harnesses write as if a person had.
var marks = []string{
	reminder, "<task-notification>", "<user-prompt-submit-hook>", "[Request interrupted", "Caveat: The messages below",
	"<command-name>", "<command-message>", "<command-args>", "<local-command-", "<bash-stdout>", "<bash-stderr>",
	"<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions instructions>",
	"<skills_instructions>", "<skill>", "<turn_aborted>", "<collaboration_mode>", "<subagent_notification>",
	"<model_switch>", "<apps_instructions>", "<plugins_instructions>", "<session_context>", "[CONTEXT COMPACTION",
	"[CONTEXT SUMMARY]",
}

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
	var number json.Number
	if json.Unmarshal([]byte(text), &number) != nil {
		return nil // a time that nobody can read is unknown
	}
	seconds, err := number.Float64()
	for err == nil && seconds > 1e11 {
		seconds /= 1000
	}
	if err == nil && seconds > 0 {
		m.Time = time.UnixMicro(int64(seconds * 1e6)).UTC()
	}
	return nil
}

// media returns a picture, or nothing where data is empty.
func media(kind, name string, data []byte) []Media {
	if len(data) == 0 {
		return nil
	}
	return []Media{{Type: picture.MediaType(kind, name, data), Name: name, Data: data}}
}
