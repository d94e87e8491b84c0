package page

import (
	"fmt"
	"html/template"
	"reflect"
	"time"
	"unicode/utf8"

	"lethe/chat"
	"lethe/life/event"
	"lethe/mind"
)

var words = template.FuncMap{
	"clean": chat.Sanitize, "markdown": said, "count": count, "dollars": dollars, "short": short, "why": why,
	"share": share, "part": hundredths, "linked": linked, "entries": entries, "version": version,
	"clock":  func(f *frame, t time.Time) string { return t.In(f.Clock()).Format("15:04") },
	"day":    func(f *frame, t time.Time) string { return t.In(f.Clock()).Format("Monday, 2 January 2006") },
	"brief":  func(f *frame, t time.Time) string { return t.In(f.Clock()).Format("2 Jan 15:04") },
	"moment": func(f *frame, t time.Time) string { return t.In(f.Clock()).Format("2 Jan 2006 15:04") },
	"stamp":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
}

// count writes a number of tokens or bytes as people say it: 950, 1.2k, 18k, 1.2M.
func count(n any) string {
	switch v := reflect.ValueOf(n).Convert(reflect.TypeFor[float64]()).Float(); {
	case v < 1000:
		return fmt.Sprintf("%.0f", v)
	case v < 9950:
		return fmt.Sprintf("%.1fk", v/1000)
	case v < 999_500:
		return fmt.Sprintf("%.0fk", v/1000)
	default:
		return fmt.Sprintf("%.1fM", v/1e6)
	}
}

func dollars(usd float64) string {
	if usd > 0 && usd < 0.01 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// entries names those from one to another.
func entries(from, to int) string {
	if from == to {
		return mind.EntryID(from)
	}
	return event.Entries{From: from, To: to}.String()
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
