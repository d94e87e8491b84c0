package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	Asked   *said  `json:"asked,omitempty"`
	Earlier []said `json:"earlier,omitempty"`
	// Line is what is being sent.
	Line *sending `json:"line,omitempty"`
}

// sending is a line on its way out; at least one of its parts is not sent.
type sending struct {
	Room  string `json:"room"`
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	Parts []Part `json:"parts"`
}

// maxOpen bounds Asked and Earlier.
const maxOpen = 16

// ask notes a line from this peer.
func (st *peerState) ask(s *said) {
	if st.Asked != nil {
		st.Earlier = append(slices.Clone(st.Earlier), *st.Asked) // the old one is still on disk
		st.Earlier = st.Earlier[max(0, len(st.Earlier)-maxOpen+1):]
	}
	st.Asked = s
}

// open lists the lines that an answer may be to.
func (st *peerState) open() (all []*Origin) {
	for _, s := range st.Earlier {
		all = append(all, s.origin())
	}
	if st.Asked != nil {
		all = append(all, st.Asked.origin())
	}
	return all
}

// next is the first part that is not settled; -1 for none.
func (s *sending) next() int {
	return slices.IndexFunc(s.Parts, func(p Part) bool { return p.State == "" })
}

// maxPeerFile bounds what is read of peers/<key>.json, in bytes.
const maxPeerFile = 256 << 20

// readPeer reads a state file. When it is there and makes no sense, data is what it holds.
func readPeer(path string) (st peerState, data []byte, err error) {
	data, err = durable.ReadWhole(path, maxPeerFile)
	if err != nil {
		return st, nil, fmt.Errorf("read %s: %w", path, err)
	}
	if st, err = parsePeer(data); err != nil {
		return peerState{}, append([]byte{}, data...), fmt.Errorf("read %s: %w", path, err)
	}
	return st, nil, nil
}

// parsePeer reads a whole peers/<key>.json. Behind the position, earlier versions noted parts
// that were sent; these are sent again.
func parsePeer(data []byte) (st peerState, err error) {
	err = json.NewDecoder(bytes.NewReader(data)).Decode(&st)
	if err == nil && (!chat.ValidRoom(st.Room) || st.Cursor.Offset < 0) {
		err = errors.New("it names no position in a room")
	}
	if st.Line != nil && st.Line.next() < 0 {
		st.Line = nil
	}
	return st, err
}

// write makes st durable.
func (p *peer) write(st peerState) error {
	data, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("write the position of peer %s: %w", p.key, err)
	}
	return durable.WriteFile(p.path, append(data, '\n'), 0o600)
}
