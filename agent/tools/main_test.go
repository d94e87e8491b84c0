//go:build unix

package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lethe/internal/sandbox"
	"lethe/internal/test/lethetest"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	goleak.VerifyTestMain(m)
}

// identity is a home with one identity and a Set for it.
type identity struct {
	*Set
	t     *testing.T
	home  string
	dir   string
	work  string
	rooms *fakeRooms
	next  int // the number of the next job, if there can be one
}

func newIdentity(t *testing.T, change func(*Config)) *identity {
	t.Helper()
	home := filepath.Join(lethetest.Dir(t), "home")
	id := &identity{t: t, home: home, dir: filepath.Join(home, "agents", "51c0"), rooms: &fakeRooms{}}
	id.work = filepath.Join(id.dir, "workspace")
	for name, text := range map[string]string{
		"agents/51c0/SOUL.md": "soul\n", "agents/51c0/LIFE.md": "life\n", "agents/51c0/context.md": "context\n",
		"agents/51c0/MEMORY.md": "memory\n", "agents/other/MEMORY.md": "SECRET of another\n",
		"chats/dev.md": "[USER:ann 2026-11-20T12:57:16Z] hello\n", "chats/private.md": "SECRET of a room\n",
		"config.toml": "SECRET of the configuration\n",
	} {
		lethetest.Write(id.t, filepath.Join(home, name), text)
	}
	c := Config{
		AgentDir: id.dir, Home: home, ChatsDir: filepath.Join(home, "chats"), Rooms: id.rooms, Past: &fakePast{},
		Zone: time.Local, Weight: func(text string) int { return len(text) },
	}
	if change != nil {
		change(&c)
	}
	id.work = cmp.Or(c.Workspace, id.work)
	var err error
	id.Set, err = New(c)
	lethetest.Must(t, err)
	return id
}

// file puts a file into the workspace.
func (id *identity) file(name, text string) string {
	id.t.Helper()
	path := filepath.Join(id.work, name)
	lethetest.Write(id.t, path, text)
	return path
}

// do runs a tool with arguments given as pairs.
func (id *identity) do(tool string, pairs ...any) Result {
	id.t.Helper()
	return id.doCtx(id.t.Context(), tool, pairs...)
}

func (id *identity) doCtx(ctx context.Context, tool string, pairs ...any) Result {
	id.t.Helper()
	args := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		args[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(args)
	lethetest.Must(id.t, err)
	r := run(ctx, id.Set, raw, Call{ID: "e12.1", Name: tool, Job: id.next, JobRoom: "dev"})
	r.Body = durationText.ReplaceAll(r.Body, []byte("$1"))
	return r
}

// run does what a call is to do. Of what the agent does, the result is only which effect it is.
func run(ctx context.Context, s *Set, args json.RawMessage, c Call) Result {
	effect, err := s.Intent(c.Name, args)
	if err != nil {
		return failf("%v", err)
	}
	if change, ok := effect.(*Change); ok {
		effect = change.Run
	}
	if r, ok := effect.(Run); ok {
		return r.Do(ctx, c)
	}
	return textf("%T%v", effect, effect)
}

// durationText is how long a command took, which is nothing to compare.
var durationText = regexp.MustCompile(`(\[(?:exit|killed|interrupted)[^\n]*?), \d+\.\d s`)

// ok runs a tool that must succeed.
func (id *identity) ok(tool string, pairs ...any) string {
	id.t.Helper()
	r := id.do(tool, pairs...)
	if r.Err {
		id.t.Fatalf("%s %v failed: %s", tool, pairs, r.Body)
	}
	return string(r.Body)
}

// gives runs a tool whose result must be want.
func (id *identity) gives(want, tool string, pairs ...any) {
	id.t.Helper()
	if got := id.ok(tool, pairs...); got != want {
		id.t.Errorf("%s %v gives %q, want %q", tool, pairs, got, want)
	}
}

// fails runs a tool that must fail and say each of the words.
func (id *identity) fails(words []string, tool string, pairs ...any) string {
	id.t.Helper()
	r := id.do(tool, pairs...)
	if !r.Err {
		id.t.Fatalf("%s %v did not fail: %s", tool, pairs, r.Body)
	}
	lethetest.Words(id.t, string(r.Body), words...)
	return string(r.Body)
}

// fakeRooms is Rooms in memory.
type fakeRooms struct {
	in  []string
	err error
}

func (r *fakeRooms) Join(room string) (string, error) {
	r.in = append(r.in, room)
	return "joined " + room + ": the last 20 of 300 lines follow", r.err
}

func (r *fakeRooms) Leave(room string) error {
	i := slices.Index(r.in, room)
	if i < 0 {
		return fmt.Errorf("not in room %s", room)
	}
	r.in = slices.Delete(r.in, i, i+1)
	return r.err
}

func (r *fakeRooms) Joined() []string {
	return slices.Clone(r.in)
}
