package tools

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lethe/agent/tools/catalogue"
	"lethe/agent/tools/web"
	"lethe/internal/durable"
	"lethe/internal/sandbox"
)

// Config bounds the tools. The zero value of a field with a default means the
// default. A Set that only describes its tools needs no Rooms, Zone, CheckTrigger,
// Weight and Past.
type Config struct {
	// AgentDir is agents/<self>: the identity's own files are in it.
	AgentDir string
	// Home is hidden from the tools, except for the directories and files named here.
	Home string
	// Workspace is the directory of relative paths and of commands. It is outside
	// of the home, or under the default: AgentDir/workspace.
	Workspace string
	// ChatsDir holds the rooms. Those of Rooms.Joined can be read.
	ChatsDir string
	// ExtraRoots are existing absolute directories that the tools may use like
	// the workspace, for reading and writing.
	ExtraRoots []string
	// Read are directories that the tools may read, wherever they are and whether they exist yet.
	Read []string
	// Secrets are files that no tool may read, wherever they are and whether they
	// exist yet. A workspace or extra root that holds one is refused.
	Secrets []string
	// Bash is BashOff, BashSandbox (the default) or BashTrusted.
	Bash string
	// Shell is sandbox.Command.Through of commands; nil: they run here.
	Shell []string
	// Confined reports, before each command, whether a trusted one is confined, and runs here, all the same; nil: it is
	// not.
	Confined func() bool
	// BashTimeout is for commands that name no timeout. Default 1 h, at most 24 h.
	BashTimeout time.Duration
	// BashWait is the time that a BASH call waits for its command, which then goes on as
	// a job. Default 30 s.
	BashWait time.Duration
	// JobEnded, when set, is called when a job has ended, from its goroutine.
	JobEnded func()
	// Transcribe is a command that prints the words of a recording, its standard input; or "".
	Transcribe string
	// MaxOutput bounds the bytes of a command's output that are kept in its
	// result: half from its beginning, half from its end. Default 4 MiB.
	MaxOutput int64
	// Ask are the calls before which people are asked; see Set.Asks.
	Ask []Rule
	// Rooms serves JOIN and LEAVE.
	Rooms Rooms
	// Zone is the zone of deadlines that name no zone.
	Zone *time.Location
	// Only are the names of the tools that are offered; nil offers all. See Narrowed.
	Only []string
	// Files of the workspace are all that the tools may write there, with what is in them; nil: everything.
	Files []string
	// Offline keeps commands from the network, and takes FETCH and SEARCH.
	Offline bool
	// Lent is the own workspace of another identity, which Workspace may be.
	Lent string
	// CheckTrigger returns a remark about a trigger with that content; blank removes it. The
	// error says why it cannot be written.
	CheckTrigger func(name, content string) (remark string, err error)
	// Others bring what other people made: TOOLS finds it, USE calls it. Without them these two are not offered, nor
	// while they bring nothing.
	Others []catalogue.Source
	// Web configures FETCH and SEARCH, and whether they are offered.
	Web web.Settings
	// Weight returns the weight of a text as the result of a call.
	Weight func(text string) int
	// Past serves UNCOMPACT and RECALL, and opens paths like hash=3fa9… for
	// READ_FILE.
	Past Past
}

// What Config.Bash can be.
const (
	BashOff     = "off"     // the tool is not offered
	BashSandbox = "sandbox" // confined, or refused where nothing can confine: see sandbox.Confiner
	BashTrusted = "trusted" // everything the daemon's user can do
)

const (
	defaultBashTimeout = time.Hour
	maxBashTimeout     = 24 * time.Hour
	defaultBashWait    = 30 * time.Second
	defaultMaxOutput   = 4 << 20
)

// Narrowed returns c with only the tools that it offers and names lists. If names is empty it returns c.
func (c Config) Narrowed(names []string) Config {
	offers := c.Only
	if len(names) > 0 {
		c.Only = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return offers != nil && !slices.Contains(offers, name)
		})
	}
	return c
}

// complete fills in defaults, resolves the directories and makes the workspace. It
// refuses what would undo the protection of the home.
func (c Config) complete() (Config, error) {
	c.Bash = cmp.Or(c.Bash, BashSandbox)
	c.BashTimeout = min(cmp.Or(c.BashTimeout, defaultBashTimeout), maxBashTimeout)
	c.BashWait = cmp.Or(c.BashWait, defaultBashWait)
	c.MaxOutput = cmp.Or(c.MaxOutput, defaultMaxOutput)
	c.AgentDir, c.Home = resolved(c.AgentDir), resolved(c.Home)
	c.Secrets = slices.Clone(c.Secrets)
	for i, file := range c.Secrets {
		c.Secrets[i] = filepath.Join(resolved(filepath.Dir(file)), filepath.Base(file))
	}
	c.Workspace = resolved(cmp.Or(c.Workspace, c.ownWorkspace()))
	if err := c.allow("workspace", c.Workspace); err != nil {
		return c, err
	}
	if err := durable.MkdirAll(c.Workspace, 0o700); err != nil {
		return c, fmt.Errorf("make workspace: %w", err)
	}
	c.ExtraRoots = slices.Clone(c.ExtraRoots)
	for i, r := range c.ExtraRoots {
		if !filepath.IsAbs(r) {
			return c, fmt.Errorf("configure tools: extra root %s is not an absolute path", r)
		}
		real, err := filepath.EvalSymlinks(r)
		if err != nil {
			return c, fmt.Errorf("find extra root: %w", err)
		}
		if err := c.allow("extra root", real); err != nil {
			return c, err
		}
		c.ExtraRoots[i] = real
	}
	return c, nil
}

// command is a line for the shell with what it may do. private, in the directory of the
// identity, holds its HOME and TMPDIR.
func (s *Set) command(line, private string) sandbox.Command {
	mayLeave := s.Confined == nil || !s.Confined()
	isFree := s.Bash == BashTrusted && mayLeave
	command := sandbox.Command{
		Line: line, Dir: s.Workspace, Private: filepath.Join(s.AgentDir, private), Confine: !isFree,
		Offline: s.Offline, Write: s.roots, Read: s.Read,
		Hide: append([]string{s.Home, s.AgentDir}, s.Secrets...),
	}
	if mayLeave {
		command.Through = s.Shell
	}
	if s.Files != nil {
		command.Confine, command.Exact = true, true
		command.Write, command.Read = nil, slices.Concat(s.Read, s.roots)
		for _, name := range s.Files {
			file := filepath.Join(s.Workspace, name)
			_, err := os.Lstat(file)
			if err == nil && resolved(file) == file && sandbox.Within(file, s.Workspace) { // a missing one is for WRITE_FILE
				command.Write = append(command.Write, file)
			}
		}
	}
	return command
}

// mayWrite reports whether Files allow a file.
func (s *Set) mayWrite(p place) bool {
	file := resolved(filepath.Join(p.dir, p.name))
	return s.Files == nil || p.own != "" || slices.ContainsFunc(s.Files, func(name string) bool {
		return sandbox.Within(file, filepath.Join(s.Workspace, name))
	})
}

// makePrivate makes the HOME and TMPDIR of commands.
func (s *Set) makePrivate(private string) error {
	if err := durable.MkdirAll(filepath.Join(s.AgentDir, private, "home"), 0o700); err != nil {
		return err
	}
	return durable.MkdirAll(filepath.Join(s.AgentDir, private, "tmp"), 0o700)
}

func (c Config) ownWorkspace() string { return filepath.Join(c.AgentDir, "workspace") }

// allow refuses a directory for the tools that overlaps with the state in the
// home: in it an agent could rewrite its own log or read other identities. It also
// refuses a directory that holds a secret.
func (c Config) allow(what, dir string) error {
	for _, file := range c.Secrets {
		if sandbox.Within(file, dir) {
			return fmt.Errorf("refuse %s %s: it contains %s, which must stay out of the tools' reach; move "+
				"that file", what, dir, file)
		}
	}
	for _, hidden := range []string{c.Home, c.AgentDir} {
		if sandbox.Within(hidden, dir) {
			return fmt.Errorf("refuse %s %s: it contains the home %s, whose files must stay out of the tools' reach; "+
				"choose a directory beside it", what, dir, hidden)
		}
		own := c.ownWorkspace()
		lent := c.Lent != "" && sandbox.Within(dir, resolved(c.Lent))
		workspace := lent || sandbox.Within(dir, own)
		if !workspace && sandbox.Within(dir, hidden) {
			return fmt.Errorf("refuse %s %s: it is inside the home %s; only %s may be used there", what, dir, hidden, own)
		}
	}
	return nil
}

// resolved is the absolute path of p with the symbolic links of the longest part of it
// that exists followed.
func resolved(p string) string {
	if abs, err := filepath.Abs(p); err == nil { // else there is no working directory
		p = abs
	}
	for rest := ""; ; {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(p)
		if parent == p {
			return filepath.Join(p, rest)
		}
		p, rest = parent, filepath.Join(filepath.Base(p), rest)
	}
}
