package chat

import (
	"slices"
	"strings"
	"unicode"
)

// Everybody is the name that mentions all readers of a text.
const Everybody = "all"

// Mentions reports whether a text mentions one of several names: whether it has @ and the name as a word, in upper or
// lower case. A word consists of letters, digits and - _ . / @, and begins and ends with a letter, a digit or @.
func Mentions(text string, names ...string) bool {
	parts := func(char rune) bool {
		return !unicode.In(char, unicode.Letter, unicode.Number, unicode.Mark) && !strings.ContainsRune("-_./@", char)
	}
	for _, word := range strings.FieldsFunc(text, parts) {
		name, at := strings.CutPrefix(strings.Trim(word, "-_./"), "@")
		if at && slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			return true
		}
	}
	return false
}

// Notify returns rooms, and behind them rooms for notices: all of notices, or with a text the rooms for people whom it
// mentions.
func Notify(notices []string, text string, rooms ...string) []string {
	for _, room := range notices {
		person := Notified(room)
		mentioned := text == "" || Mentions(text, person, Everybody)
		if mentioned && !slices.Contains(rooms, room) {
			rooms = append(rooms[:len(rooms):len(rooms)], room)
		}
	}
	return rooms
}
