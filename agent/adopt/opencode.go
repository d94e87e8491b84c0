package adopt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// openCode reads opencode (seen: 1.18.33): rows of a SQLite file, and the JSON files before that, of which a migration
// missed some. A fork is a copy with new ids and equal times.
type openCode struct{}

func (openCode) Find(store fs.FS) ([]Piece, error) {
	old, err := pieces(store, "storage/session", named(`\.json$`, "session"))
	slices.Reverse(old) // the ids of newer ones come first
	return append(alone(store, sqlite, "opencode.db"), old...), err
}

// openCodeSession is a row, or a file with the same in other words.
type openCodeSession struct {
	ID        string
	Title     string
	Directory string
	Parent    string `json:"parent_id"`
	ParentID  string
	Created   moment `json:"time_created"`
	Time      struct{ Created moment }
}

func (s openCodeSession) session() Session {
	parent := cmp.Or(s.Parent, s.ParentID)
	return Session{
		ID: s.ID, Parent: parent, Side: parent != "", Dir: s.Directory, Title: s.Title,
		Began: cmp.Or(s.Created, s.Time.Created).Time,
	}
}

type openCodeMessage struct {
	ID      string
	Role    string
	Summary json.RawMessage // true on the answer of a compaction
	Time    struct{ Created moment }
}

type openCodePart struct {
	Type      string
	Text      string
	Synthetic bool
	CallID    string
	Tool      string
	Mime      string
	URL       string
	State     struct {
		Input  json.RawMessage
		Output string
		Error  string
	}
}

func (openCode) Read(out *Stream, piece Piece) error {
	if piece.kind == sqlite {
		return out.openCodeRows(piece)
	}
	text, err := out.whole(out.store, piece.Path)
	if err != nil {
		return err
	}
	var session openCodeSession
	if json.Unmarshal(text, &session) != nil || session.ID == "" {
		return &SchemaError{"no session of opencode"}
	}
	out.report.Records++
	out.open(session.session())
	return out.openCodeFiles("storage/message/"+session.ID, func(raw []byte) error {
		var message openCodeMessage
		if json.Unmarshal(raw, &message) != nil {
			out.notUnderstood("message of another shape")
			return nil
		}
		return out.openCodeFiles("storage/part/"+message.ID, func(raw []byte) error {
			return out.record(raw, func(r *record) error { return r.openCodePart(message) })
		})
	})
}

// openCodeFiles calls read with each file of a directory, by their names, which are in the order of time.
func (s *Stream) openCodeFiles(dir string, read func([]byte) error) error {
	files, err := pieces(s.store, dir, path.Ext)
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := s.whole(s.store, file.Path)
		if err != nil {
			s.notUnderstood(plainError(err))
			continue
		}
		if err := read(text); err != nil {
			return err
		}
	}
	return nil
}

// openCodeQuery sorts sessions by their times: the ids of newer ones come first, which would put forks before parents.
const openCodeQuery = `select m.session_id, m.id, m.data as message, p.data as part from message m
join part p on p.message_id = m.id join session s on s.id = m.session_id
order by s.time_created, s.id, m.time_created, m.id, p.id`

func (s *Stream) openCodeRows(piece Piece) error {
	sessions := map[string]openCodeSession{}
	err := s.rows(piece.Path, "select * from session", func(r *record) error {
		var row openCodeSession
		if r.decode(&row) {
			sessions[row.ID] = row
		}
		return nil
	})
	if err != nil || s.options.Rows == nil {
		return err
	}
	return s.rows(piece.Path, openCodeQuery, func(r *record) error {
		var row struct {
			SessionID     string `json:"session_id"`
			ID            string
			Message, Part string
		}
		var message openCodeMessage
		if !r.decode(&row) {
			return nil
		}
		if json.Unmarshal([]byte(row.Message), &message) != nil {
			s.notUnderstood("message of another shape")
			return nil
		}
		if row.SessionID != s.session.ID {
			session := sessions[row.SessionID]
			session.ID = row.SessionID
			s.open(session.session())
		}
		message.ID = row.ID
		raw, lifted := lift([]byte(r.text(row.Part)))
		return (&record{Stream: s, raw: raw, lifted: lifted}).openCodePart(message)
	})
}

func (r *record) openCodePart(m openCodeMessage) error {
	var part openCodePart
	if !r.decode(&part) {
		return nil
	}
	base := Entry{ID: m.ID, At: m.Time.Created.Time, Who: Assistant}
	if m.Role == "user" {
		base.Who = Person
	}
	var all []Entry
	switch part.Type {
	case "text":
		all = []Entry{{Kind: Said, Text: r.text(part.Text)}}
		if part.Synthetic {
			all[0].Who = Harness
		}
		if string(m.Summary) == "true" {
			all[0].Who, all[0].Kind = Harness, Summary
		}
	case "reasoning":
		all = []Entry{{Kind: Thought, Text: r.text(part.Text)}}
	case "tool":
		output := cmp.Or(part.State.Output, part.State.Error)
		all = []Entry{r.call(part.CallID, part.Tool, part.State.Input),
			{Who: Tool, Kind: Result, Call: part.CallID, Tool: part.Tool, Text: r.text(output)}}
	case "file":
		if strings.HasPrefix(part.URL, "data:") {
			all = []Entry{r.picture(part.Mime, part.URL)}
		}
	case "step-start", "step-finish", "snapshot", "patch", "agent", "compaction", "subtask", "retry":
		r.report.Passed++
	default:
		r.notUnderstood("part " + cmp.Or(part.Type, "without a type"))
	}
	key := ""
	if !base.At.IsZero() {
		key = fmt.Sprintf("%s/%s", base.At, part.CallID)
	}
	return r.passAll(key, base, all)
}
