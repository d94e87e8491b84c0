package mind

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"lethe/blobs"
	"lethe/life"
)

// What happens in a turn: replies, calls and their results, notes and trouble.

func (s *State) reply(e life.Event, bodies []Body) error {
	entry, err := s.entry(e, bodies)
	if err != nil {
		return err
	}
	entry.Model = e.Get("model")
	s.Usage.Replies++
	s.Usage.Input += e.Int("in")
	s.Usage.Cached += e.Int("cached")
	s.Usage.Output += e.Int("out")
	usd, _ := strconv.ParseFloat(e.Get("usd"), 64)
	s.Usage.USD += usd
	if e.Int("in") > 0 {
		s.Usage.LastInput, s.Usage.LastWeight = e.Int("in"), e.Int("weight")
	}
	s.Owes, s.Cut, s.Told, s.Overflows = false, 0, "", 0
	s.Steps++
	if len(entry.Calls) > 0 {
		return nil
	}
	a, err := DecodeAnswer(bodies[0].Data)
	if err != nil {
		return err
	}
	if err := s.owePosts(e, e.Arg(0), blobs.Unescape(a.Text)); err != nil {
		return err
	}
	for _, room := range s.Peers {
		s.room(room).AgentTurns++
	}
	s.endTurn()
	return nil
}

func (s *State) endTurn() {
	s.Owes = false
	s.Turn++
	s.Waiting, s.Said, s.Peers = nil, nil, nil
}

func (s *State) call(e life.Event, _ []Body) error {
	c, err := s.find(e.Arg(0))
	if err != nil {
		return err
	}
	if c.Started || c.Status != "" {
		return errors.New("a second call")
	}
	c.Started = true
	if len(e.All("post")) == 0 {
		return nil
	}
	_, message := c.Say()
	if strings.TrimSpace(message) == "" {
		return nil // no line says it, and the tool will find nothing to post
	}
	if err := s.owePosts(e, e.Arg(0), message); err != nil {
		return err
	}
	s.Said = add(s.Said, s.Outbox[len(s.Outbox)-1].Room)
	return nil
}

// find returns the call e12.1 of the newest reply.
func (s *State) find(id string) (*Call, error) {
	n, k, err := ParseID(id)
	if err != nil {
		return nil, err
	}
	entry := s.Entry(n)
	if entry == nil || k < 1 || k > len(entry.Calls) {
		return nil, errors.New("no such call")
	}
	return entry.Calls[k-1], nil
}

func (s *State) result(e life.Event, bodies []Body) error {
	c, err := s.find(e.Arg(0))
	if err != nil {
		return err
	}
	if len(bodies) == 0 || c.Status != "" || e.Get("status") == "" {
		return errors.New("no body, no status, or a second result")
	}
	c.Status, c.Result, c.Show = e.Get("status"), refOf(e.Refs[0], bodies[0]), int(e.Int("show"))
	c.Text = Result(bodies[0].Data, c.Show, c.Result)
	if file, hash, ok := strings.Cut(e.Get("file"), ":"); ok {
		s.Files[file] = hash
	}
	if opened := e.Get("opened"); opened != "" {
		s.open(opened)
	}
	same := blobs.Sum([]byte(c.Tool + "\x00" + c.Args + "\x00" + string(bodies[0].Data))).String()[:16]
	if same == s.LastCall {
		s.Repeats++
	} else {
		s.LastCall, s.Repeats = same, 1
	}
	if !s.Unit().open() {
		s.Owes = true
	}
	return nil
}

func (s *State) note(e life.Event, bodies []Body) error {
	if _, err := s.entry(e, bodies); err != nil {
		return err
	}
	if file, hash, ok := strings.Cut(e.Get("file"), ":"); ok {
		s.Files[file] = hash
	}
	switch e.Get("why") {
	case "cut":
		s.Cut++
		s.Steps++
	case "repeat":
		s.LastCall, s.Repeats = "", 0
	}
	return nil
}

// hintMemory is for how many turns it is known what was hinted at.
const hintMemory = 100

func (s *State) hint(e life.Event, bodies []Body) error {
	if err := s.note(e, bodies); err != nil {
		return err
	}
	hinted := map[string]int{} // a new one: a snapshot may still be read
	for ref, turn := range s.Hinted {
		if s.Turn-turn < hintMemory {
			hinted[ref] = turn
		}
	}
	for _, ref := range e.All("ref") {
		hinted[ref] = s.Turn
	}
	s.Hinted = hinted
	return nil
}

// OpenRefs returns the short hashes of the originals that stand in the live
// context because they were opened there, whole or in part.
func (s *State) OpenRefs() []string {
	var out []string
	for _, e := range s.Live {
		for _, c := range e.Calls {
			if rest, ok := strings.CutPrefix(c.Text, OpenedText); ok && c.Tool == "UNCOMPACT" {
				if short, _, ok := strings.Cut(rest, " "); ok {
					out = append(out, short)
				}
			}
		}
	}
	return out
}

// OpenedText is how a result of UNCOMPACT begins; the hash follows.
const OpenedText = "original of hash="

func (s *State) grant(e life.Event, _ []Body) error {
	s.Grants[e.Get("hash")] = true
	return nil
}

// paused ends the asking until somebody acts. The debt stays, unless the turn
// itself is given up.
func (s *State) paused(e life.Event, _ []Body) error {
	if e.Get("turn") == "ended" {
		s.endTurn()
	} else {
		s.Paused = e.Get("why")
	}
	return s.notice(e)
}

// trouble is an error that the identity goes on after.
func (s *State) trouble(e life.Event, _ []Body) error {
	if e.Get("say") != "" {
		s.Told = e.Get("what")
	}
	if w := e.Int("window"); w > 0 {
		s.Window = int(w)
		s.Overflows++
	}
	return s.notice(e)
}

func (s *State) resumed(e life.Event, _ []Body) error {
	s.Paused = ""
	s.Version = e.Get("version")
	return nil
}

// open notes that the original of a faded range was looked at again: it fades
// further the later for it.
func (s *State) open(hash string) {
	for i, r := range s.Faded {
		if r.Original.Hash.String() == hash {
			s.Faded = slices.Clone(s.Faded)
			s.Faded[i].Opened = s.Turn + 1
		}
	}
}

// spent counts what was asked of a model beside the turns.
func (s *State) spent(e life.Event, _ []Body) error {
	s.Usage.Input += e.Int("in")
	s.Usage.Cached += e.Int("cached")
	s.Usage.Output += e.Int("out")
	usd, _ := strconv.ParseFloat(e.Get("usd"), 64)
	s.Usage.USD += usd
	return nil
}
