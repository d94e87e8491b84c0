package chat

import (
	"slices"
	"strings"
	"unicode"
)

// Everybody is the name by which a text mentions all who hear it.
const Everybody = "all"

// Mentions reports whether a text mentions one of several names: whether @ and the name stand in it as a word, in upper
// or lower case. Letters, digits and - _ . / @ are part of a word; those at its ends are not, but for letters and digits.
func Mentions(text string, names ...string) bool {
	parts := func(r rune) bool {
		return !unicode.In(r, unicode.Letter, unicode.Number, unicode.Mark) && !strings.ContainsRune("-_./@", r)
	}
	for word := range strings.FieldsFuncSeq(text, parts) {
		name, at := strings.CutPrefix(strings.Trim(word, "-_./"), "@")
		if at && slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			return true
		}
	}
	return false
}

// Notify returns rooms, and behind them those of notices: all, or with a text those for people whom it mentions.
func Notify(notices []string, text string, rooms ...string) []string {
	for _, room := range notices {
		person := strings.TrimPrefix(room, notifyPrefix)
		if (text == "" || Mentions(text, person, Everybody)) && !slices.Contains(rooms, room) {
			rooms = append(rooms[:len(rooms):len(rooms)], room)
		}
	}
	return rooms
}
