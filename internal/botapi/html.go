package botapi

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
)

// Limits of a message.
const (
	maxText     = 4096   // UTF-16 code units, after the markup is parsed
	maxEntities = 100    // of which the server drops further ones in silence
	maxMarkup   = 35_000 // bytes, before the markup is parsed
)

var (
	tagForm  = regexp.MustCompile(`^<(/?)([a-z]+)(?: (href|class)="([^"<>]*)")?>`)
	refForm  = regexp.MustCompile(`^&(lt|gt|amp|quot|#[0-9]{1,7}|#x[0-9a-f]{1,6});`)
	tagTypes = map[string]models.MessageEntityType{
		"b": models.MessageEntityTypeBold, "i": models.MessageEntityTypeItalic, "u": models.MessageEntityTypeUnderline,
		"s": models.MessageEntityTypeStrikethrough, "a": models.MessageEntityTypeTextLink, "code": models.MessageEntityTypeCode,
		"pre": models.MessageEntityTypePre, "blockquote": models.MessageEntityTypeBlockquote,
	}
)

// ParseHTML reads a text in Telegram's HTML as the server does, and says where it objects. It
// also objects to what the server only mends in silence: an unescaped &, an empty tag, a tag
// that cannot stand inside another, a link that it would drop, more than it would keep.
func ParseHTML(s string) (string, []models.MessageEntity, error) {
	switch {
	case !utf8.ValidString(s):
		return "", nil, fmt.Errorf("text is not utf-8")
	case len(s) > maxMarkup:
		return "", nil, fmt.Errorf("%d bytes of markup, of which only %d are read", len(s), maxMarkup)
	}
	var text strings.Builder
	var entities []models.MessageEntity
	var open []int // indices of entities
	at := 0        // units of text
	for i := 0; i < len(s); {
		tag, ref := tagForm.FindStringSubmatch(s[i:]), refForm.FindString(s[i:])
		switch {
		case s[i] == '<' && tag == nil:
			return "", nil, fmt.Errorf("unsupported start tag at byte offset %d", i)
		case s[i] == '&' && ref == "":
			return "", nil, fmt.Errorf("unescaped & at byte offset %d", i)
		case s[i] == '<' && tag[1] != "":
			if len(open) == 0 {
				return "", nil, fmt.Errorf("unexpected end tag at byte offset %d", i)
			}
			e := &entities[open[len(open)-1]]
			if tagTypes[tag[2]] != e.Type {
				return "", nil, fmt.Errorf("unmatched end tag at byte offset %d, %s is open", i, e.Type)
			}
			if e.Length = at - e.Offset; e.Length == 0 {
				return "", nil, fmt.Errorf("empty %s at byte offset %d", e.Type, i)
			}
			open = open[:len(open)-1]
			i += len(tag[0])
		case s[i] == '<':
			e := models.MessageEntity{Type: tagTypes[tag[2]], Offset: at}
			if err := begin(&e, tag[3], html.UnescapeString(tag[4]), entities, open); err != nil {
				return "", nil, fmt.Errorf("%w at byte offset %d", err, i)
			}
			open = append(open, len(entities))
			entities = append(entities, e)
			i += len(tag[0])
		default:
			piece := ref
			if ref == "" {
				_, size := utf8.DecodeRuneInString(s[i:])
				piece = s[i : i+size]
			}
			i += len(piece)
			piece = html.UnescapeString(piece)
			text.WriteString(piece)
			at += units(piece)
		}
	}
	if len(open) > 0 {
		return "", nil, fmt.Errorf("can't find end tag corresponding to start tag %s", entities[open[len(open)-1]].Type)
	}
	return merge(text.String(), entities)
}

// begin checks a start tag against its attribute and the tags around it.
func begin(e *models.MessageEntity, attribute, value string, entities []models.MessageEntity, open []int) error {
	var around []models.MessageEntityType
	for _, i := range open {
		around = append(around, entities[i].Type)
	}
	lang, isLang := strings.CutPrefix(value, "language-")
	in := func(types ...models.MessageEntityType) bool {
		return slices.ContainsFunc(around, func(t models.MessageEntityType) bool { return slices.Contains(types, t) })
	}
	switch {
	case e.Type == "":
		return fmt.Errorf("unsupported start tag")
	case e.Type == models.MessageEntityTypeTextLink:
		if u, err := url.Parse(value); attribute != "href" || err != nil || !slices.Contains([]string{"http", "https", "tg"}, u.Scheme) || u.Host == "" {
			return fmt.Errorf("a link to %q, which is dropped", value)
		}
		e.URL = value
	case e.Type == models.MessageEntityTypeCode && attribute == "class" && isLang && lang != "":
		last := len(entities) - 1
		if last < 0 || len(open) == 0 || open[len(open)-1] != last || entities[last].Type != models.MessageEntityTypePre || entities[last].Offset != e.Offset {
			return fmt.Errorf("a language that is not at the beginning of pre")
		}
		e.Language = lang
		return nil
	case attribute != "":
		return fmt.Errorf("attribute %s of %s", attribute, e.Type)
	}
	verbatim := e.Type == models.MessageEntityTypePre || e.Type == models.MessageEntityTypeCode
	switch {
	case in(e.Type):
		return fmt.Errorf("%s inside itself", e.Type)
	case in(models.MessageEntityTypePre, models.MessageEntityTypeCode):
		return fmt.Errorf("%s inside code", e.Type)
	case verbatim && len(around) > 0 && !slices.Equal(around, []models.MessageEntityType{models.MessageEntityTypeBlockquote}):
		return fmt.Errorf("%s inside %s", e.Type, around[len(around)-1])
	}
	return nil
}

// merge makes of <pre><code class="language-x"> one entity.
func merge(text string, entities []models.MessageEntity) (string, []models.MessageEntity, error) {
	var out []models.MessageEntity
	for _, e := range entities {
		if e.Language == "" {
			out = append(out, e)
			continue
		}
		pre := &out[len(out)-1]
		if pre.Length != e.Length {
			return "", nil, fmt.Errorf("a language of only a part of pre")
		}
		pre.Language = e.Language
	}
	return text, out, nil
}
