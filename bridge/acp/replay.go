package acp

import (
	"strconv"
	"time"

	"lethe/agent/events"
	"lethe/chat"
	"lethe/life"
)

const (
	replayed    = 1000    // lines of a room that a load shows
	replayBytes = 4 << 20 // of LIFE that a load reads for the calls
)

// replay shows the newest lines of the room, with the calls of the turns that answered them. Lines from before the life
// heard the room, or that LIFE holds far back, are shown without.
func (s *session) replay() error {
	said, _, _, err := chat.Tail(chat.Path(s.Home.Dir, s.room), replayed)
	if err != nil || len(said) == 0 {
		return err
	}
	after, err := lifeAt(s.self.LIFE(), said[0].At.Add(-time.Minute))
	if err != nil {
		return err
	}
	stream, err := events.Open(s.Store, events.Log{Path: s.self.LIFE(), Name: s.self.Name}, after)
	if err != nil {
		return err
	}
	defer stream.Close()
	begun := false
	for event, err := range stream.All() {
		if err != nil {
			return err
		}
		s.after = event.ID
		if !begun {
			begun = s.showBefore(said, event)
		}
		shown := event.Type != events.Usage && event.Type != events.ThinkingDone
		if begun && shown {
			s.view.event(event)
		}
	}
	if !begun {
		s.showLines(said)
	}
	return nil
}

// lifeAt returns an ID of LIFE from a moment on, or from the last replayBytes on.
func lifeAt(path string, moment time.Time) (after string, err error) {
	log, err := life.View(path)
	if err != nil {
		return "", err
	}
	defer log.Close()
	from, err := log.Seek(moment)
	if err != nil {
		return "", err
	}
	if least := log.Size() - replayBytes; from < least { // the next line begins there or before
		err = log.Back(-1, func(_ life.Event, offset int64) (more bool) {
			from = offset
			return offset > least
		})
	}
	return strconv.FormatInt(from, 10), err
}

// showBefore shows the lines before an event's line. It is false if the event tells of no line.
func (s *session) showBefore(said []chat.Line, event events.Event) bool {
	if !event.InRoom(s.room) {
		return false
	}
	for i, line := range said {
		heard := event.Type == events.UserMessage && event.Line == line.Hash
		isSame := line.By(s.self.Name) && event.Text == line.Text
		own := event.Type == events.MessageDone && isSame
		if heard || own {
			s.showLines(said[:i])
			return true
		}
	}
	return false
}

func (s *session) showLines(lines []chat.Line) {
	for _, line := range lines {
		s.view.line(line)
	}
}
