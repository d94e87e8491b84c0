package web

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// decode returns the text of a page; U+FFFD stands for what cannot be read. A page that is valid UTF-8 is taken as
// that. Another one is read by its byte order mark, by the charset of its type, or by the one that it names near its
// beginning. If it names no charset, it is read as windows-1252, as browsers do.
func decode(kind string, page []byte) string {
	if utf8.Valid(page) {
		return string(page)
	}
	encoding, _, _ := charset.DetermineEncoding(page, kind)
	text, err := encoding.NewDecoder().Bytes(page)
	if err != nil {
		text = page
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(text), "\uFFFD"), "\uFEFF")
}
