// Package mcp uses the tools of other people's servers, by the Model Context Protocol.
//
//	servers := mcp.New(mcp.Config{Home: home, Servers: settings.MCP})
//	defer servers.Close()
//	config.Others = append(config.Others, servers) // a catalogue.Source
//
// What holds:
//
//   - Nothing runs until a tool is looked for or called. Then one process of a server serves all identities of the home;
//     it ends after ten idle minutes, and with this process, also when that is killed.
//   - A program is confined as BASH is, and has the environment, paths and network that its table names, and no others.
//   - The tools of a server are known without starting it, as of the last time that it was asked: home/mcp/NAME.json.
//   - A server that misbehaves costs whoever called it one error. It is started again after a pause that grows.
//   - Servers learn nothing of identities: no roots, no sampling.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"lethe/agent/tools/catalogue"
	"lethe/internal/pattern"
	"lethe/internal/sandbox"
	"lethe/internal/secret"
)

// Server is a table [mcp.NAME] of config.toml. It has a Command or a URL. The value of Env or Headers that is
// $NAME, or "Bearer $NAME", has that variable of this process in it.
type Server struct {
	Command []string          `toml:"command,omitempty"` // a program and its arguments
	Env     map[string]string `toml:"env,omitempty"`
	Read    []string          `toml:"read,omitempty"`    // paths that it may read, absolute or ~/…
	Write   []string          `toml:"write,omitempty"`   // directories that it may also change
	Network bool              `toml:"network,omitempty"` // it may reach the network
	URL     string            `toml:"url,omitempty"`
	Headers map[string]string `toml:"headers,omitempty"` // of each request
}

var validName = pattern.Lazy(`^[a-z0-9_-]{1,64}$`)

// Check refuses a table that makes no sense, or that needs a network although there is no network.
func (s Server) Check(name string, offline bool) error {
	local := func(path string) bool { return !filepath.IsAbs(expand(path)) }
	paths := slices.Concat(s.Read, s.Write)
	hasSandbox := len(s.Env)+len(paths) > 0 || s.Network
	needsNetwork := s.URL != "" || s.Network
	switch {
	case !validName().MatchString(name):
		return errors.New("its name is not up to 64 of a-z, 0-9, _ and -")
	case (len(s.Command) == 0) == (s.URL == ""):
		return errors.New("give it either a command, such as [\"npx\", \"-y\", \"some-server\"], or a url")
	case s.URL == "" && len(s.Headers) > 0, s.URL != "" && hasSandbox:
		return errors.New("env, read, write and network are for a command, and headers are for a url")
	case s.URL != "" && !safe(s.URL):
		return fmt.Errorf("url = %q is neither https nor on this machine, such as \"http://localhost:3000/mcp\"", s.URL)
	case offline && needsNetwork:
		return errors.New("it needs the network, and tools.network is \"none\"")
	case slices.ContainsFunc(paths, local):
		return fmt.Errorf("read and write take absolute paths, or such as \"~/notes\": %q", paths)
	}
	return nil
}

// safe says that nobody on the way reads what is sent to an address.
func safe(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if u.Host == "" || u.User != nil {
		return false
	}
	switch u.Scheme {
	case "https":
		return true
	case "http":
		return u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
	}
	return false
}

// expand puts the user's directory in the place of ~.
func expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		user, _ := os.UserHomeDir() // without one the path stays local, and is refused
		return filepath.Join(user, rest)
	}
	return filepath.Clean(path)
}

// Config names the servers, and bounds them.
type Config struct {
	Servers map[string]Server // by name
	Home    string            // the directory that holds all state; hidden from servers
	Secrets []string          // files that servers must not read
	Trusted bool              // as BASH: servers may do what this user may
	Log     *slog.Logger      // may be nil

	Handshake time.Duration // how long a start may take; 0: ten seconds
}

// Servers are the servers of a home. They are a catalogue.Source.
type Servers struct {
	Config
	all []*server

	handshake, call, idle, asked time.Duration // bounds; tests have shorter ones
}

const (
	handshakeTime = 10 * time.Second // of a start
	callTime      = 10 * time.Minute // of a call
	idleTime      = 10 * time.Minute // without a call, before a server is closed
	askedTime     = 24 * time.Hour   // of a question, before it is dismissed
)

// New makes known which servers there are, and reads what they could do when they were last asked. It starts none.
// Values of the environment that they get are struck out wherever keys are.
func New(c Config) *Servers {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if real, err := filepath.EvalSymlinks(c.Home); err == nil {
		c.Home = real
	}
	all := &Servers{Config: c, handshake: cmp.Or(c.Handshake, handshakeTime), call: callTime, idle: idleTime, asked: askedTime}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		s := &server{
			Server: c.Servers[name], name: name, of: all,
			log: c.Log.With("server", name), pause: backoff.NewExponentialBackOff(),
			open: map[*pending]bool{}, waiting: map[string]*pending{},
		}
		s.broken = s.prepare()
		s.load()
		all.all = append(all.all, s)
	}
	return all
}

// prepare fills in paths and the values of variables.
func (s *server) prepare() error {
	s.Read, s.Write = slices.Clone(s.Read), slices.Clone(s.Write)
	for _, paths := range [][]string{s.Read, s.Write} {
		for i, path := range paths {
			paths[i] = expand(path)
			if real, err := filepath.EvalSymlinks(paths[i]); err == nil {
				paths[i] = real
			}
			if sandbox.Within(paths[i], s.of.Home) || sandbox.Within(s.of.Home, paths[i]) {
				return fmt.Errorf("mcp.%s: it may not have %s, which overlaps with the home", s.name, path)
			}
		}
	}
	s.Env, s.Headers = maps.Clone(s.Env), maps.Clone(s.Headers)
	for _, values := range []map[string]string{s.Env, s.Headers} {
		for key, value := range values {
			name, variable := strings.CutPrefix(strings.TrimPrefix(value, "Bearer "), "$")
			if variable {
				values[key] = strings.TrimSuffix(value, "$"+name) + secret.Value(name)
			}
			if variable && secret.Value(name) == "" {
				return fmt.Errorf("mcp.%s: %s is to be %s, and the environment of lethe has no %s: set it, and start lethe again",
					s.name, key, value, name)
			}
			if variable || s.URL != "" {
				secret.Add(append(strings.Fields(values[key]), values[key])...)
			}
		}
	}
	return nil
}

// Items implements catalogue.Source.
func (s *Servers) Items() (items []catalogue.Item) {
	for _, one := range s.all {
		listed, _ := one.listed()
		items = append(items, listed...)
	}
	return items
}

// Ask implements catalogue.Source. It starts the servers that were never asked, at the same time.
func (s *Servers) Ask(ctx context.Context) []catalogue.Item {
	items := make([][]catalogue.Item, len(s.all))
	var all sync.WaitGroup
	for i, one := range s.all {
		all.Go(func() { items[i] = one.ask(ctx) })
	}
	all.Wait()
	return slices.Concat(items...)
}

// Use implements catalogue.Source.
func (s *Servers) Use(ctx context.Context, name string, args json.RawMessage, c catalogue.Call) (catalogue.Answer, error) {
	of, tool, _ := strings.Cut(name, "/")
	one := s.called(of)
	if one == nil || tool == "" {
		return catalogue.Answer{}, fmt.Errorf("%s is no tool: TOOLS finds those that there are", name)
	}
	return one.use(ctx, c.Life, tool, args)
}

// called returns a server, or nil.
func (s *Servers) called(name string) *server {
	for _, one := range s.all {
		if one.name == name {
			return one
		}
	}
	return nil
}

// Close stops all servers, in 1.5 s. No other method may be called after it.
func (s *Servers) Close() {
	var all sync.WaitGroup
	for _, one := range s.all {
		all.Go(one.close)
	}
	all.Wait()
}
