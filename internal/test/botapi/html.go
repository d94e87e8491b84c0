package botapi

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
)

// Limits of a message.
const (
	maxText     = 4096   // UTF-16 code units, after the markup is parsed
	maxEntities = 100    // the server drops further ones in silence
	maxMarkup   = 35_000 // bytes, before the markup is parsed
)

var tagTypes = map[string]models.MessageEntityType{
	"b": models.MessageEntityTypeBold, "i": models.MessageEntityTypeItalic, "s": models.MessageEntityTypeStrikethrough,
	"a": models.MessageEntityTypeTextLink, "code": models.MessageEntityTypeCode, "pre": models.MessageEntityTypePre,
	"blockquote": models.MessageEntityTypeBlockquote,
}

// verbatim matches the tags around pre and code: at most a quotation, and nothing inside.
var verbatim = regexp.MustCompile(`^html( blockquote)?( code| pre)$`)

// language matches the class that names the language of a block of code; it makes one entity with pre.
var language = regexp.MustCompile(`<pre><code class="language-([^"]+)">([^<]*)</code></pre>`)

// ParseHTML reads a text in Telegram's HTML as the server does; an error names the place. It
// also refuses texts that the server only mends in silence: an unescaped &, an empty tag, a tag
// that cannot stand inside another, a link that it would drop, more than it would keep.
func ParseHTML(s string) (text string, entities []models.MessageEntity, err error) {
	if !utf8.ValidString(s) || len(s) > maxMarkup {
		return "", nil, fmt.Errorf("%d bytes of markup, of which at most %d are read, and only utf-8", len(s), maxMarkup)
	}
	s = language.ReplaceAllString(strings.Map(inXML, s), `<pre language="$1">$2</pre>`)
	d := xml.NewDecoder(strings.NewReader("<html>" + s + "</html>"))
	var names []string // of the open tags
	var open []int     // their entities
	at := 0            // units of text
	for {
		token, err := d.Token()
		switch t := token.(type) {
		case xml.StartElement:
			names, open = append(names, t.Name.Local), append(open, len(entities))
			var e models.MessageEntity
			if e, err = entity(t, names); e.Type != "" {
				e.Offset = at
				entities = append(entities, e)
			}
		case xml.EndElement:
			last := len(names) - 1
			i := open[last]
			names, open = names[:last], open[:last]
			switch {
			case last == 0: // the whole
			case entities[i].Offset == at:
				err = fmt.Errorf("empty %s", t.Name.Local)
			default:
				entities[i].Length = at - entities[i].Offset
			}
		case xml.CharData:
			text += string(t)
			at += units(string(t))
		case nil:
			if err == io.EOF {
				return text, entities, nil
			}
		default:
			err = fmt.Errorf("%T is no tag", t)
		}
		if err != nil {
			return "", nil, fmt.Errorf("byte %d: %w", d.InputOffset(), err)
		}
	}
}

// inXML puts a space without width for characters that XML has not, and nobody sees.
func inXML(r rune) rune {
	switch r {
	case '\n', '\t':
		return r
	case 0xFFFE, 0xFFFF:
		return '\u200b'
	}
	if r < ' ' {
		return '\u200b'
	}
	return r
}

// entity returns the entity of the innermost of the open tags; an empty one for html, the outermost.
func entity(tag xml.StartElement, names []string) (entity models.MessageEntity, err error) {
	last := len(names) - 1
	if last == 0 {
		return entity, nil
	}
	attr, value := "", ""
	for _, a := range tag.Attr {
		attr, value = a.Name.Local, a.Value
	}
	entity.Type = tagTypes[tag.Name.Local]
	code := slices.Contains(names, "code") || slices.Contains(names, "pre")
	switch {
	case entity.Type == "", len(tag.Attr) > 1:
		return entity, errors.New("unsupported start tag")
	case slices.Contains(names[:last], tag.Name.Local):
		return entity, fmt.Errorf("%s inside itself", entity.Type)
	case code && !verbatim.MatchString(strings.Join(names, " ")):
		return entity, fmt.Errorf("%s inside %s", entity.Type, names[last-1])
	case tag.Name.Local == "a" && (attr != "href" || !isLink(value)):
		return entity, fmt.Errorf("a link to %q, which is dropped", value)
	case tag.Name.Local == "a":
		entity.URL = value
	case tag.Name.Local == "pre" && attr == "language":
		entity.Language = value
	case attr != "":
		return entity, fmt.Errorf("attribute %s of %s", attr, entity.Type)
	}
	return entity, nil
}

// isLink reports whether the server keeps a link to an address.
func isLink(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return false
	}
	return parsed.Scheme == "http" || parsed.Scheme == "https"
}

// units is the length of a text in UTF-16 code units, as Telegram counts.
func units(text string) int { return len(utf16.Encode([]rune(text))) }
