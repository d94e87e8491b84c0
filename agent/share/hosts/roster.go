package hosts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/share/lives"
	"lethe/agent/share/rooms"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/chat"
)

// The hosts say in two rooms of their own which lives there are and where, and what they ask of each other.
const (
	rosterRoom = ".lives"
	askedRoom  = ".asked"
)

// Life is a life of the home, and where it goes on.
type Life struct {
	Self    string       `json:"self"`
	Name    string       `json:"name"`
	Parent  string       `json:"parent,omitempty"` // Self of its parent
	Custody int          `json:"custody"`
	Host    streams.Host `json:"host"`
	Gone    bool         `json:"gone,omitempty"` // it was removed
}

func (s *Cluster) id(life Life) home.Identity { return s.home.Identity(life.Self, life.Name) }

// moved says where a life goes on.
func (s *Cluster) moved(life Life) *home.ElsewhereError {
	return &home.ElsewhereError{Identity: s.id(life), Host: life.Host.Label}
}

// roster lists the lives of the home, as the hosts have told.
type roster struct {
	lives map[string]Life // by Self
	order []Life          // without lives that are gone, by name
	read  int64           // bytes of its room
	news  map[string]bool // by Self: a line came since the last look
	hosts map[string]bool // by number: it had a life at some time
}

// add takes in lines of rosterRoom. It passes over a line that tells of no life.
func (r *roster) add(lines []byte) {
	if r.lives == nil {
		r.lives, r.news, r.hosts = map[string]Life{}, map[string]bool{}, map[string]bool{}
	}
	for line := range bytes.Lines(lines) {
		var life Life
		if err := json.Unmarshal(line, &life); err != nil || !home.ValidName(life.Name) {
			continue
		}
		r.hosts[life.Host.ID] = true
		if _, err := blobs.ParseHash(life.Self); err == nil && life.Custody >= r.lives[life.Self].Custody {
			r.lives[life.Self], r.news[life.Self] = life, true
		}
	}
	r.order = nil
	for _, life := range r.lives {
		if !life.Gone {
			r.order = append(r.order, life)
		}
	}
	sort.SliceStable(r.order, func(i, j int) bool { return r.order[i].Name < r.order[j].Name })
}

// Lives returns the lives of the home, by name, as this host was told last. Callers must not change them.
func (s *Cluster) Lives() ([]Life, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, err := rooms.Said(s.home.Dir, rosterRoom, s.roster.read)
	if err != nil {
		return nil, err
	}
	if len(lines) > 0 {
		s.roster.read += int64(len(lines))
		s.roster.add(lines)
	}
	return s.roster.order, nil
}

// Elsewhere is home.Sharing's, as this host was told last.
func (s *Cluster) Elsewhere() (out []*home.ElsewhereError) {
	all, err := s.Lives()
	if err != nil {
		s.log.Warn("the lives of other hosts are not listed", "error", err)
	}
	known, _ := thisHost(s.home.Dir)
	for _, life := range all {
		if life.Host.ID != known.ID {
			out = append(out, s.moved(life))
		}
	}
	return out
}

// news returns the lives that got a line in the roster since the last call.
func (s *Cluster) news() (out []Life, err error) {
	_, err = s.Lives()
	s.mu.Lock()
	defer s.mu.Unlock()
	for self := range s.roster.news {
		out = append(out, s.roster.lives[self])
	}
	clear(s.roster.news)
	return out, err
}

// again lets news return a life once more.
func (s *Cluster) again(life Life) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roster.news[life.Self] = true
}

// onTaken tells the other hosts where a life goes on, unless they know.
func (s *Cluster) onTaken(id home.Identity, host streams.Host, custody int) {
	if host.ID != s.Host.ID {
		_ = s.Sync(s.untilEnd()) // that host may have told; if Sync fails, this one tells again
	}
	life, _ := s.find(id.Self)
	if life.Custody > custody || life.Custody == custody && life.Host.ID == host.ID { // handed over since, or told
		return
	}
	if host.ID == s.Host.ID && !s.served() {
		s.renews(s.untilEnd()) // a command that takes a life may end before attend says so
	}
	l := Life{Self: id.Self, Name: id.Name, Custody: custody, Host: host}
	if child, err := id.Child(); err == nil && child != nil {
		if parent, ok := s.named(child.Of); ok {
			l.Parent = parent.Self
		}
	}
	if err := s.tell(s.untilEnd(), rosterRoom, l); err != nil {
		const told = "other hosts were not told where a life goes on; the next start tells them"
		s.log.Warn(told, "identity", id.Name, "error", err)
	}
}

// alike returns an error where another life of the home has the name of a life that is not shared yet.
func (s *Cluster) alike(id home.Identity) error {
	life, ok := s.named(id.Name)
	if !ok || life.Self == id.Self {
		return nil
	}
	return fmt.Errorf("share %s: %s has another life of that name, %.12s; give this one another name: lethe fork %[1]s "+
		"--name NAME, and then lethe rm %[1]s", id.Name, life.Host.Label, life.Self)
}

// Removed is home.Sharing's.
func (s *Cluster) Removed(id home.Identity) error {
	ctx := s.untilEnd()
	err := s.Sync(ctx)
	if err == nil {
		err = s.lives.End(ctx, id)
	}
	if life, ok := s.find(id.Self); ok && err == nil {
		life.Gone = true
		err = s.tell(ctx, rosterRoom, life)
	}
	return err
}

// tell adds a line to a room of the hosts, even if it stands there.
func (s *Cluster) tell(ctx context.Context, room string, what any) error {
	line, err := json.Marshal(what)
	var end chat.Mark
	if err == nil {
		end, err = chat.End(rooms.Path(s.home.Dir, room))
	}
	if err == nil {
		_, _, err = s.rooms.Post(ctx, room, append(line, '\n'), end)
	}
	return err
}

// find returns the life of a name, or else the one with a Self that begins so.
func (s *Cluster) find(who string) (Life, bool) {
	life, ok := s.named(who)
	if !ok && len(who) >= 4 {
		life, ok = s.first(func(l Life) bool { return strings.HasPrefix(l.Self, who) })
	}
	return life, ok
}

func (s *Cluster) named(name string) (Life, bool) {
	return s.first(func(life Life) bool { return life.Name == name })
}

func (s *Cluster) first(is func(Life) bool) (Life, bool) {
	all, _ := s.Lives()
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return Life{}, false
}

// Unknown returns a *home.ElsewhereError where the home has a life of a name at another host.
func (s *Cluster) Unknown(name string) error {
	if err := s.Sync(s.untilEnd()); err != nil {
		return err
	}
	life, is := s.named(name)
	if !is || life.Host.ID == s.Host.ID {
		return nil
	}
	return s.moved(life)
}

// Copy brings a life as the store has it into another home, which shares nothing, and returns the host that has the
// life. Called again, it brings what is new. Nothing is written to the store.
func (s *Cluster) Copy(
	ctx context.Context, into home.Home, store *blobs.Store, id home.Identity,
) (copied home.Identity, at streams.Host, err error) {
	copied = into.Identity(id.Self, id.Name)
	if err := s.connect(); err != nil {
		return copied, at, err
	}
	copies := lives.Lives{Streams: s.streams, Home: into, Host: s.Host, Log: s.log}
	at, err = copies.Copy(ctx, copied, store)
	return copied, at, err
}

// WatchLife signals at once, and when Copy may bring something new of a life, until ctx ends.
func (s *Cluster) WatchLife(ctx context.Context, self string) (<-chan struct{}, error) {
	if err := s.connect(); err != nil {
		return nil, err
	}
	return s.streams.Watch(ctx, lives.Stream(self)), nil
}

// Take has a life go on here, with its children.
func (s *Cluster) Take(ctx context.Context, who string) (home.Identity, error) {
	err := s.Sync(ctx)
	if err == nil {
		err = s.reread(ctx)
	}
	if err != nil {
		return home.Identity{}, err
	}
	life, ok := s.find(who)
	if !ok {
		return home.Identity{}, fmt.Errorf("take %s: %w: no host has a life of that name", who, home.ErrNotFound)
	}
	return s.take(ctx, life, "")
}

// take takes a life and its children. Where from names a host, it takes them from that one alone.
func (s *Cluster) take(ctx context.Context, life Life, from string) (home.Identity, error) {
	id := s.id(life)
	all, err := s.Lives()
	if err != nil {
		return id, err
	}
	for _, child := range all {
		if child.Parent != life.Self || child.Host.ID == s.Host.ID {
			continue
		}
		if _, err := s.take(ctx, child, from); err != nil {
			return id, err
		}
	}
	if err := os.MkdirAll(id.Dir, 0o700); err != nil {
		return id, err
	}
	lock, err := home.Lock(id)
	if err != nil {
		return id, err
	}
	err = s.lives.Take(ctx, id, s.texts, from)
	lock.Close()
	if err != nil {
		return id, err
	}
	return id, s.opened(id) // which has its log say so
}

// opened opens a life, which shares it and has its log say where it goes on, and closes it.
func (s *Cluster) opened(id home.Identity) error {
	j, err := journal.Hold(s.home, id, s.texts, s.log)
	if err != nil {
		return err
	}
	return j.Close()
}
