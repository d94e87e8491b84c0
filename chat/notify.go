package chat

import (
	"strings"

	"lethe/internal/pattern"
)

// notifyPrefix begins the names of the rooms that hold notices for one person.
const notifyPrefix = "notify-"

// NotifyRoom returns the room that holds the notices for a person. For some names it
// is not a valid room.
func NotifyRoom(person string) string { return notifyPrefix + strings.ToLower(person) }

// Notified returns the person whom a room of NotifyRoom is for.
func Notified(room string) string { return strings.TrimPrefix(room, notifyPrefix) }

// ForNotices reports whether a room holds notices for one person.
func ForNotices(room string) bool { return strings.HasPrefix(room, notifyPrefix) }

var noticeForm = pattern.Lazy(`(?s)^\(([a-z0-9][a-z0-9_-]{0,63})\) (.*)$`)

// Notice returns the text of a line of room for a room for notices. With room "", it
// makes sure that the text does not look like a notice of a room.
func Notice(room, text string) string {
	if room != "" {
		return "(" + room + ") " + text
	}
	if from, _ := ParseNotice(text); from != "" {
		return " " + text
	}
	return text
}

// ParseNotice splits a line of a room for notices into the room that it comes from, or "",
// and the text there.
func ParseNotice(text string) (room, rest string) {
	if match := noticeForm().FindStringSubmatch(text); match != nil {
		return match[1], match[2]
	}
	return "", text
}
