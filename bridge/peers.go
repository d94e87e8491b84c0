package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lethe/chat"
	"lethe/internal/durable"
)

// peerState is the content of peers/<key>.json: how far a room has been sent.
type peerState struct {
	Room string `json:"room"`
	// Cursor stands behind Line, when there is one.
	Cursor chat.Cursor `json:"cursor"`
	// Newest is the latest time in a tag that the cursor has passed. When the room
	// is replaced, what is not later is history.
	Newest time.Time `json:"newest,omitzero"`
	// Asked is the newest line from this peer that no answer was sent after, and
	// Earlier those before it, oldest first.
	Asked   *Origin  `json:"asked,omitempty"`
	Earlier []Origin `json:"earlier,omitempty"`
	// Line is on its way out.
	Line *sending `json:"line,omitempty"`
}

// sending is a line on its way out, with the parts that are not sent, one at least.
type sending struct {
	Room  string `json:"room"`
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	Parts []Part `json:"parts"`
}

// ask notes a line from this peer.
func (st *peerState) ask(origin *Origin) {
	const most = 16 // of both
	if st.Asked != nil {
		st.Earlier = append(slices.Clone(st.Earlier), *st.Asked) // the old one is still on disk
		st.Earlier = st.Earlier[max(0, len(st.Earlier)-most+1):]
	}
	st.Asked = origin
}

// open lists the lines that an answer may be to.
func (st *peerState) open() []Origin {
	if st.Asked == nil {
		return nil
	}
	return append(slices.Clone(st.Earlier), *st.Asked)
}

// errDamaged is in the error of a state file that makes no sense.
var errDamaged = errors.New("it makes no sense")

// readPeer reads a peers/<key>.json.
func readPeer(path string) (st peerState, err error) {
	data, err := durable.ReadWhole(path, 256<<20)
	if err == nil {
		st, err = parsePeer(data)
	}
	if err != nil {
		return peerState{}, fmt.Errorf("read %s: %w", path, err)
	}
	return st, nil
}

// parsePeer reads a whole peers/<key>.json. Behind the position, earlier versions noted parts
// that were sent; these are sent again.
func parsePeer(data []byte) (st peerState, err error) {
	err = json.NewDecoder(bytes.NewReader(data)).Decode(&st)
	if err != nil {
		return st, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if !chat.ValidRoom(st.Room) || st.Cursor.Offset < 0 {
		return st, fmt.Errorf("%w: it names no position in a room", errDamaged)
	}
	if st.Line != nil {
		settled := func(p Part) bool { return p.State != "" }
		st.Line.Parts = slices.DeleteFunc(st.Line.Parts, settled)
		if len(st.Line.Parts) == 0 {
			st.Line = nil
		}
	}
	return st, nil
}

// write makes st durable.
func (p *peer) write(st peerState) error {
	data, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("write the position of peer %s: %w", p.key, err)
	}
	data = append(data, '\n')
	err = durable.WriteFile(p.path, data, 0o600)
	if err == nil {
		err = p.shared.Wrote(filepath.Join("peers", p.key+".json"), data, 0)
	}
	return err
}

// peer is the state of one peer in memory.
type peer struct {
	key, path string
	shared    Shared
	wake      chan struct{} // capacity 1

	mu      sync.Mutex  // over the look at the file, and its change by others than Deliver
	running atomic.Bool // a Deliver has it: once that has loaded state, only it may look at what state holds
	state   *peerState  // as it is; nil before the first look
}

// validKey reports whether key can name a peer and its file.
func validKey(key string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	if key == "" || len(key) > 100 {
		return false
	}
	return key[0] != '.' && strings.Trim(key, letters) == ""
}

func peersDir(dir string) string { return filepath.Join(dir, "peers") }

// peer returns the peer called key.
func (b *Bridge) peer(key string) *peer {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.peers[key]
	if known == nil {
		path := filepath.Join(peersDir(b.dir), key+".json")
		known = &peer{key: key, path: path, shared: b.cfg.Shared, wake: make(chan struct{}, 1)}
		b.peers[key] = known
	}
	return known
}

// Peers lists the keys of the peers that have a position in a room, sorted. After an error
// nobody can tell which there are.
func (b *Bridge) Peers() (keys []string, err error) {
	entries, err := os.ReadDir(peersDir(b.dir))
	if err != nil {
		return nil, fmt.Errorf("list peers: %w", err)
	}
	for _, e := range entries {
		if key, ok := strings.CutSuffix(e.Name(), ".json"); ok && validKey(key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// ensurePeer has a message's peer hear the room from its end, unless it hears it already or
// lines are being delivered to it.
func (b *Bridge) ensurePeer(key, room string) error {
	if key == "" {
		return nil
	}
	known := b.peer(key)
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.running.Load() && known.state != nil {
		return nil
	}
	return known.attach(b, room)
}

// attach loads the state, if that was not done, and starts at the end of room unless the peer
// hears it already. What was said in its old room and not yet begun to be sent is left; a line
// that is half sent is finished. The caller holds mu.
func (p *peer) attach(bridge *Bridge, room string) error {
	var damage error
	if p.state == nil {
		st, err := readPeer(p.path)
		switch {
		case err == nil:
			p.state = &st
		case errors.Is(err, errDamaged):
			damage = err
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	next := peerState{Room: room}
	if p.state != nil {
		if p.state.Room == room {
			return nil
		}
		bridge.log.Info("a peer moves to another room", "peer", p.key, "from", p.state.Room, "to", room)
		next.Line = p.state.Line
	}
	var err error
	if next.Cursor, next.Newest, err = roomEnd(bridge.cfg.Shared.Room(room)); err != nil {
		return err
	}
	if damage != nil {
		kept, err := SetAside(p.path)
		if err != nil {
			return err
		}
		bridge.log.Error("the position of a peer is damaged; going on at the room's end, lines before it are not sent",
			"peer", p.key, "room", room, "kept", kept, "err", damage)
	}
	if err := p.write(next); err != nil {
		return err
	}
	p.state = &next
	return nil
}

// roomEnd is the cursor behind the last line of a room, and the latest time
// among its last lines.
func roomEnd(path string) (cursor chat.Cursor, newest time.Time, err error) {
	_, _, cursor, err = chat.Tail(path, 20)
	if err != nil {
		return cursor, newest, err
	}
	b, err := chat.Read(path, cursor, 64<<20) // more than 20 lines can have
	for _, l := range b.Lines {
		newest = later(newest, l)
	}
	return b.Next, newest, err
}

// later is t, or the time in the tag of l if that is later. A tag from the
// future counts as now: anybody can write one.
func later(t time.Time, line chat.Line) time.Time {
	if !line.At.After(t) {
		return t
	}
	if now := time.Now().UTC(); line.At.After(now) {
		return now
	}
	return line.At
}

// Move makes a peer hear p.Room from its end as it is now, unless it hears it already, as
// Deliver does when it begins. An answer that follows Move at once is sent, however late
// Deliver begins. No Deliver of the peer may be running.
func (b *Bridge) Move(to Peer) error {
	err := to.check()
	if err == nil {
		err = b.ensurePeer(to.Key, to.Room)
	}
	if err != nil {
		return fmt.Errorf("move peer %s: %w", to.Key, err)
	}
	return nil
}

// Forget drops what is known of a peer: lines that wait for it are not sent. If
// it comes back, it starts at its room's end. No Deliver of it may be running.
func (b *Bridge) Forget(key string) error {
	if !validKey(key) {
		return fmt.Errorf("forget peer: %q is not a peer's key", key)
	}
	known := b.peer(key)
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.running.Load() {
		return fmt.Errorf("forget peer %s: it is being delivered to", key)
	}
	if err := durable.Remove(known.path); err != nil {
		return fmt.Errorf("forget peer %s: %w", key, err)
	}
	known.state = nil
	return nil
}

// Wake tries a peer again now that was unreachable, or whose last part failed.
// The time that a LaterError gave is kept.
func (b *Bridge) Wake(key string) {
	if !validKey(key) {
		return
	}
	select {
	case b.peer(key).wake <- struct{}{}:
	default: // one value stands for all
	}
}

func (p Peer) check() error {
	switch {
	case !validKey(p.Key):
		return fmt.Errorf("%q is not a peer's key", p.Key)
	case !chat.ValidRoom(p.Room):
		return fmt.Errorf("%q is not a room's name", p.Room)
	}
	return nil
}
