// Package chat is the rooms: append-only text files that people, programs and
// identities write to, one message a line.
//
//	line, err := chat.Format(false, "ada", time.Now(), "hello")
//	from, to, err := chat.Append(chat.Path(home, "dev"), line)
//
// A listener keeps a Cursor and reads on from it:
//
//	changed, cancel := watcher.Subscribe(chat.Scope{Dir: chats, Names: []string{"dev.md"}})
//	defer cancel()
//	for {
//		batch, err := chat.Read(path, cursor, 1<<20)
//		…                     // use batch.Lines, then record
//		cursor = batch.Next   // for the next Read
//		if !batch.More {
//			<-changed
//		}
//	}
//
// The package guarantees:
//
//   - When Append returns, the line survives power loss; it is whole, on a line
//     of its own, and the returned range is its range, even if others write.
//   - A reader that uses each Batch.Next as its next Cursor gets every line that
//     was appended once, whole and in file order: through kill -9, partial lines,
//     an editor that replaces the file, and edits of lines that it has heard.
//     See Read for the cases that no reader can decide.
//   - Read and Tail keep no state and lock nothing. The cursor is plain
//     data; the caller stores it together with its reaction to the lines.
//   - A watcher's signal is never lost and never blocks the watcher. It means
//     "read to the end", nothing more.
//
// The format and the cursor are specified in docs/rooms.md.
package chat

import (
	"os"
	"path/filepath"
	"strings"
)

// ext ends the file names of rooms.
const ext = ".md"

// ValidRoom reports whether name can be a room: [a-z0-9][a-z0-9_-]{0,63}. Such a
// name is safe as a file name.
func ValidRoom(name string) bool {
	if len(name) == 0 || len(name) > 64 {
		return false
	}
	const first = "abcdefghijklmnopqrstuvwxyz0123456789"
	return strings.IndexByte(first, name[0]) >= 0 && strings.Trim(name, first+"_-") == ""
}

// Dir returns the directory of the rooms of home.
func Dir(home string) string { return filepath.Join(home, "chats") }

// Path returns the file of room, which must be valid, in home.
func Path(home, room string) string { return filepath.Join(Dir(home), FileName(room)) }

// All lists the rooms of a home, by name. It returns nil if the directory of rooms is missing or unreadable.
func All(home string) (names []string) {
	entries, _ := os.ReadDir(Dir(home))
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), ext); ok && ValidRoom(name) {
			names = append(names, name)
		}
	}
	return names
}

// FileName returns the name of room's file in the chats directory, and of its link
// in a subs directory.
func FileName(room string) string { return room + ext }
