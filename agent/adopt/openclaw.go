package adopt

// openClaw reads the sessions of OpenClaw (seen: 2026.9.6; versions to 4). They are pi's rows: one a row of a SQLite
// file, before that one a line of a file. Migrations lost some, so both are read, and joined by session and event.
// Archived and deleted sessions count, the copies that were made before a step do not.
var openClaw = Agent{
	Name: "openclaw", Title: "OpenClaw", Roots: "$OPENCLAW_STATE_DIR .openclaw",
	dirs: "agents workspace",
	files: `
		database (^|/)openclaw-agent\.sqlite$
		sessions (^|/sessions/|/session-sqlite-import-archive/)[^./]+\.jsonl(\.(deleted|reset)\.[^/]+)?$
		memory ^workspace/(MEMORY|USER|memory/[^/]+)\.md$`,
	read: func(out *Stream, piece Piece) {
		file := &piFile{Stream: out, joined: true}
		if piece.kind == sessions {
			out.records(piece.Path, as(file.row))
			return
		}
		out.rows(piece.Path, "select * from transcript_events order by session_id, seq", as(
			func(event *openClawEvent) {
				if event.SessionID != file.given {
					file = &piFile{Stream: out, joined: true, given: event.SessionID}
				}
				if text, ok := out.event(event); ok {
					out.inner(text, as(file.row))
				}
			}))
	},
}

type openClawEvent struct {
	SessionID string `json:"session_id"`
	Event     string `json:"event_json"`
	Packed    string `json:"event_zstd"`
}

// event returns the JSON of an event.
func (s *Stream) event(event *openClawEvent) (text []byte, ok bool) {
	_, packed := decoded(event.Packed)
	if len(packed) == 0 {
		return []byte(event.Event), true
	}
	plain, err := unzstd(nil)
	if err == nil {
		defer plain.Close()
		text, err = plain.DecodeAll(packed, nil)
	}
	if err != nil {
		s.notUnderstood("event that cannot be decompressed")
	}
	return text, err == nil
}
