package tools

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"lethe/internal/durable"
)

// Config says where the tools may work. The zero value of a field with a
// default means the default.
type Config struct {
	// AgentDir is agents/<self>: the identity's own files are in it.
	AgentDir string
	// Home is hidden from the tools, except for what is named here.
	Home string
	// Workspace is where relative paths live and commands run. Default:
	// AgentDir/workspace. A directory outside of the home, or under that default.
	Workspace string
	// ChatsDir holds the rooms. Those of Rooms.Joined can be read.
	ChatsDir string
	// ExtraRoots are existing absolute directories that the tools may use like
	// the workspace, for reading and writing.
	ExtraRoots []string
	// Secrets are files that no tool may read, wherever they are and whether they
	// exist yet. A workspace or extra root that holds one is refused.
	Secrets []string
	// Bash is BashOff, BashSandbox (the default) or BashTrusted.
	Bash string
	// BashTimeout is for commands that name none. Default 60 s, at most 10 min.
	BashTimeout time.Duration
	// MaxOutput bounds the bytes of a command's output that are kept in its
	// result: half from its beginning, half from its end. Default 4 MiB, at
	// least 1 KiB.
	MaxOutput int64
	// Rooms does what SAY, JOIN and LEAVE ask for. A Set that is only described
	// needs none.
	Rooms Rooms
	// Past does what UNCOMPACT, RECALL and COMPACT ask for, and opens paths like
	// hash=3fa9… for READ_FILE. A Set that is only described needs none.
	Past Past
}

// What Config.Bash can be.
const (
	BashOff     = "off"     // the tool is not offered
	BashSandbox = "sandbox" // confined by Landlock, or refused where that is missing
	BashTrusted = "trusted" // everything the daemon's user can do
)

const (
	defaultBashTimeout = time.Minute
	maxBashTimeout     = 10 * time.Minute
	defaultMaxOutput   = 4 << 20
)

// complete fills in defaults and resolves the directories, and refuses what
// would undo the protection of the home.
func (c Config) complete() (Config, error) {
	if c.AgentDir == "" || c.Home == "" {
		return c, errors.New("configure tools: agent directory and home are needed")
	}
	if c.Bash == "" {
		c.Bash = BashSandbox
	}
	if c.Bash != BashOff && c.Bash != BashSandbox && c.Bash != BashTrusted {
		return c, fmt.Errorf("configure tools: bash mode %q is none of %s, %s, %s", c.Bash, BashOff, BashSandbox, BashTrusted)
	}
	if c.BashTimeout <= 0 {
		c.BashTimeout = defaultBashTimeout
	}
	c.BashTimeout = min(c.BashTimeout, maxBashTimeout)
	if c.MaxOutput <= 0 {
		c.MaxOutput = defaultMaxOutput
	}
	c.MaxOutput = max(c.MaxOutput, 1<<10)
	return c.resolveDirs()
}

func (c Config) resolveDirs() (Config, error) {
	var err error
	if c.AgentDir, err = realDir(c.AgentDir); err != nil {
		return c, fmt.Errorf("find agent directory: %w", err)
	}
	if c.Home, err = realDir(c.Home); err != nil {
		return c, fmt.Errorf("find home: %w", err)
	}
	if c.ChatsDir == "" {
		c.ChatsDir = filepath.Join(c.Home, "chats")
	}
	own := filepath.Join(c.AgentDir, "workspace")
	if c.Workspace == "" {
		c.Workspace = own
	}
	secrets := make([]string, 0, len(c.Secrets))
	for _, file := range c.Secrets {
		dir, err := realDir(filepath.Dir(file))
		if err != nil { // there is no such place yet
			dir = filepath.Dir(file)
		}
		secrets = append(secrets, filepath.Join(dir, filepath.Base(file)))
	}
	c.Secrets = secrets
	// Refused before it is made, so that a mistake leaves no directory behind.
	if abs, err := filepath.Abs(c.Workspace); err == nil {
		if err := c.clear("workspace", abs, own); err != nil {
			return c, err
		}
	}
	if err := durable.MkdirAll(c.Workspace, 0o700); err != nil {
		return c, fmt.Errorf("make workspace: %w", err)
	}
	if c.Workspace, err = realDir(c.Workspace); err != nil {
		return c, fmt.Errorf("find workspace: %w", err)
	}
	if err := c.clear("workspace", c.Workspace, own); err != nil {
		return c, err
	}
	roots := make([]string, 0, len(c.ExtraRoots))
	for _, r := range c.ExtraRoots {
		if !filepath.IsAbs(r) {
			return c, fmt.Errorf("configure tools: extra root %s is not an absolute path", r)
		}
		real, err := realDir(r)
		if err != nil {
			return c, fmt.Errorf("find extra root: %w", err)
		}
		if err := c.clear("extra root", real, own); err != nil {
			return c, err
		}
		roots = append(roots, real)
	}
	c.ExtraRoots = roots
	return c, nil
}

// clear refuses a directory for the tools that overlaps with the state in the
// home: with it, an agent could rewrite its own log or read other identities. It
// refuses one that holds a secret, too.
func (c Config) clear(what, dir, own string) error {
	for _, file := range c.Secrets {
		if within(file, dir) {
			return fmt.Errorf("refuse %s %s: it contains %s, which must stay out of the tools' reach; move that file", what, dir, file)
		}
	}
	for _, hidden := range []string{c.Home, c.AgentDir} {
		if within(hidden, dir) {
			return fmt.Errorf("refuse %s %s: it contains the home %s, whose files must stay out of the tools' reach; choose a directory beside it", what, dir, hidden)
		}
		if within(dir, hidden) && !within(dir, own) {
			return fmt.Errorf("refuse %s %s: it is inside the home %s; only %s may be used there", what, dir, hidden, own)
		}
	}
	return nil
}

// realDir is the absolute path of an existing directory, without symbolic links.
func realDir(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// within reports whether path is dir or lies under it. Both are clean and absolute.
func within(path, dir string) bool {
	if path == dir || dir == string(filepath.Separator) {
		return true
	}
	return strings.HasPrefix(path, dir+string(filepath.Separator))
}
