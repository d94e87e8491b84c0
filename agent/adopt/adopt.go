// Package adopt reads the histories that other agents keep: it makes one stream of sessions and entries of them.
//
// Read hands each session to a Sink, then its entries in the order of the file. A Report counts what was read, merged
// and doubled, and names what was not understood. The package writes nothing, follows no link out of a store, and holds
// at most a line (64 MB) or, where a format is a log of edits, a session of that size.
//
//	store, err := adopt.Open("/home/me/.claude")
//	report, err := adopt.Read(ctx, adopt.Find("claude-code"), store, sink, adopt.Options{})
package adopt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// maxText bounds a line, a text in a file of its own, a picture and a session that has to be folded, in bytes.
const maxText = 64 << 20

// A Source reads the format of one agent.
type Source interface {
	// Find returns the pieces of a store in the order in which Read wants them: parents before their forks.
	Find(store fs.FS) ([]Piece, error)
	// Read passes the sessions and entries of a piece to out. A *SchemaError says that it knows no such format; nothing
	// of the piece has been passed on then.
	Read(out *Stream, piece Piece) error
}

// A Piece is a file of a store. Its size and time tell whether it has changed since another run.
type Piece struct {
	Path    string
	Size    int64 // bytes
	Changed time.Time
	kind    string // a source's own word for it; memory for a file of memories
}

const memory = "memory"

// A Session is one conversation. Its id is unique within the agent; a session that lies in several files comes again
// with each, and then only with new entries.
type Session struct {
	Agent  string // the name of its Agent
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
	Name string // of the file, if known
	Data []byte
}

// A Sink takes what is read. An error of it ends the reading. It may keep what it gets.
type Sink interface {
	Session(Session) error
	Entry(Entry) error
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
	// Known reports whether an earlier run has taken the entry with a key.
	Known func(key uint64) bool
	// Skip reports whether a piece is passed over, since it has not changed.
	Skip func(Piece) bool
	// Progress is called before each piece with the bytes read so far and those of the whole store.
	Progress func(done, of int64)
}

// An Agent is a program whose histories can be read.
type Agent struct {
	Name  string // on a command line
	Title string
	// Roots are where it keeps its store, best first, below the home directory; $NAME begins one that a variable moves.
	Roots []string
	// Hint says how a person gets a store that lies nowhere by itself.
	Hint string
	Source
}

// Agents are all agents, by how many people use them.
var Agents = []Agent{
	{Name: "claude-code", Title: "Claude Code", Roots: []string{"$CLAUDE_CONFIG_DIR", ".claude", ".config/claude"},
		Source: claudeCode{}},
	{Name: "codex", Title: "Codex", Roots: []string{"$CODEX_HOME", ".codex"}, Source: codex{}},
	{Name: "pi", Title: "pi", Roots: []string{"$PI_CODING_AGENT_DIR", ".pi/agent", ".omp/agent"}, Source: pi{}},
	{Name: "chatgpt", Title: "ChatGPT", Source: chatGPT{},
		Hint: "export it (Settings, Data controls), then: lethe adopt chatgpt=FILE.zip --dry-run"},
	{Name: "claude-ai", Title: "Claude.ai", Source: claudeAI{},
		Hint: "export it (Settings, Privacy), then: lethe adopt claude-ai=FILE.zip --dry-run"},
	{Name: "openclaw", Title: "OpenClaw", Roots: []string{"$OPENCLAW_STATE_DIR", ".openclaw"}, Source: openClaw{}},
	{Name: "hermes", Title: "Hermes", Roots: []string{"$HERMES_HOME", ".hermes"},
		Hint: "hermes sessions export h.jsonl, then: lethe adopt hermes=h.jsonl --dry-run", Source: hermes{}},
	{Name: "qwen-code", Title: "Qwen Code", Roots: []string{".qwen"}, Source: qwenCode{}},
	{Name: "gemini-cli", Title: "Gemini CLI", Roots: []string{"$GEMINI_CLI_HOME/.gemini", ".gemini"}, Source: geminiCLI{}},
	{Name: "opencode", Title: "opencode", Roots: []string{"$XDG_DATA_HOME/opencode", ".local/share/opencode"},
		Source: openCode{}},
	{Name: "copilot-cli", Title: "Copilot CLI", Roots: []string{".copilot"}, Source: copilotCLI{}},
}

// Find returns the agent with a name, or nil.
func Find(name string) *Agent {
	i := slices.IndexFunc(Agents, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &Agents[i]
}

// Places returns the directories where the agent may keep its store, absolute, by the variables of getenv.
func (a *Agent) Places(home string, getenv func(string) string) (all []string) {
	for _, root := range a.Roots {
		name, rest, _ := strings.Cut(root, "/")
		variable, moved := strings.CutPrefix(name, "$")
		switch {
		case !moved:
			all = append(all, filepath.Join(home, root))
		case getenv(variable) != "":
			all = append(all, filepath.Join(getenv(variable), rest))
		}
	}
	return all
}

// A SchemaError says that a file is not of a format that a source knows.
type SchemaError struct{ What string }

func (e *SchemaError) Error() string { return "unknown format: " + e.What }

// Read reads a store of an agent. What it cannot read is in the report; an error is the sink's, or of the search for
// files, or says that ctx has ended.
func Read(ctx context.Context, agent *Agent, store fs.FS, sink Sink, options Options) (*Report, error) {
	out := newStream(ctx, agent.Name, store, sink, options)
	pieces, err := agent.Find(store)
	if err != nil {
		return out.report, fmt.Errorf("look for histories of %s: %w", agent.Title, err)
	}
	if options.Only != "" {
		pieces = slices.DeleteFunc(pieces, func(p Piece) bool { return p.Path != options.Only })
	}
	defer out.report.sort()
	var done, total int64
	for _, piece := range pieces {
		total += piece.Size
	}
	for _, piece := range pieces {
		if options.Progress != nil {
			options.Progress(done, total)
		}
		done += piece.Size
		stem, _, _ := strings.Cut(path.Base(piece.Path), ".jsonl")
		out.listed[stem], out.listed[threadID().FindString(stem)] = true, true
		if options.Skip != nil && options.Skip(piece) {
			out.report.Unchanged++
			continue
		}
		out.begin(piece)
		if piece.kind == memory {
			err = out.memory(piece)
		} else {
			err = agent.Source.Read(out, piece)
		}
		if err := out.finish(piece, err); err != nil {
			return out.report, err
		}
	}
	return out.report, nil
}

// finish counts a piece that was read. It returns the error of the sink or the context, and reports any other one.
func (s *Stream) finish(piece Piece, err error) error {
	s.report.Files++
	s.report.Bytes += piece.Size
	var ended *sinkError
	if errors.As(err, &ended) {
		return ended.err
	}
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	var unknown *SchemaError
	if errors.As(err, &unknown) {
		s.notUnderstood(unknown.Error())
	} else if err != nil {
		s.notUnderstood(plainError(err))
	}
	return nil
}

// plainError returns an error without the path that the report names beside it.
func plainError(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return "cannot be read: " + at.Err.Error()
	}
	return "cannot be read: " + err.Error()
}

// within returns a directory of a store, or the whole of a store without it: a person may have named the directory.
func within(store fs.FS, dir string) string {
	if info, err := fs.Stat(store, dir); err != nil || !info.IsDir() {
		return "."
	}
	return dir
}

// pieces returns the regular files in dir for which kind returns a word, by their paths. Directories below that may not
// be read are passed over.
func pieces(store fs.FS, dir string, kind func(name string) string) (all []Piece, err error) {
	err = fs.WalkDir(store, dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && name == dir && !errors.Is(err, fs.ErrNotExist):
			return err
		case err != nil:
			return fs.SkipDir
		}
		if word := kind(name); entry.Type().IsRegular() && word != "" {
			all = appendPiece(all, entry, name, word)
		}
		return nil
	})
	return all, err
}

// named returns the kinds of files for pieces: the word behind the first pattern that a path has.
func named(patternsAndWords ...string) func(name string) string {
	var patterns []*regexp.Regexp
	for i := 0; i < len(patternsAndWords); i += 2 {
		patterns = append(patterns, regexp.MustCompile(patternsAndWords[i]))
	}
	return func(name string) string {
		i := slices.IndexFunc(patterns, func(pattern *regexp.Regexp) bool { return pattern.MatchString(name) })
		if i < 0 {
			return ""
		}
		return patternsAndWords[2*i+1]
	}
}

// alone returns the pieces for the named files of a store that are there and regular.
func alone(store fs.FS, kind string, names ...string) (all []Piece) {
	for _, name := range names {
		if info, err := fs.Lstat(store, name); err == nil && info.Mode().IsRegular() {
			all = appendPiece(all, fs.FileInfoToDirEntry(info), name, kind)
		}
	}
	return all
}

func appendPiece(all []Piece, entry fs.DirEntry, name, kind string) []Piece {
	info, err := entry.Info()
	if err != nil {
		return all
	}
	return append(all, Piece{Path: name, Size: info.Size(), Changed: info.ModTime(), kind: kind})
}

// notes are the names of files that a person writes for an assistant; other files of memories are the assistant's.
var notes = []string{"CLAUDE.md", "AGENTS.md", "GEMINI.md", "QWEN.md", "USER.md", "SOUL.md"}

// memory passes on a file of memories, whole, as a session of its own.
func (s *Stream) memory(piece Piece) error {
	text, err := s.whole(s.store, piece.Path)
	if err != nil {
		return err
	}
	who := Assistant
	if slices.Contains(notes, path.Base(piece.Path)) {
		who = Person
	}
	s.open(Session{ID: piece.Path, Title: path.Base(piece.Path), Began: piece.Changed})
	return s.put("", Entry{At: piece.Changed, Who: who, Kind: Memory, Text: string(text)})
}
