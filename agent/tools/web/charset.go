package web

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"mime"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// charsets has a line for each charset of old pages: its names, a tab, and its characters. Those come first that one byte
// from 0x80 on stands for, then, by the first byte, those that two bytes do, of which the second is from 0x40 on. U+FFFD
// is none. TestCharsets makes it of golang.org/x/text/encoding, whose tables are five times as large.
//
//go:embed charsets.gz
var charsets []byte

const (
	leads  = 0x100 - 0x80
	trails = 0x100 - 0x40
)

// characters returns those of a charset, or nil for one that is not known.
func characters(name string) []rune {
	unpacked, _ := gzip.NewReader(bytes.NewReader(charsets)) // it ships with the program
	all, _ := io.ReadAll(unpacked)
	for line := range strings.Lines(string(all)) {
		names, chars, _ := strings.Cut(line, "\t")
		if slices.Contains(strings.Fields(names), name) {
			return []rune(strings.TrimSuffix(chars, "\n"))
		}
	}
	return nil
}

// declared finds the charset that a page names near its beginning.
var declared = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<meta[^>]+charset\s*=\s*["']?([\w-]+)`)
})

// decode makes text of a page: by what it is if that is UTF-8, else by the charset of its type or the one that it names,
// and where it names none, by windows-1252, as browsers do.
func decode(kind string, page []byte) string {
	_, parameters, _ := mime.ParseMediaType(kind)
	name := parameters["charset"]
	if m := declared().FindSubmatch(page[:min(len(page), 1024)]); m != nil && name == "" {
		name = string(m[1])
	}
	switch name = strings.ToLower(name); {
	case len(page) > 1 && page[0]^page[1] == 0xfe^0xff && page[0]&page[1] == 0xfe:
		return wide(page)
	case name == "utf-8" || name == "utf8" || utf8.Valid(page):
		return strings.ToValidUTF8(string(page), "\uFFFD")
	}
	chars := characters(name)
	if chars == nil {
		chars = characters("windows-1252")
	}
	var text strings.Builder
	for i := 0; i < len(page); i++ {
		lead, r := int(page[i])-0x80, rune(page[i])
		if lead >= 0 {
			r = chars[lead]
		}
		if r == utf8.RuneError && len(chars) > leads && i+1 < len(page) && page[i+1] >= 0x40 {
			i++
			r = chars[leads+lead*trails+int(page[i])-0x40]
		}
		text.WriteRune(r)
	}
	return text.String()
}

// wide decodes UTF-16 that begins with a byte order mark.
func wide(page []byte) string {
	units := make([]uint16, len(page)/2)
	high := int(page[0] & 1) // where the mark has 0xff, the low byte comes first
	for i := range units {
		units[i] = uint16(page[2*i+high])<<8 | uint16(page[2*i+1-high])
	}
	return string(utf16.Decode(units[min(1, len(units)):]))
}
