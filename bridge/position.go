package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

func (st peerState) check() error {
	if !chat.ValidRoom(st.Room) || st.Cursor.Offset < 0 {
		return errors.New("it names no position in a room")
	}
	if st.Line != nil && st.Line.next() < 0 {
		return errors.New("the line that is being sent has nothing left to send")
	}
	return nil
}

// next is the first part that is not settled; -1 for none.
func (s *sending) next() int {
	return slices.IndexFunc(s.Parts, func(p Part) bool { return p.State == "" })
}

// mark settles one part of the line that the file begins with. Earlier versions wrote it
// behind the line.
type mark struct {
	Part    int    `json:"part"`
	State   string `json:"state"`
	Receipt string `json:"receipt,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// maxPeerFile bounds what is read of peers/<key>.json, in bytes.
const maxPeerFile = 256 << 20

// readPeer reads a state file. When it is there and makes no sense, data is what it holds.
func readPeer(path string) (st peerState, data []byte, err error) {
	data, cut, err := durable.ReadRegular(path, maxPeerFile)
	if err == nil && cut {
		err = fmt.Errorf("it has more than %d bytes", maxPeerFile)
	}
	if err != nil {
		return st, nil, fmt.Errorf("read %s: %w", path, err)
	}
	if st, err = foldPeer(data); err != nil {
		return peerState{}, append([]byte{}, data...), fmt.Errorf("read %s: %w", path, err)
	}
	return st, nil, nil
}

// foldPeer reads a whole peers/<key>.json. A last line without an end is a mark that was
// being written, which counts if it is whole.
func foldPeer(data []byte) (st peerState, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&st); err != nil {
		return st, err
	}
	for {
		var m mark
		before := dec.InputOffset()
		if err := dec.Decode(&m); err == io.EOF {
			return st, st.check()
		} else if err != nil {
			if rest := bytes.TrimSpace(data[before:]); !bytes.HasSuffix(data, []byte("\n")) && !bytes.Contains(rest, []byte("\n")) {
				return st, st.check()
			}
			return st, fmt.Errorf("at byte %d: %w", before, err)
		}
		if st.Line == nil || m.Part < 0 || m.Part >= len(st.Line.Parts) || m.State == "" {
			return st, fmt.Errorf("at byte %d: there is no part %d to settle", before, m.Part)
		}
		p := &st.Line.Parts[m.Part]
		p.State, p.Receipt, p.Reason = m.State, m.Receipt, m.Reason
	}
}

// save makes st durable and then the state. The caller holds mu, or is the
// Deliver that has the peer.
func (p *peer) save(st peerState) error {
	data, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("write the position of peer %s: %w", p.key, err)
	}
	if err := durable.WriteFile(p.path, append(data, '\n'), 0o600); err != nil {
		return err
	}
	p.state = &st
	return nil
}
