package page

import (
	"fmt"
	"html/template"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/agent/events"
	"lethe/agent/llm"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/internal/markdown"
	"lethe/internal/screen"
	"lethe/life/event"
	"lethe/mind"
)

var words = template.FuncMap{
	"cause": events.Cause, "clean": screen.Sanitize, "markdown": markdown.Parse, "kind": kind, "leads": leads,
	"count": count, "dollars": dollars, "short": short, "share": share, "part": hundredths, "linked": linked,
	"entries": entries, "pieces": pieces, "unhashed": unhashed, "version": version, "hint": backend.Hint,
	"gist": gist, "has": slices.Contains[[]string], "presets": llm.Presets,
	"pair":   func(of, in any) map[string]any { return map[string]any{"Of": of, "In": in} },
	"lines":  func(text string) []string { return strings.Split(text, "\n") },
	"clock":  shows("15:04"),
	"day":    shows("Monday, 2 January 2006"),
	"brief":  shows("2 Jan 15:04"),
	"moment": shows("2 Jan 2006 15:04"),
	"stamp":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
}

// shows has a time shown by the reader's clock.
func shows(layout string) func(*frame, time.Time) string {
	return func(f *frame, t time.Time) string { return t.In(f.Clock()).Format(layout) }
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

// gist is a line of a room in few words: a question or an answer without its id, files without their hashes.
func gist(s *report.Said) string {
	_, text := chat.Cited(s.Text)
	if q, ok := chat.ParseQuestion(s.Text); ok && s.Agent {
		text = q.Text
	}
	return short(160, unhashed(text))
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

// kind names the kind of a block for markdown.html, in which HTML is text, an image is a link, and a heading is no
// heading of the page.
func kind(b markdown.Block) string {
	return []string{"paragraph", "heading", "code", "rule", "quote", "list", "item", "table"}[b.Kind]
}

// leads returns the target of a link to the web or to mail. Another link leads nowhere, because a path would lead into
// this server.
func leads(to string) string {
	u, err := url.Parse(to)
	if err != nil {
		return ""
	}
	isWeb := u.Scheme == "http" || u.Scheme == "https"
	toHost := isWeb && u.Host != ""
	if !toHost && u.Scheme != "mailto" {
		return ""
	}
	return to
}
