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
	maxEntities = 100    // of which the server drops further ones in silence
	maxMarkup   = 35_000 // bytes, before the markup is parsed
)

var tagTypes = map[string]models.MessageEntityType{
	"b": models.MessageEntityTypeBold, "i": models.MessageEntityTypeItalic, "s": models.MessageEntityTypeStrikethrough,
	"a": models.MessageEntityTypeTextLink, "code": models.MessageEntityTypeCode, "pre": models.MessageEntityTypePre,
	"blockquote": models.MessageEntityTypeBlockquote,
}

// verbatim is where pre and code may stand: in nothing but a quotation, with nothing inside.
var verbatim = regexp.MustCompile(`^html( blockquote)?( code| pre)$`)

// language is how a block of code names its language; it makes one entity with pre.
var language = regexp.MustCompile(`<pre><code class="language-([^"]+)">([^<]*)</code></pre>`)

// ParseHTML reads a text in Telegram's HTML as the server does, and says where it objects. It
// also objects to what the server only mends in silence: an unescaped &, an empty tag, a tag
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
	if r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
		return '\u200b'
	}
	return r
}

// entity is that of the last of the open tags; the outermost, html, has none.
func entity(t xml.StartElement, names []string) (e models.MessageEntity, err error) {
	last := len(names) - 1
	if last == 0 {
		return e, nil
	}
	attr, value := "", ""
	for _, a := range t.Attr {
		attr, value = a.Name.Local, a.Value
	}
	e.Type = tagTypes[t.Name.Local]
	code := slices.Contains(names, "code") || slices.Contains(names, "pre")
	u, badURL := url.Parse(value)
	switch {
	case e.Type == "", len(t.Attr) > 1:
		return e, errors.New("unsupported start tag")
	case slices.Contains(names[:last], t.Name.Local):
		return e, fmt.Errorf("%s inside itself", e.Type)
	case code && !verbatim.MatchString(strings.Join(names, " ")):
		return e, fmt.Errorf("%s inside %s", e.Type, names[last-1])
	case t.Name.Local == "a" && (attr != "href" || badURL != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == ""):
		return e, fmt.Errorf("a link to %q, which is dropped", value)
	case t.Name.Local == "a":
		e.URL = value
	case t.Name.Local == "pre" && attr == "language":
		e.Language = value
	case attr != "":
		return e, fmt.Errorf("attribute %s of %s", attr, e.Type)
	}
	return e, nil
}

// units is the length of a text in UTF-16 code units, in which Telegram counts.
func units(text string) int { return len(utf16.Encode([]rune(text))) }
