package chat

import (
	"regexp"
	"strings"
	"sync"
)

// notifyPrefix begins the names of the rooms that hold notices for one person.
const notifyPrefix = "notify-"

// NotifyRoom is the room that holds the notices for a person, which may be no
// valid room for some names.
func NotifyRoom(person string) string { return notifyPrefix + strings.ToLower(person) }

// ForNotices says whether a room holds notices for one person.
func ForNotices(room string) bool { return strings.HasPrefix(room, notifyPrefix) }

var noticeForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^\(([a-z0-9][a-z0-9_-]{0,63})\) (.*)$`)
})

// Notice is the text of a line of room as a room for notices has it. Without a room, the
// text stands there for itself and cannot be taken for a notice of another room.
func Notice(room, text string) string {
	if room != "" {
		return "(" + room + ") " + text
	}
	if from, _ := ParseNotice(text); from != "" {
		return " " + text
	}
	return text
}

// ParseNotice takes a line of a room for notices apart: the room that it is from, "" for
// none, and the text there.
func ParseNotice(text string) (room, rest string) {
	if m := noticeForm().FindStringSubmatch(text); m != nil {
		return m[1], m[2]
	}
	return "", text
}
