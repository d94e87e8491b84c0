package wallet

import (
	"fmt"
	"slices"
	"strings"

	"lethe/life/event"
	"lethe/spend"
)

// Obey runs /budget for an identity, by its book: it says what is left, or raises a limit in e when one of people asks.
func Obey(book spend.Book, self string, people []string, e *event.Command, arg string) (say string) {
	lines := OwnLines(book, self)
	if arg != "" {
		by, span, err := spend.ParseRaise(arg)
		switch {
		case err != nil:
			return fmt.Sprintf("I cannot read that; %v.", err)
		case !slices.Contains(people, e.By):
			return fmt.Sprintf("Only %s may raise a budget.", strings.Join(people, ", "))
		}
		if !slices.ContainsFunc(lines, func(l spend.Line) bool { return l.Of == span && l.Limit > 0 }) {
			return "No such limit is set, so there is nothing to raise. " + Obey(book, self, people, e, "")
		}
		e.Raise, e.Of, e.Day = by.Dollars(), span, book.Day
		return fmt.Sprintf("I may spend %s USD more %s.", by, spend.Spoken[span])
	}
	var parts []string
	for _, l := range lines {
		parts = append(parts, l.Left())
	}
	return "Spent: " + strings.Join(parts, "; ") + "."
}
