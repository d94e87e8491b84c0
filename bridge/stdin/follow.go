package stdin

import (
	"slices"
	"strconv"

	"lethe/events"
	"lethe/life"
)

// recent is the place in a log behind which the newest lines stand, n at least. It is before lines of
// a room, so that what follows has its place.
func recent(path string, n int) (after string) {
	log, err := life.View(path)
	if err != nil {
		return ""
	}
	defer log.Close()
	at := int64(0)
	_ = log.Back(0, func(e life.Event, offset int64) bool { // what is damaged ends it
		n--
		at = offset
		return n > 0 || e.Kind != "inbound"
	})
	if at > 0 {
		after = strconv.FormatInt(at, 10)
	}
	return after
}

// happened reads what has happened since to the identities that hear the room.
func (f *files) happened() (all []heard) {
	if f.cfg.Store == nil {
		return nil
	}
	for _, a := range f.all {
		if !slices.Contains(a.Rooms, f.seen.Room) {
			continue
		}
		s, known := f.follows[a.Self]
		if !known {
			path := a.dir + "/LIFE.md"
			s, _ = events.Open(f.cfg.Store, events.Log{Path: path, Name: a.Name}, recent(path, history))
		}
		f.follows[a.Self] = s
		if s == nil {
			continue
		}
		for e, err := range s.All() {
			if err != nil {
				_ = s.Close() // the log was replaced, or is damaged: the daemon says so
				f.follows[a.Self] = nil
				break
			}
			all = append(all, heard{a.Self, !known, e})
		}
	}
	return all
}

// unfollow forgets the logs of a room.
func (f *files) unfollow() {
	for _, s := range f.follows {
		if s != nil {
			_ = s.Close() // it was only read
		}
	}
	clear(f.follows)
}
