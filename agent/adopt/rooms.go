package adopt

import (
	"bytes"
	"slices"
	"strconv"

	"lethe/chat"
)

// rooms reads the rooms of a home of Lethe: each line is an entry.
var rooms = Agent{
	Name: "room", Title: "Room",
	files: `sessions \.md$`,
	read: func(out *Stream, piece Piece) {
		text, err := out.whole(out.store, piece.Path)
		out.unreadable(err)
		out.open(Session{ID: piece.Path})
		lines := slices.Collect(bytes.Lines(text))
		for _, raw := range lines[:max(0, len(lines)-out.options.But)] {
			out.line++
			line, who := chat.Parse(raw), Person
			if line.Agent {
				who = Assistant
			}
			out.report.Records++
			out.put(strconv.Itoa(out.line), Entry{At: line.At, Who: who, Kind: Said, Text: line.Name + ": " + line.Text})
		}
	},
}
