package telegram

import (
	"net/url"
	"strings"

	"lethe/internal/markdown"
)

const (
	indent  = "    "       // of blocks in a list
	rule    = "──────────" // a thematic break
	maxLang = 32           // bytes of the name of a language
	// maxTable bounds the width of a table, in letters.
	maxTable = 500
	maxURL   = 2048 // bytes of a link's target; a longer one is shown as text
)

// renderer writes blocks as a doc.
type renderer struct {
	doc
	base   look   // of the block at hand: its quotation, if any
	prefix string // the indentation of each line of the block
	fresh  bool   // the prefix of the present line is not written yet
}

// blocks writes blocks with the blank lines of the source. Between blocks that stand in no other block, the text may be
// broken, but not behind its heading or colon.
func (r *renderer) blocks(all []markdown.Block, top bool) {
	for i, b := range all {
		if i > 0 {
			announced := all[i-1].Kind == markdown.Heading || strings.HasSuffix(r.text.String(), ":")
			if top && !announced {
				r.breaks = append(r.breaks, r.text.Len())
			}
			r.newline(r.base)
			if b.Apart {
				r.newline(r.base)
			}
		}
		r.block(b)
	}
}

func (r *renderer) newline(l look) {
	r.put("\n", l)
	r.fresh = true
}

// write writes text, each line behind the prefix.
func (r *renderer) write(s string, l look) {
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			r.newline(l)
		}
		if r.fresh {
			r.fresh = false
			r.put(r.prefix, r.base)
		}
		r.put(line, l)
	}
}

func (r *renderer) block(b markdown.Block) {
	l := r.base
	switch b.Kind {
	case markdown.List:
		r.blocks(b.Blocks, false)
	case markdown.Item:
		r.write(b.Mark, r.base)
		outer := r.prefix
		r.prefix += indent
		r.blocks(b.Blocks, false)
		r.prefix = outer
	case markdown.Quote: // Telegram has none inside another
		r.base.quote = true
		r.blocks(b.Blocks, false)
		r.base = l
	case markdown.Code:
		r.code(b.Code, b.Lang)
	case markdown.Table:
		r.code(b.Grid(maxTable, cell), "")
	case markdown.Rule:
		r.write(rule, r.base)
	case markdown.Heading:
		l.Bold = true
		r.spans(b.Text, l)
	case markdown.Paragraph:
		r.spans(b.Text, l)
	}
}

// code writes a block of code, without prefixes.
func (r *renderer) code(code, lang string) {
	if len(lang) > maxLang || lang != escape(lang) {
		lang = ""
	}
	r.fresh = false
	r.put(code, look{quote: r.base.quote, pre: true, lang: lang})
}

// spans writes text in the given look, and behind a link its target as text where Telegram would not take it as one.
func (r *renderer) spans(spans []markdown.Span, base look) {
	for i, s := range spans {
		l := look{quote: base.quote, Style: s.Style}
		l.Bold = l.Bold || base.Bold
		if !linkable(s.Link) || s.Text == s.Link { // Telegram finds addresses by itself
			l.Link = ""
		}
		r.write(s.Text, l)
		if to := markdown.Target(spans, i); to != "" && l.Link == "" {
			r.write(" ("+to+")", l)
		}
	}
}

// linkable reports whether Telegram takes a link to target. It removes other links silently.
func linkable(target string) bool {
	u, err := url.Parse(target)
	if err != nil || len(target) > maxURL {
		return false
	}
	if strings.ContainsAny(target, " \n\"<>\\") || !strings.Contains(strings.Trim(u.Hostname(), "."), ".") {
		return false
	}
	return u.Scheme == "http" || u.Scheme == "https"
}

// cell writes a cell of a table, in which nothing can be marked.
func cell(spans []markdown.Span, _ bool) (text string) {
	for i, s := range spans {
		text += s.Text
		if to := markdown.Target(spans, i); to != "" {
			text += " (" + to + ")"
		}
	}
	return text
}
