package page

import (
	"unicode/utf8"

	"lethe/bridge/report"
	"lethe/chat"
)

// gist is a line of a room in few words: a question or an answer without its id, files without their hashes.
func gist(s *report.Said) string {
	_, text := chat.Cited(s.Text)
	if q, ok := chat.ParseQuestion(s.Text); ok && s.Agent {
		text = q.Text
	}
	return short(160, unhashed(text))
}

// short cuts a text to at most n bytes, between runes.
func short(n int, s string) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
