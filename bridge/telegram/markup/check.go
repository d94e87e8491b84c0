package markup

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
)

// class groups the types of entities as Telegram's rules of nesting do.
type class int

const (
	quoting  class = iota // holds anything but another quotation
	verbatim              // holds nothing, stands in nothing but a quotation
	linking               // cannot hold or stand in another of its class
	styling               // free, except inside and around verbatim
)

// classes lists every type that a bot may send. Its order within one span, outermost first, is
// that of the classes.
var classes = map[models.MessageEntityType]class{
	models.MessageEntityTypeBlockquote:           quoting,
	models.MessageEntityTypeExpandableBlockquote: quoting,
	models.MessageEntityTypePre:                  verbatim,
	models.MessageEntityTypeCode:                 verbatim,
	models.MessageEntityTypeMention:              linking,
	models.MessageEntityTypeHashtag:              linking,
	models.MessageEntityTypeCashtag:              linking,
	models.MessageEntityTypeBotCommand:           linking,
	models.MessageEntityTypeURL:                  linking,
	models.MessageEntityTypeEmail:                linking,
	models.MessageEntityTypePhoneNumber:          linking,
	models.MessageEntityTypeTextLink:             linking,
	models.MessageEntityTypeTextMention:          linking,
	models.MessageEntityTypeCustomEmoji:          linking,
	models.MessageEntityTypeBold:                 styling,
	models.MessageEntityTypeItalic:               styling,
	models.MessageEntityTypeUnderline:            styling,
	models.MessageEntityTypeStrikethrough:        styling,
	models.MessageEntityTypeSpoiler:              styling,
}

// Check returns an error if a message of this text and these entities breaks a rule of the Bot
// API, nil if it keeps them all. It is stricter than the server, which mends some of this in
// silence (and then shows something else than was sent) and answers the rest with error 400:
//
//   - text is UTF-8; each entity has a known type, at least one unit, lies within the text and
//     begins and ends between characters, not inside a surrogate pair;
//   - text_link has a URL that Telegram opens, text_mention a user, custom_emoji an id, and
//     nothing else has any of these, nor anything but pre a language;
//   - of two entities that share a unit one lies inside the other, and they differ in type;
//   - pre and code hold no entity and stand in none but a quotation; a quotation holds no
//     quotation; links, mentions and the like hold none of their own kind and no quotation.
//
// Entities may come in any order. Neither the limit of the text nor that of the number of
// entities is checked here: they are [Limit] and [MaxEntities].
func Check(text string, entities []models.MessageEntity) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("check message: text is not utf-8")
	}
	edges, size := charEdges(text, entities)
	for i, e := range entities {
		if err := checkOne(e, edges, size); err != nil {
			return fmt.Errorf("check entity %d (%s at %d+%d): %w", i, e.Type, e.Offset, e.Length, err)
		}
	}
	return checkNesting(entities)
}

// charEdges says which of the offsets that the entities name stand between characters of text,
// and how many units text has.
func charEdges(text string, entities []models.MessageEntity) (map[int]bool, int) {
	edges := map[int]bool{}
	for _, e := range entities {
		edges[e.Offset], edges[e.Offset+e.Length] = false, false
	}
	at := 0
	mark := func() {
		if _, named := edges[at]; named {
			edges[at] = true
		}
	}
	for _, r := range text {
		mark()
		at += runeUnits(r)
	}
	mark()
	return edges, at
}

func checkOne(e models.MessageEntity, edges map[int]bool, size int) error {
	switch _, known := classes[e.Type]; {
	case !known:
		return fmt.Errorf("unknown type")
	case e.Offset < 0 || e.Length < 0 || e.Offset > size || e.Length > size-e.Offset:
		return fmt.Errorf("outside of the text of %d units", size)
	case e.Length == 0:
		return fmt.Errorf("empty")
	case !edges[e.Offset]:
		return fmt.Errorf("begins inside a surrogate pair")
	case !edges[e.Offset+e.Length]:
		return fmt.Errorf("ends inside a surrogate pair")
	case (e.Type == models.MessageEntityTypeTextMention) != (e.User != nil):
		return fmt.Errorf("a user belongs to text_mention and to nothing else")
	case (e.Type == models.MessageEntityTypeCustomEmoji) != (e.CustomEmojiID != ""):
		return fmt.Errorf("an emoji id belongs to custom_emoji and to nothing else")
	case e.Language != "" && e.Type != models.MessageEntityTypePre:
		return fmt.Errorf("language %q belongs to pre only", e.Language)
	case e.Type == models.MessageEntityTypeTextLink:
		return checkURL(e.URL)
	case e.URL != "":
		return fmt.Errorf("url %q belongs to text_link only", e.URL)
	}
	return nil
}

// checkNesting walks the entities outermost first, with those that are open at the present one.
func checkNesting(entities []models.MessageEntity) error {
	sorted := slices.Clone(entities)
	slices.SortStableFunc(sorted, order)
	var open []models.MessageEntity
	for _, e := range sorted {
		for len(open) > 0 && end(open[len(open)-1]) <= e.Offset {
			open = open[:len(open)-1]
		}
		for _, outer := range open {
			if err := checkPair(outer, e); err != nil {
				return fmt.Errorf("check entity %s at %d+%d in %s at %d+%d: %w",
					e.Type, e.Offset, e.Length, outer.Type, outer.Offset, outer.Length, err)
			}
		}
		open = append(open, e)
	}
	return nil
}

// checkPair judges two entities that share a unit, the one that sorts first as outer.
func checkPair(outer, inner models.MessageEntity) error {
	out, in := classes[outer.Type], classes[inner.Type]
	switch {
	case end(inner) > end(outer):
		return fmt.Errorf("they overlap and neither holds the other")
	case inner.Type == outer.Type:
		return fmt.Errorf("same type inside itself")
	case out == verbatim:
		return fmt.Errorf("pre and code hold no entities")
	case in == verbatim && out != quoting:
		return fmt.Errorf("pre and code stand in nothing but a quotation")
	case in == quoting && out == quoting:
		return fmt.Errorf("quotations cannot be nested")
	case in <= linking && out == linking:
		return fmt.Errorf("a link or mention cannot hold it")
	}
	return nil
}

// order sorts entities as Telegram returns them: by offset, then longest first, then by class.
func order(a, b models.MessageEntity) int {
	return cmp.Or(
		cmp.Compare(a.Offset, b.Offset),
		cmp.Compare(b.Length, a.Length),
		cmp.Compare(classes[a.Type], classes[b.Type]),
	)
}

func end(e models.MessageEntity) int { return e.Offset + e.Length }
