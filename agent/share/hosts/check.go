package hosts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/share"
	"lethe/agent/share/lives"
	"lethe/agent/share/rooms"
	"lethe/agent/share/streams"
	"lethe/chat"
	"lethe/internal/seal"
)

// Fault is a text that the store lacks, or that is damaged there.
type Fault struct {
	Stream string `json:"stream"`
	Of     string `json:"of"` // the name of a life, or of what else the stream holds
	What   string `json:"what"`
	Means  string `json:"means"` // what a restore loses
}

// Audit is what a reading of the store found.
type Audit struct {
	Lives  int     `json:"lives"`
	Texts  int     `json:"texts"`
	Bytes  int64   `json:"bytes"`
	Faults []Fault `json:"faults"`
}

// audit reads a store.
type audit struct {
	Audit
	ctx    context.Context
	lives  lives.Lives
	roster roster
	said   map[string]time.Time // by name, the newest line of an identity in rooms
	tell   func(Audit)
}

// Check reads all that the store of a home has, and changes nothing in it. tell is called after each text. It keeps in
// share/checked.json what it found.
func Check(ctx context.Context, place home.Home, conf Config, tell func(Audit)) (Audit, error) {
	a := &audit{ctx: ctx, said: map[string]time.Time{}, tell: tell}
	a.Faults = []Fault{}
	all := &streams.Streams{Only: true}
	if !conf.Plain {
		keys, err := seal.Load(place.Dir, conf.To, false)
		if err != nil {
			return a.Audit, fmt.Errorf("check the store: %w", err)
		}
		all.Keys = keys
	}
	store, err := share.Open(conf.URL, 0)
	if err != nil {
		return a.Audit, err
	}
	defer store.Close()
	all.Store = store
	host, err := thisHost(place.Dir)
	if err != nil {
		return a.Audit, err
	}
	a.lives = lives.Lives{Streams: all, Home: place, Host: host}
	if err := a.all(); err != nil {
		return a.Audit, fmt.Errorf("check the store: %w", err)
	}
	return a.Audit, changeChecked(place.Dir, func(found *Checked) {
		found.Read, found.By, found.Faults = time.Now().UTC(), host.Label, map[string]string{}
		for _, fault := range a.Faults {
			found.Faults[fault.Stream] = fault.Of + ": " + fault.What
		}
	})
}

func (a *audit) read(bytes int) {
	a.Texts, a.Bytes = a.Texts+1, a.Bytes+int64(bytes)
	a.tell(a.Audit)
}

// fault returns a function that notes faults of a stream.
func (a *audit) fault(stream, of, means string) func(what error) {
	return func(what error) { a.Faults = append(a.Faults, Fault{stream, of, what.Error(), means}) }
}

func (a *audit) all() error {
	all := a.lives.Streams
	names, err := all.List(a.ctx, "")
	if err != nil {
		return err
	}
	lost := a.fault(rooms.Stream, "rooms", "a restore brings the rooms without these lines or files")
	if err := (&rooms.Rooms{Streams: all, Dir: a.lives.Home.Dir}).Read(a.ctx, a.read, lost, a.hear); err != nil {
		return err
	}
	there := map[string]bool{}
	for _, name := range names {
		kind, of, _ := strings.Cut(name, "/")
		isBook := name == "ledger" || kind == "bridges" && !strings.Contains(of, "/")
		switch {
		case isBook:
			book := streams.Book{Streams: all, Stream: name}
			err = book.Read(a.ctx, a.read, a.fault(name, name, "a restore does not bring it as it was"))
		case kind == "lives" && !strings.Contains(of, "/"):
			there[of] = true
			err = a.life(of)
		}
		if err != nil {
			return err
		}
	}
	for _, life := range a.roster.order {
		if !there[life.Self] {
			a.fault(lives.Stream(life.Self), life.Name, "a restore brings nothing of it")(errors.New("nothing of it is there"))
		}
	}
	if len(there) == 0 && len(a.Faults) == 0 {
		return fmt.Errorf("%w: no life is stored there", home.ErrNotFound)
	}
	return nil
}

// hear takes in lines of a room.
func (a *audit) hear(room string, lines []byte) {
	if room == rosterRoom {
		a.roster.add(lines)
	}
	for raw := range strings.Lines(string(lines)) {
		line := chat.Parse([]byte(strings.TrimSuffix(raw, "\n")))
		if line.Agent && line.At.After(a.said[line.Name]) {
			a.said[line.Name] = line.At
		}
	}
}

// life reads one life.
func (a *audit) life(self string) error {
	known := a.roster.lives[self]
	name, stream := known.Name, lives.Stream(self)
	if name == "" {
		name = self[:min(12, len(self))]
	}
	before := len(a.Faults)
	stored, err := a.lives.Read(a.ctx, self, a.read, a.fault(stream, name, ""))
	if err != nil || stored.Ended {
		return err
	}
	a.Lives++
	if !known.Gone && known.Name == "" {
		a.fault(stream, name, "")(errors.New("no room names it"))
	}
	isWhole := len(a.Faults) == before
	if isWhole && a.said[name].After(stored.End) {
		a.fault(stream, name, "")(fmt.Errorf("rooms have its answers until %s, of which it does not know: its newest segments "+
			"are gone", a.said[name].Format(time.DateTime+"Z")))
	}
	if err := a.lives.Lacking(a.ctx, a.lives.Home.Identity(self, name)); streams.Unreadable(err) && isWhole {
		a.fault(stream, name, "")(err)
	}
	means := fmt.Sprintf("a restore brings its life until %s", stored.End.UTC().Format(time.DateTime+"Z"))
	switch {
	case stored.Bytes == 0:
		means = "a restore brings nothing of it"
	case stored.Behind > 0:
		means += fmt.Sprintf(", and sets aside the %d bytes behind it", stored.Behind)
	}
	if stored.Host.Label != "" {
		means += fmt.Sprintf("; while it runs at %s, that host writes again what it has", stored.Host.Label)
	}
	for k := range a.Faults[before:] {
		a.Faults[before+k].Means = means
	}
	return nil
}
