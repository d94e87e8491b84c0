// Package text reads what has faded and what is asked about it. It is pure.
//
//	for t := range text.Tokens(s) { … }             // words, identifiers, dates
//	text.Periods("what did we say last week?", now)  // the times that a text names
//	for s := range text.Sections(body) {             // an original: entries and calls
//		for line := range s.Lines(body) { … }
//	}
//
// What is indexed, asked and ranked goes through the same functions, so nothing
// that one stage of a search sees is invisible to the next.
package text
