// Package adopt reads the histories that other agents keep: it makes one stream of sessions and entries of them.
//
// Read hands each session to a Sink, then its entries in the order of the file. A Report counts what was read, merged
// and doubled, and names what was not understood. The package writes nothing, follows no link out of a store, and holds
// at most a line (64 MB) or, where a format is a log of edits, a session of that size.
//
//	var options adopt.Options
//	store, err := adopt.Source{Place: "/home/me/.claude"}.Open(&options)
//	report, err := adopt.Read(ctx, adopt.Find("claude-code"), store, sink, options)
package adopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"
)

// maxText bounds a line, a text in a file of its own, a picture and a session that has to be folded, in bytes.
const maxText = 64 << 20

// A Piece is a file of a store. Its size and time tell whether it has changed since another run.
type Piece struct {
	Path    string
	Size    int64 // bytes
	Changed time.Time
	kind    string // the word of its pattern
	rank    int    // of its pattern
	key     string // see Agent

	unchanged bool // it is passed over
}

// The words for files of which a source need not know more.
const (
	memory   = "memory"   // a file of memories
	prompts  = "prompts"  // a list of prompts
	database = "database" // a SQLite file
	sessions = "sessions"
	nothing  = "-"
)

// A Session is one conversation. Its id is unique within the agent; a session that lies in several files comes again
// with each, and then only with new entries.
type Session struct {
	ID     string
	File   string    // within the store
	Parent string    // the session that it was forked from, or whose assistant started it; "" if unknown
	Side   bool      // it is a side chain: the persons' lines are its parent's assistant's
	Dir    string    // the working directory, if known
	Title  string    // if known
	Began  time.Time // if known before its entries
}

// Who said an entry.
type Who string

// The voices of a history. Harness is a text that a program wrote into the talk by itself.
const (
	Person    Who = "person"
	Assistant Who = "assistant"
	Tool      Who = "tool"
	Harness   Who = "harness"
)

// A Kind tells apart what an assistant said, thought and called.
type Kind string

// The kinds of entries. A Summary stands for a past that its own entries tell; Memory is a whole file of memories.
const (
	Said    Kind = "said"
	Thought Kind = "thought"
	Call    Kind = "call"
	Result  Kind = "result"
	Summary Kind = "summary"
	Memory  Kind = "memory"
)

// An Entry is a text of a session. The blocks of one message are entries with the same ID.
type Entry struct {
	ID    string    // of the message in its source; "" if it has none
	At    time.Time // zero if unknown
	Who   Who
	Kind  Kind
	Tool  string // of a call or a result, if known
	Call  string // the id that joins a result to its call
	Text  string
	Media []Media
	Line  int // in the session's file, from 1; 0 in an export
	// Key is equal for copies of an entry in forks and overlapping files: Options.Known takes it in a later run.
	Key uint64
}

// Media is a picture or another file in an entry.
type Media struct {
	Type string // the media type
	Data []byte
}

// A Sink takes what is read. An error of it ends the reading. It may keep what it gets.
type Sink interface {
	Session(Session) error
	Entry(Entry) error
	// Read tells that a file has been read to its end. It does not tell so of a database, which has other files beside it,
	// nor of a file with early entries.
	Read(Piece) error
}

// Options are what a run may use beside the store.
type Options struct {
	// Rows returns the rows of a query over a SQLite file of the store, a JSON object of columns a line; bytes are in
	// base64. Without it such files count as not understood.
	Rows func(ctx context.Context, file, query string) (io.ReadCloser, error)
	// Temp is the machine's temporary directory, where pi leaves long results; nil if the store is of another machine.
	Temp fs.FS
	// Only is the one file of the store that is read; "" for all.
	Only string
	// But is the number of lines at the end of a room that are left out.
	But int
	// Since is the time before which entries count as early; zero for all.
	Since time.Time
	// Known reports whether an earlier run has taken the entry with a key.
	Known func(key uint64) bool
	// Past returns the first file from which an earlier run has taken a session, and the session that this was forked
	// from; "" if unknown.
	Past func(id string) (file, parent string)
	// Skip reports whether a piece is passed over, since it has not changed.
	Skip func(Piece) bool
	// Progress is called before each piece that is read, with the bytes read so far and those of all these pieces.
	Progress func(done, of int64)
}

// An Agent is a program whose histories can be read.
type Agent struct {
	Name  string // on a command line
	Title string
	// Roots are where it keeps its store, best first, below the home directory; $NAME begins one that a variable moves.
	Roots string
	// Hint says how a person gets a store that lies nowhere by itself.
	Hint string

	dirs string // at the top of the store that are searched; all if it lacks each of them: a person may have named one
	// files has a line for each kind of file, in the order in which they are read: the word for them and an expression for
	// their paths. The last that matches counts.
	files string
	// key orders the files of a kind: parents come before their forks. Without it they are in the order of their paths.
	key func(store fs.FS, name string) string
	// read passes the sessions and entries of a piece to the stream, or refuses it before the first one.
	read func(*Stream, Piece)
}

// Agents are all agents, by how many people use them.
var Agents = []Agent{
	claudeCode, codex, pi, chatGPT, claudeAI, openClaw, hermes, qwenCode, geminiCLI, openCode, copilotCLI,
	rooms,
}

// Find returns the agent with a name, or nil.
func Find(name string) *Agent {
	for i := range Agents {
		if Agents[i].Name == name {
			return &Agents[i]
		}
	}
	return nil
}

// Places returns the directories where the agent may keep its store, absolute, by the variables of getenv.
func (a *Agent) Places(home string, getenv func(string) string) (all []string) {
	for _, root := range strings.Fields(a.Roots) {
		base, rest := home, root
		if variable, isMoved := strings.CutPrefix(root, "$"); isMoved {
			variable, rest, _ = strings.Cut(variable, "/")
			base = getenv(variable)
		}
		if base != "" {
			all = append(all, filepath.Join(base, rest))
		}
	}
	return all
}

// Read reads a store of an agent. What it cannot read is in the report; an error is the sink's, or of the search for
// files, or says that ctx has ended.
func Read(ctx context.Context, agent *Agent, store fs.FS, sink Sink, options Options) (*Report, error) {
	out := newStream(ctx, store, sink, options)
	pieces, total, err := agent.find(store, options)
	if err != nil {
		return out.report, fmt.Errorf("look for histories of %s: %w", agent.Title, err)
	}
	defer out.report.sort()
	var done int64
	for _, piece := range pieces {
		out.listed[stem(piece.Path)], out.listed[threadOf(piece.Path)] = true, true
		if piece.unchanged {
			out.report.Unchanged++
			continue
		}
		if options.Progress != nil {
			options.Progress(done, total)
		}
		done += piece.Size
		out.file, out.line, out.refused = piece.Path, 0, false
		out.open(Session{})
		early := out.report.Early
		switch piece.kind {
		case memory:
			out.memory(piece)
		case prompts:
			out.prompts(piece)
		default:
			agent.read(out, piece)
		}
		isWhole := piece.kind != database && out.report.Early == early
		if !out.stops() && isWhole {
			out.failed = sink.Read(piece)
		}
		if out.failed != nil {
			break
		}
		out.report.Files++
		out.report.Bytes += piece.Size
	}
	return out.report, out.failed
}

// stem returns the name of a file without its ending.
func stem(name string) string {
	base, _, _ := strings.Cut(path.Base(name), ".json")
	return base
}

// Size returns the bytes of the files that a reading of a store would read.
func (a *Agent) Size(store fs.FS, options Options) int64 {
	_, size, _ := a.find(store, options)
	return size
}

// find returns the regular files of a store that the agent's patterns name, and the bytes of those that have changed.
// Directories below that may not be read are passed over.
func (a *Agent) find(store fs.FS, options Options) (all []Piece, size int64, err error) {
	kinds := strings.Fields(a.files)
	var expressions []*regexp.Regexp
	for i := 1; i < len(kinds); i += 2 {
		expressions = append(expressions, regexp.MustCompile(kinds[i]))
	}
	dirs := strings.Fields(a.dirs)
	isWhole := !slices.ContainsFunc(dirs, func(dir string) bool {
		_, err := fs.Stat(store, dir)
		return err == nil
	})
	err = fs.WalkDir(store, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && name == "." && !errors.Is(err, fs.ErrNotExist):
			return err
		case err != nil:
			return fs.SkipDir
		case entry.IsDir() && name != "." && !isWhole && !slices.Contains(dirs, strings.Split(name, "/")[0]):
			return fs.SkipDir
		case !entry.Type().IsRegular(), options.Only != "" && options.Only != name:
			return nil
		}
		piece := Piece{Path: name}
		for rank, expression := range slices.Backward(expressions) {
			if expression.MatchString(name) {
				piece.kind, piece.rank = kinds[2*rank], rank
				break
			}
		}
		info, err := entry.Info()
		if piece.kind == "" || piece.kind == nothing || err != nil { // it is gone
			return nil
		}
		piece.Size, piece.Changed = info.Size(), info.ModTime()
		if piece.unchanged = options.Skip != nil && options.Skip(piece); !piece.unchanged {
			size += piece.Size
			if a.key != nil {
				piece.key = a.key(store, name)
			}
		}
		all = append(all, piece)
		return nil
	})
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return cmp.Or(a.rank-b.rank, strings.Compare(a.key, b.key)) < 0
	})
	return all, size, err
}

// backwards is a key that turns the order of names round.
func backwards(_ fs.FS, name string) string {
	return strings.Map(func(r rune) rune { return unicode.MaxRune - r }, name)
}

// notes are the names of files that a person writes for an assistant; other files of memories are the assistant's.
var notes = []string{"CLAUDE.md", "AGENTS.md", "GEMINI.md", "QWEN.md", "USER.md", "SOUL.md"}

// memory passes on a file of memories, whole, as a session of its own.
func (s *Stream) memory(piece Piece) {
	text, err := s.whole(s.store, piece.Path)
	s.unreadable(err)
	who := Assistant
	if slices.Contains(notes, path.Base(piece.Path)) {
		who = Person
	}
	s.open(Session{ID: piece.Path, Title: path.Base(piece.Path), Began: piece.Changed})
	s.put(piece.Path, Entry{At: piece.Changed, Who: who, Kind: Memory, Text: string(text)})
}

// prompts passes on the prompts of sessions that have no file any more, from a list of all prompts.
func (s *Stream) prompts(piece Piece) {
	type prompt struct {
		Display, Text string // of Claude Code, of Codex
		Project       string
		SessionID     string
		ThreadID      string `json:"session_id"`
		Timestamp, TS moment
		line          int
	}
	var lost []prompt
	s.records(piece.Path, as(func(p *prompt) {
		p.SessionID = cmp.Or(p.SessionID, p.ThreadID)
		p.Text, p.line = cmp.Or(p.Display, p.Text), s.line
		file, _ := s.options.Past(p.SessionID)
		switch {
		case p.SessionID == "":
			s.notUnderstood("prompt without a session")
		case s.listed[p.SessionID], file != "" && file != piece.Path:
			s.report.Doubled++
		default:
			lost = append(lost, *p)
		}
	}))
	sort.SliceStable(lost, func(i, j int) bool { return lost[i].SessionID < lost[j].SessionID })
	for _, p := range lost {
		at := cmp.Or(p.Timestamp, p.TS).Time
		if p.SessionID != s.session.ID {
			s.open(Session{ID: p.SessionID, Dir: p.Project, Began: at})
		}
		entry := Entry{At: at, Who: Person, Kind: Said, Text: p.Text, Line: p.line}
		s.say(p.SessionID+at.Format(time.RFC3339Nano), entry)
	}
}
