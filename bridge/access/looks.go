package access

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Look is what a name looks like: as it stands, in small letters, in capitals, and
// with one capital in front. Each is without marks and what cannot be seen, and has
// one letter for all that are drawn alike. That makes it the skeleton of Unicode
// Technical Standard 39, section 4, for letters that look like ASCII. The zero Look is
// that of a name that shows nothing.
type Look struct{ stands, small, capitals, first string }

// LookOf is the look of a name.
func LookOf(name string) Look {
	plain := seen(name)
	if plain == "" {
		return Look{}
	}
	small := strings.ToLower(plain)
	first := []rune(small)
	first[0] = unicode.ToUpper(first[0])
	return Look{drawn(plain), drawn(small), drawn(strings.ToUpper(plain)), drawn(string(first))}
}

// String is the look of the name as it stands, in ASCII as far as may be.
func (l Look) String() string { return l.stands }

// Like says whether the name can be taken for the other: they look alike in letters of
// one size, or it looks, as it stands, as the other may be written. A listed "ida" may
// be written "Ida", and that is drawn like "lda".
func (l Look) Like(other Look) bool {
	return l != Look{} && (l.small == other.small || l.capitals == other.capitals ||
		slices.Contains([]string{other.stands, other.small, other.capitals, other.first}, l.stands))
}

// seen is what a name shows, without marks: "Zoë" is "Zoe", and letters in full width
// or in bold are letters.
func seen(name string) string {
	var b strings.Builder
	for _, r := range name {
		// What has a look of its own keeps it: in compatibility the lunate sigma, which
		// is drawn like a c, is a sigma.
		if _, known := drawnAs()[r]; known {
			b.WriteRune(r)
			continue
		}
		for _, r := range norm.NFKD.String(string(r)) {
			if !unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) && r != blankBraille {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// blankBraille is a symbol by its category, and shows nothing.
const blankBraille = '\u2800'

// drawn puts one letter in the place of each that is drawn alike.
func drawn(s string) string {
	var b strings.Builder
	for _, r := range s {
		if as, known := drawnAs()[r]; known {
			b.WriteString(as)
		} else if dash(r) {
			b.WriteByte('-')
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// dash says whether a letter is drawn like "-".
func dash(r rune) bool { return unicode.Is(unicode.Dash, r) || drawnAs()[r] == "-" }

var drawnAs = sync.OnceValue(func() map[rune]string {
	all := map[rune]string{}
	for as, letters := range lookalikes {
		for _, r := range letters {
			all[r] = as
		}
	}
	return all
})

// lookalikes are letters, digits and signs by the ASCII that they are drawn like,
// after the table of the standard,
// https://www.unicode.org/Public/security/latest/confusables.txt: the letters of
// Latin, Greek, Cyrillic, Coptic, Armenian, Cherokee, Lisu and the Canadian syllabics,
// the digits of most scripts, and κ, τ and χ besides. A stroke through a letter counts
// as a mark. What decomposes to the same ASCII is left to NFKD, and letters that are
// drawn like small capitals (Cyrillic в) to their capitals.
var lookalikes = map[string]string{
	"-": "\u02d7\u06d4\u2cba\u2796",
	"2": "ƧϨꙄᒿ", "3": "ƷȜЗӠⳌꞫ", "4": "Ꮞ", "5": "Ƽ", "6": "бⳒᏮ", "7": "𐓒", "8": "Ȣȣ৪੪", "9": "Ꝯ৭੧୨൭Ⳋ",

	"a": "ɑαа⍺", "b": "ƄЬᏏᑲᖯ", "c": "ϲсᴄⲥ", "d": "ԁᏧᑯꓒđ", "e": "еҽꬲ℮", "f": "քẝꬵꞙ",
	"g": "ɡᶃƍց", "h": "һհᏂħ", "i": "ıɩɪιіӏᎥ⍳˛ꙇ", "j": "ϳјյ", "k": "κ", "l": "1I|ƖǀΙІӀו׀ןا١۱ߊᛁⲒⵏꓲ∣⏽ł",
	"n": "ηոռ", "o": "οσоօᴏᴑꬽⲟჿഠဝ٥۵०੦૦௦౦೦൦๐໐၀øɵөѳ", "p": "ρϱр⍴ⲣ", "q": "ԛգզ", "r": "гᴦꭇꭈ", "rn": "m",
	"s": "ƽꜱѕ", "t": "τŧ", "u": "υʋսᴜꞟꭎꭒ", "v": "νѵᴠ∨⋁", "w": "ɯѡԝաᴡ", "x": "хχ×ᕁᕽ᙮⤫⤬⨯", "y": "γуүɣʏᶌỿꭚ", "z": "ᴢ",

	"A": "ΑАᎪᗅꓮ", "B": "ΒВᏴᗷꓐⲂꞴ", "C": "ϹСᏟꓚⲤ", "D": "ĐᎠᗞᗪꓓ", "E": "ΕЕᎬꓰ⋿ⴹ", "F": "ϜᖴꓝꞘ",
	"G": "ԌᏀᏳꓖ", "H": "ΗНᎻᕼꓧⲎĦ", "J": "ͿЈᎫᒍꓙꞲ", "K": "ΚКᏦꓗⲔ", "L": "ᏞᒪꓡŁ", "M": "ΜМᎷᗰꓟⲘϺ",
	"N": "Νꓠ\u2c9a", "O": "0ΟОՕ০୦߀〇ⲞꓳⵔዐଠØƟӨѲ", "P": "ΡРᏢᑭꓑⲢ", "Q": "Ԛⵕ", "R": "ƦᎡᏒᖇꓣ", "S": "ЅՏᏕᏚꓢ",
	"T": "ΤТᎢꓔⲦ⊤⟙Ŧ", "U": "Սᑌꓴ∪⋃", "V": "Ѵᐯꓦⴸ", "W": "ԜᎳᏔꓪ", "X": "ΧХ᙭ꓫⲬⵝ╳ꞳᚷᏡ", "Y": "ΥУҮᎩᎽꓬⲨϒ", "Z": "ΖᏃꓜ",
	"ae": "æӕ", "AE": "ÆӔ", "oe": "œ", "OE": "Œ", "bl": "Ы", "lO": "Ю",
}
