#!/usr/bin/env bash
# bleve 2.6.3: a text that is a date is in no text: the note with the title 2026-03-04 is not found.
#
# Guess:    an index without a mapping of its own takes each string for text, as it is given: a match finds its words in any field.
# Behaviour: a string that reads as a date, all of it, is indexed as a moment alone. Neither its whole nor its year is found by
#           a match, in its field or in all. "2026-03-04 notes" is found, "12345" is. So the notes of a day that are named
#           by it, and only these, are missing, without an error.
# Remedy:   map the field as text (NewTextFieldMapping), or ask for a date range beside.
#
# Needs Go. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/mapping"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// find lists the titles that match a text, in the field and in all fields.
func find(m mapping.IndexMapping, text string) string {
	index := must(bleve.NewMemOnly(m))
	for _, title := range []string{"2026-03-04", "2026-03-04 notes", "12345", "The boat"} {
		must(0, index.Index(title, map[string]any{"title": title}))
	}
	var found []string
	for _, field := range []string{"title", ""} {
		match := bleve.NewMatchQuery(text)
		match.SetField(field)
		for _, hit := range must(index.Search(bleve.NewSearchRequest(match))).Hits {
			found = append(found, hit.ID)
		}
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), " | ")
}

func main() {
	asText := bleve.NewIndexMapping()
	asText.DefaultMapping.AddFieldMappingsAt("title", bleve.NewTextFieldMapping())
	out := ""
	for _, text := range []string{"2026-03-04", "12345", "boat"} {
		out += fmt.Sprintf("%s: %s; mapped as text: %s\n", text, find(bleve.NewIndexMapping(), text), find(asText, text))
	}
	fmt.Print(out)
	if out != "2026-03-04: 2026-03-04 notes; mapped as text: 2026-03-04 | 2026-03-04 notes\n"+
		"12345: 12345; mapped as text: 12345\nboat: The boat; mapped as text: The boat\n" {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/blevesearch/bleve/v2@v2.6.3 >/dev/null 2>&1
echo "bleve v2.6.3, $(go version)"
go run .
