package adopt

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
)

// openClaw reads the sessions of OpenClaw (seen: 2026.9.6; versions to 4). They are pi's rows: one a row of a SQLite
// file, before that one a line of a file. Migrations lost some, so both are read, and joined by session and event.
type openClaw struct{}

// sqlite is the kind of a SQLite file.
const sqlite = "sqlite"

// Archived and deleted sessions count, the copies that were made before a step do not.
func (openClaw) Find(store fs.FS) ([]Piece, error) {
	all, err := pieces(store, within(store, "agents"), named(`(^|/)openclaw-agent\.sqlite$`, sqlite,
		`(^|/sessions/|/session-sqlite-import-archive/)[^./]+\.jsonl(\.(deleted|reset)\.[^/]+)?$`, "session"))
	if err != nil {
		return nil, err
	}
	notes, err := pieces(store, "workspace", named(`^workspace/(MEMORY|USER|memory/[^/]+)\.md$`, memory))
	return append(all, notes...), err
}

func (openClaw) Read(out *Stream, piece Piece) error {
	if piece.kind != sqlite {
		file := &piFile{Stream: out, newest: 4, joined: true}
		return out.records(piece.Path, file.row)
	}
	var session string
	var file *piFile
	refused := false // the session is of an unknown version
	return out.rows(piece.Path, "select * from transcript_events order by session_id, seq", func(r *record) error {
		var row struct {
			SessionID string `json:"session_id"`
			Event     string `json:"event_json"`
			Packed    string `json:"event_zstd"`
		}
		if !r.decode(&row) {
			return nil
		}
		if file == nil || row.SessionID != session {
			session = row.SessionID
			file = &piFile{Stream: out, newest: 4, joined: true, given: session}
			refused = false
		}
		if refused {
			return nil
		}
		event := []byte(r.text(row.Event))
		if packed, err := base64.StdEncoding.DecodeString(r.text(row.Packed)); err == nil && len(packed) > 0 {
			if event, err = unpacked(packed); err != nil {
				out.notUnderstood("event that cannot be decompressed")
				return nil
			}
		}
		if !json.Valid(event) {
			out.notUnderstood("event that is no JSON")
			return nil
		}
		raw, lifted := lift(event)
		err := file.row(&record{Stream: out, raw: raw, lifted: lifted})
		var unknown *SchemaError
		if refused = errors.As(err, &unknown); refused {
			out.notUnderstood(unknown.Error())
			return nil
		}
		return err
	})
}

// unpacked decompresses at most maxText bytes.
func unpacked(packed []byte) ([]byte, error) {
	plain, err := unzstd(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	return readBounded(plain)
}

// rows calls read with the rows of a query over a SQLite file, whose columns are the record's fields.
func (s *Stream) rows(file, query string, read func(*record) error) error {
	if s.options.Rows == nil {
		s.notUnderstood("SQLite file: there is no reader of it here")
		return nil
	}
	rows, err := s.options.Rows(s.ctx, file, query)
	if err != nil {
		return err
	}
	err = s.recordsIn(rows, read)
	if closed := rows.Close(); err == nil {
		err = closed
	}
	s.line = 0
	return err
}
