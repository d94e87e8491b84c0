package hosts

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"time"

	"lethe/agent/home"
	"lethe/agent/share/lives"
	"lethe/agent/share/rooms"
	"lethe/agent/share/streams"
	"lethe/internal/durable"
)

// compareEvery is the mean time between two listings of what the store has of a life.
var compareEvery = 6 * time.Hour

func untilNext() time.Duration { return compareEvery/2 + rand.N(compareEvery) }

// untilFirst is untilNext, or 0 where a reading of the store has found faults.
func (s *Cluster) untilFirst() time.Duration {
	if len(ReadChecked(s.home.Dir).Faults) > 0 {
		return 0
	}
	return untilNext()
}

// Checked says what this host has found of the store. share/checked.json keeps it.
type Checked struct {
	Read   time.Time         `json:"read,omitzero"`       // when all of it was last read
	By     string            `json:"by,omitempty"`        // the label of the host then
	Faults map[string]string `json:"faults,omitempty"`    // by stream: what was found, and was not written again since
	Lost   time.Time         `json:"lost,omitzero"`       // when a host last found a loss
	What   string            `json:"lost_text,omitempty"` // that it wrote again
}

func checkedFile(home string) string { return filepath.Join(home, "share", "checked.json") }

// ReadChecked reads the Checked of a home; the zero one where there is no sound one.
func ReadChecked(home string) (found Checked) {
	_ = durable.ReadJSON(checkedFile(home), 1<<20, &found)
	return found
}

// change changes the Checked of a home.
func changeChecked(home string, change func(*Checked)) error {
	lock := durable.Lock(checkedFile(home) + ".lock")
	if err := lock.Lock(); err != nil {
		return err
	}
	defer lock.Close()
	found := ReadChecked(home)
	change(&found)
	return durable.WriteJSON(durable.WriteFile, checkedFile(home), found)
}

// noteLoss keeps for people that the store had lost something.
func (s *Cluster) noteLoss(what error) {
	err := changeChecked(s.home.Dir, func(found *Checked) { found.Lost, found.What = time.Now().UTC(), what.Error() })
	if err != nil {
		s.log.Warn("what the store has lost is not kept for lethe doctor", "error", err)
	}
}

// mends calls mend for a stream, and says whether a reading of the store found it damaged. If mend returns nil, it is
// whole again.
func (s *Cluster) mends(stream string, mend func(isDamaged bool) error) error {
	_, isDamaged := ReadChecked(s.home.Dir).Faults[stream]
	if err := mend(isDamaged); err != nil || !isDamaged {
		return err
	}
	return changeChecked(s.home.Dir, func(found *Checked) { delete(found.Faults, stream) })
}

// compareOften compares the store with a life that runs here, now and then, until ctx ends. It begins at once where faults are known.
func (s *Cluster) compareOften(ctx context.Context, c *lives.Tenure) {
	for wait := s.untilFirst(); pause(ctx, wait, nil); wait = untilNext() {
		err := s.mends(lives.Stream(c.Self()), func(isDamaged bool) error { return c.Compare(ctx, isDamaged) })
		if err != nil && ctx.Err() == nil {
			s.log.Warn("the store was not compared with a life", "self", c.Self(), "error", err)
		}
	}
}

// compareIdle compares the store with the rooms, and with lives of this host that do not run, as compareOften does.
func (s *Cluster) compareIdle(ctx context.Context) {
	for wait := s.untilFirst(); pause(ctx, wait, nil); wait = untilNext() {
		err := s.mends(rooms.Stream, func(isDamaged bool) error { return s.rooms.Compare(ctx, isDamaged) })
		all, lerr := s.Lives()
		err = errors.Join(err, lerr)
		for _, life := range all {
			id := s.id(life)
			if life.Host.ID == s.Host.ID && !runs(id) {
				err = errors.Join(err, s.mends(lives.Stream(life.Self), func(isDamaged bool) error {
					return s.compareOne(ctx, id, isDamaged)
				}))
			}
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn("the store was not compared with all lives", "error", err)
		}
	}
}

// compareOne compares the store with a life that does not run, and opens it only if the store lacks something.
func (s *Cluster) compareOne(ctx context.Context, id home.Identity, isDamaged bool) error {
	lost := s.lives.Lacking(ctx, id)
	isWhole := lost == nil && !isDamaged
	isUnknown := lost != nil && !streams.Unreadable(lost)
	if isWhole || isUnknown {
		return lost
	}
	lock, err := home.Lock(id)
	if err != nil {
		return err
	}
	defer lock.Close()
	c, err := s.lives.Hold(ctx, id, s.texts)
	if err != nil {
		return err
	}
	err = c.Compare(ctx, isDamaged)
	return errors.Join(err, c.Close())
}
