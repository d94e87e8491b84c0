package text

import (
	_ "embed"
	"math"
	"strconv"
	"strings"
	"sync"
)

// Commonness bounds the weight of a stem as evidence for the subject of a text, whatever its rarity among a few
// originals: +Inf for all but the commonest words of spoken English.
func Commonness(stem string) float64 {
	if most, ok := common()[stem]; ok {
		return most
	}
	return math.Inf(1)
}

var common = sync.OnceValue(func() map[string]float64 {
	m, most := map[string]float64{}, 0.0
	for _, word := range strings.Fields(commonWords) {
		if tier, err := strconv.ParseFloat(word, 64); err == nil && strings.Contains(word, ".") {
			most = tier
			continue
		}
		m[stem(word)] = most
	}
	return m
})

// commonWords are the words with the commonest stems in the subtitles of films (SUBTLEX-US,
// Brysbaert and New 2009), without names, stop words and curses, in four tiers: more than
// one word in 1000, in 2500, in 8000, and in 16,000. Each tier begins with its weight: the
// logarithm of the rarity of texts of 1000 words without such a word.
//
//go:embed common.txt
var commonWords string
