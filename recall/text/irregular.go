package text

import (
	"strings"
	"sync"
)

// irregular maps a form that no rule brings to its base to the stem of that.
var irregular = sync.OnceValue(func() map[string]string {
	forms := map[string]string{}
	for group := range strings.SplitSeq(irregularForms, ",") {
		words := strings.Fields(group)
		for _, form := range words[1:] {
			forms[form] = snowball(words[0])
		}
	}
	return forms
})

// irregularForms are the irregular verbs and nouns of English, each with its forms.
const irregularForms = `
arise arose arisen, die dying, lie lying, tie tying, awake awoke awoken, beat beaten, become became, begin
began begun, bend bent, bet betted, bind bound, bite bit bitten, bleed bled, blow blew blown, break broke
broken, bring brought, build built, burn burnt, buy bought, catch caught, choose chose chosen, come came, deal
dealt, dig dug, do did done does, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat
ate eaten, fall fell fallen, feed fed, feel felt, fight fought, find found, fly flew flown, forget forgot
forgotten, forgive forgave forgiven, freeze froze frozen, get got gotten, give gave given, go went gone goes,
grow grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept, know knew known, lead led,
learn learnt, leave left, lend lent, lose lost, make made, mean meant, meet met, pay paid, ride rode ridden,
ring rang rung, rise rose risen, run ran, say said, see saw seen, seek sought, sell sold, send sent, shake
shook shaken, shine shone, shoot shot, show shown, sing sang sung, sink sank sunk, sit sat, sleep slept, speak
spoke spoken, spend spent, spin spun, stand stood, steal stole stolen, stick stuck, strike struck, swear swore
sworn, sweep swept, swim swam swum, swing swung, take took taken, teach taught, tear tore torn, tell told,
think thought, throw threw thrown, understand understood, wake woke woken, wear wore worn, win won, write
wrote written, child children, man men, woman women, foot feet, tooth teeth, mouse mice, person people, life
lives, wife wives, knife knives, leaf leaves, good better best, bad worse worst
`
