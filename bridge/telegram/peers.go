package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lethe/agent/home"
	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/mind/audience"
)

// facts is chats.json. Moved are the groups that became supergroups, new id to old. The old one
// stays the id in the keys of peers, in routes and in the policy.
type facts struct {
	Version int               `json:"version"`
	Moved   map[string]string `json:"moved,omitempty"`
}

const (
	factsVersion = 1
	maxFacts     = 4 << 20 // bytes
)

// chats knows under which ids a chat goes.
type chats struct {
	path string

	mu    sync.Mutex
	moved map[string]string // as in chats.json, and never changed
}

// openChats reads chats.json in dir. One that cannot be understood is kept under another name and logged.
func openChats(dir string, log *slog.Logger) (*chats, error) {
	known := &chats{path: filepath.Join(dir, "chats.json")}
	data, err := durable.ReadWhole(known.path, maxFacts)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what is known of chats: %w", err)
	}
	var read facts
	if err = json.Unmarshal(data, &read); err == nil && read.Version == factsVersion {
		known.moved = read.Moved
		return known, nil
	}
	kept, failed := bridge.SetAside(known.path)
	log.Warn("what was known of chats cannot be read and is begun anew",
		"kept", kept, "version", read.Version, "error", err)
	return known, errors.Join(failed, durable.Remove(known.path))
}

// canonical returns the id that the bridge knows a chat by: its own, or the id of the group that it once was.
func (c *chats) canonical(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.moved[id]; ok {
		return old
	}
	return id
}

// current returns the id that Telegram knows a chat by now.
func (c *chats) current(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for now, old := range c.moved {
		if old == id {
			return now
		}
	}
	return id
}

// move notes that the group called old, now or once, is now a supergroup. When it returns nil,
// that survives power loss; after an error nothing has changed.
func (c *chats) move(old, now string) error {
	name := c.canonical(old)
	if name == now || c.canonical(now) == name {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	moved := map[string]string{now: name}
	for id, of := range c.moved {
		if of != name { // a group has one id at a time
			moved[id] = of
		}
	}
	data, err := json.MarshalIndent(facts{factsVersion, moved}, "", "  ")
	if err == nil {
		err = durable.WriteFile(c.path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write what is known of chats: %w", err)
	}
	c.moved = moved
	return nil
}

// keyOf is the key of a peer: the id of a chat, with a topic behind a point where the topic is
// listed itself. The General topic, 1, is the chat.
func keyOf(chat string, topic int) string {
	if topic <= 1 {
		return chat
	}
	return chat + "." + strconv.Itoa(topic)
}

// parseKey is the way back.
func parseKey(key string) (chat string, topic int) {
	chat, number, _ := strings.Cut(key, ".")
	topic, _ = strconv.Atoi(number) // nothing is 0
	return chat, topic
}

// rules returns the rules of the policy, with groups under the ids that the bridge knows: a supergroup may be
// listed by its new id, its old one, or both.
func (s *session) rules() (access.Rules, error) {
	rules, err := s.policy.Rules()
	for i, c := range rules.Chats {
		chat, topic := parseKey(c.ID)
		rules.Chats[i].ID = keyOf(s.chats.canonical(chat), topic)
	}
	return rules, err
}

// peerOf is the peer that hears the answers to a message: its topic, if that is listed, or else its chat.
func peerOf(chatID string, topic int, rules access.Rules) (key string) {
	if key = keyOf(chatID, topic); rules.Chat(key) {
		return key
	}
	return chatID
}

// room returns the room of a peer: the room that came with its permission, or the default. A person who may not read
// that has a room alone. A chat with a role has one, too, unless it was given a room that is as good.
func (s *session) room(peer string, rules access.Rules) string {
	in, private := home.Home{Dir: s.cfg.Home}, !strings.HasPrefix(peer, "-")
	name, isListed := rules.Called(peer)
	room, fits := rules.Room(peer, private), true
	if !chat.ValidRoom(room) { // a person may have edited the file
		room, fits = s.cfg.Room, s.role(peer) == ""
	}
	if !private {
		name, isListed = Name+":"+peer, rules.Chat(peer)
	} else if readers := in.Readers(room); s.role(peer) != "" {
		fits = audience.Same(readers, audience.Readers{name})
	} else {
		fits = readers.Has(name)
	}
	if fits || !isListed {
		return room
	}
	room = Name + "-" + strings.ReplaceAll(peer, ".", "-")
	if in.Readers(room) == nil { // else people may have named others
		err := chat.About{Title: name, Readers: audience.Readers{name}}.Write(in.Dir, room)
		s.hub.LocalTrouble("close the room of a chat", err)
	}
	return room
}

// wanted lists the peers that should be delivered to, by key, with their rooms: every listed group, topic and
// channel, every listed person who has written to the bot, and a second peer of each person who gets notices. known
// are the peers with a position in a room.
func (s *session) wanted(known []string) (map[string]string, error) {
	rules, err := s.rules()
	if err != nil {
		return nil, err
	}
	rooms := map[string]string{}
	for _, c := range rules.Chats {
		rooms[c.ID] = s.room(c.ID, rules)
	}
	for _, person := range rules.Users {
		if _, asked := s.asked.Load(person.ID); asked || slices.Contains(known, person.ID) {
			rooms[person.ID] = s.room(person.ID, rules)
		}
		for _, name := range s.cfg.Notify {
			if strings.EqualFold(person.Name, name) {
				rooms[noticeKey(person.ID)] = chat.NotifyRoom(name)
			}
		}
	}
	return rooms, nil
}

// delivery is a Deliver under way.
type delivery struct {
	room string
	stop func() // returns when Deliver has returned
}

// deliver keeps one Deliver going for every peer, as people come and go, until ctx ends.
func (s *session) deliver(ctx context.Context) error {
	people := chat.Scope{Dir: filepath.Join(s.cfg.Home, "bridges", Name), Names: []string{"people.json"}}
	list, unwatch := s.cfg.Watcher.Subscribe(people)
	defer unwatch()
	defer func() {
		s.delivering.Lock()
		defer s.delivering.Unlock()
		var all sync.WaitGroup
		for _, d := range s.running {
			all.Go(d.stop)
		}
		all.Wait()
		s.running = nil
	}()
	for {
		var again <-chan time.Time
		if !s.reconcile(ctx) {
			again = time.After(time.Second)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-list:
		case <-again:
		}
	}
}

// reconcile starts and stops Delivers, so that each wanted peer has one, in its room. After a
// failure it returns false, and is to be called again; while people.json cannot be read nothing
// changes.
func (s *session) reconcile(ctx context.Context) (ok bool) {
	s.delivering.Lock()
	defer s.delivering.Unlock()
	running := s.running
	if running == nil || ctx.Err() != nil {
		return true
	}
	known, err := s.hub.Peers()
	var want map[string]string
	if err == nil {
		want, err = s.wanted(known)
	}
	s.hub.LocalTrouble("tell which chats hear which rooms", err)
	if err != nil {
		return false
	}
	for key, d := range running {
		if want[key] != d.room {
			d.stop()
			delete(running, key)
		}
	}
	var kept error
	for _, key := range known {
		// Its position in the room goes too: what is said while nobody may hear it is not told to
		// somebody who is let in again later.
		if _, ok := want[key]; !ok {
			kept = errors.Join(kept, s.hub.Forget(key))
		}
	}
	s.hub.LocalTrouble("forget chats that are no longer listed", kept)
	for key, room := range want {
		if running[key] != nil {
			continue
		}
		p := bridge.Peer{Key: key, Room: room}
		if err := s.hub.Move(p); err != nil { // Deliver does it too, a little later
			s.log.Warn("a chat could not be moved to its room", "chat", key, "room", room, "error", err)
		}
		running[key] = s.begin(ctx, p)
		if _, asked := s.asked.LoadAndDelete(key); asked {
			s.tell(key, parcel{Text: "You have been let in.\n\n" + s.introduction(room)})
		}
	}
	return kept == nil
}

// begin starts to deliver to a peer.
func (s *session) begin(ctx context.Context, peer bridge.Peer) *delivery {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { // ends with stop, which deliver calls for each
		defer close(ended)
		if err := s.hub.Deliver(ctx, peer, s); err != nil {
			s.log.Error("lines do not go out to a chat", "chat", peer.Key, "room", peer.Room, "error", err)
		}
	}()
	return &delivery{peer.Room, func() {
		cancel()
		<-ended
	}}
}

// migrated notes that a group has become a supergroup. The keys of its peers and its permission go on.
func (s *session) migrated(old, now int64) error {
	from, to := strconv.FormatInt(old, 10), strconv.FormatInt(now, 10)
	rules, err := s.rules()
	if err != nil {
		return err
	}
	first := s.chats.canonical(from)
	if _, asked := s.asked.Load(first); !asked && !rules.Chat(first) {
		return nil
	}
	if err := s.chats.move(from, to); err != nil {
		return err
	}
	s.log.Info("a group has become a supergroup; its permission goes on", "chat", from, "now", to)
	s.wake(s.chats.canonical(to))
	return nil
}

// chatOf returns the present chat of a peer, and its topic if it is one.
func (s *session) chatOf(p bridge.Peer) (id int64, topic int) {
	chat, topic := parseKey(p.Key)
	id, _ = strconv.ParseInt(s.chats.current(chat), 10, 64)
	return id, topic
}
