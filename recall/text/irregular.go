package text

import (
	_ "embed"
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
//
//go:embed irregular.txt
var irregularForms string
