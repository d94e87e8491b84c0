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
	for i, block := range all {
		if i > 0 {
			announced := all[i-1].Kind == markdown.Heading || strings.HasSuffix(r.text.String(), ":")
			if top && !announced {
				r.breaks = append(r.breaks, r.text.Len())
			}
			r.newline(r.base)
			if block.Apart {
				r.newline(r.base)
			}
		}
		r.block(block)
	}
}

func (r *renderer) newline(l look) {
	r.put("\n", l)
	r.fresh = true
}

// write writes text, each line behind the prefix.
func (r *renderer) write(s string, style look) {
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			r.newline(style)
		}
		if r.fresh {
			r.fresh = false
			r.put(r.prefix, r.base)
		}
		r.put(line, style)
	}
}

func (r *renderer) block(part markdown.Block) {
	style := r.base
	switch part.Kind {
	case markdown.List:
		r.blocks(part.Blocks, false)
	case markdown.Item:
		r.write(part.Mark, r.base)
		outer := r.prefix
		r.prefix += indent
		r.blocks(part.Blocks, false)
		r.prefix = outer
	case markdown.Quote: // Telegram shows no quotation inside another
		r.base.quote = true
		r.blocks(part.Blocks, false)
		r.base = style
	case markdown.Code:
		r.code(part.Code, part.Lang)
	case markdown.Table:
		r.code(part.Grid(maxTable, cell), "")
	case markdown.Rule:
		r.write(rule, r.base)
	case markdown.Heading:
		style.Bold = true
		r.spans(part.Text, style)
	case markdown.Paragraph:
		r.spans(part.Text, style)
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
	for i, span := range spans {
		style := look{quote: base.quote, Style: span.Style}
		style.Bold = style.Bold || base.Bold
		if !linkable(span.Link) || span.Text == span.Link { // Telegram finds addresses by itself
			style.Link = ""
		}
		r.write(span.Text, style)
		if to := markdown.Target(spans, i); to != "" && style.Link == "" {
			r.write(" ("+to+")", style)
		}
	}
}

// linkable reports whether Telegram takes a link to target. It removes other links silently.
func linkable(target string) bool {
	address, err := url.Parse(target)
	if err != nil || len(target) > maxURL {
		return false
	}
	if strings.ContainsAny(target, " \n\"<>\\") || !strings.Contains(strings.Trim(address.Hostname(), "."), ".") {
		return false
	}
	return address.Scheme == "http" || address.Scheme == "https"
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
