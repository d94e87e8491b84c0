package adopt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
)

// openCode reads opencode (seen: 1.18.33): rows of a SQLite file, and the JSON files before that, of which a migration
// missed some. A fork is a copy with new ids and equal times.
var openCode = Agent{
	Name: "opencode", Title: "opencode", Roots: "$XDG_DATA_HOME/opencode .local/share/opencode",
	dirs: "storage",
	files: `
		database ^opencode\.db$
		sessions ^storage/session/.*\.json$`,
	key: backwards, // the ids of newer ones come first
	read: func(out *Stream, piece Piece) {
		if piece.kind == database {
			out.sessionRows(piece.Path, "select * from session", openCodeQuery, as(out.openCodeRow))
			return
		}
		out.readFiles(piece.Path, as(func(session *header) {
			if session.ID == "" {
				out.refuse("unknown format: no session of opencode")
				return
			}
			out.open(session.session())
			out.readFiles("storage/message/"+session.ID+"/*.json", as(func(message *openCodeMessage) {
				out.readFiles("storage/part/"+message.ID+"/*.json", as(func(part *openCodePart) {
					out.openCodePart(message, part)
				}))
			}))
		}))
	},
}

// readFiles calls read with the one record of each file that a pattern matches, by their names, which are in the order
// of time.
func (s *Stream) readFiles(pattern string, read reader) {
	names, err := fs.Glob(s.store, pattern)
	if err != nil {
		s.notUnderstood(plainError(err))
	}
	for _, name := range names {
		s.elements(name, read)
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
		Input    json.RawMessage
		Output   string
		Error    string
		Metadata struct{ OutputPath string }
	}
}

// openCodeQuery sorts sessions by their times: the ids of newer ones come first, which would put forks before parents.
const openCodeQuery = `select m.session_id, m.id, m.data as message, p.data as part from message m
join part p on p.message_id = m.id join session s on s.id = m.session_id
order by s.time_created, s.id, m.time_created, m.id, p.id`

func (s *Stream) openCodeRow(row *struct{ ID, Message, Part string }) {
	message := openCodeMessage{}
	if _, isRead := s.decode([]byte(row.Message), &message); !isRead {
		return
	}
	message.ID = row.ID
	s.inner([]byte(row.Part), as(func(part *openCodePart) { s.openCodePart(&message, part) }))
}

func (s *Stream) openCodePart(m *openCodeMessage, part *openCodePart) {
	base := Entry{ID: m.ID, At: m.Time.Created.Time, Who: s.voice(m.Role)}
	var all []Entry
	switch part.Type {
	case "text":
		all = []Entry{{Kind: Said, Text: part.Text}}
		if string(m.Summary) == "true" {
			part.Synthetic, base.Kind = true, Summary
		}
		if part.Synthetic {
			base.Who = Harness
		}
	case "reasoning":
		all = []Entry{{Kind: Thought, Text: part.Text}}
	case "tool":
		output := s.besides("tool-output", part.State.Metadata.OutputPath, cmp.Or(part.State.Output, part.State.Error))
		call := block{CallID: part.CallID, Name: part.Tool, Input: part.State.Input}
		all = []Entry{call.call(), {Who: Tool, Kind: Result, Call: part.CallID, Tool: part.Tool, Text: output}}
	case "file":
		if strings.HasPrefix(part.URL, "data:") {
			all = []Entry{s.picture(&block{MimeType: part.Mime, URL: part.URL})}
		}
	default:
		s.passOver("part", part.Type, "step-start step-finish snapshot patch agent compaction subtask retry")
	}
	key := ""
	if !base.At.IsZero() {
		key = fmt.Sprintf("%s/%s", base.At, part.CallID)
	}
	s.pass(key, base, all...)
}
