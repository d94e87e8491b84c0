package tools

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/zeebo/blake3"

	"lethe/internal/pattern"
)

// span names lines of a file by their numbers and a short hash: 12-40:3fa9c2.
func span(first, last int64, lines ...string) string {
	sum := blake3.Sum256([]byte(strings.TrimSuffix(strings.Join(lines, ""), "\n"))) // which READ_FILE adds to the last line
	return fmt.Sprintf("%d-%d:%x", first, last, sum[:3])
}

// onLines replaces lines of a text, which are to be among those of the hash. It also tells where, and the hash as it is
// then.
func (a editArgs) onLines(text string) (edited, at string, err error) {
	var from, to, first, last int64
	_, _ = fmt.Sscanf(a.Hash, "%d-%d:", &from, &to)
	if n, _ := fmt.Sscanf(a.Lines, "%d-%d", &first, &last); n == 1 {
		last = first
	}
	lines := slices.Collect(strings.Lines(text))
	isIn := 0 < from && from <= first && first <= last && last <= to && to <= int64(len(lines))
	if !isIn || span(from, to, lines[from-1:to]...) != a.Hash {
		return "", "", fmt.Errorf("lines %s with hash %s are not what the file has now, or are shown cut: READ_FILE them anew, "+
			"and take the hash from its first line; or give old", quote(a.Lines), quote(a.Hash))
	}
	put := a.New
	if put != "" && !strings.HasSuffix(put, "\n") {
		put += "\n"
	}
	if strings.HasSuffix(lines[first-1], "\r\n") {
		put = strings.ReplaceAll(strings.ReplaceAll(put, "\r\n", "\n"), "\n", "\r\n")
	}
	lines = append(lines[:first-1:first-1], append(slices.Collect(strings.Lines(put)), lines[last:]...)...)
	to += int64(lineCount(put)) - (last - first + 1)
	return strings.Join(lines, ""), fmt.Sprintf("%d; now %s", first, span(from, to, lines[from-1:to]...)), nil
}

var (
	heading     = pattern.Lazy(`^#{1,6} `)
	declaration = pattern.Lazy(`^(\s*((export|default|public|private|protected|internal|static|final|abstract|sealed|async|` +
		`pub|override|virtual|inline|unsafe|open|data|partial|declare|const)(\(\w+\))? )*(func|function|fun|fn|def|sub|class|` +
		`struct|interface|enum|trait|impl|type|module|namespace|object|protocol|record|extension)\s+[\w(<*$]|` + // named
		`[A-Za-z_$@"'.][^;]*[{(:\[]\s*$|[A-Za-z_][^;={]*\)\s*$|` + // begins a block at the edge
		`(\t|  |    )[\w<>\[\],.?~*&: ]*\w\(.*\)[^;]*\{\s*$)`) // a method
	control = pattern.Lazy(`^\s*(if|for|foreach|while|switch|catch|with|else|elif|except|try|do|return|match|lock|using)\b`)
)

// outline shows the headings of a file in Markdown, or what looks like declarations in another one, with their lines.
func (s *Set) outline(ctx context.Context, c Call, p place, a readArgs) (r Result, err error) {
	text, err := p.load()
	if err != nil {
		return r, err
	}
	var all strings.Builder
	n, fenced := 0, false
	for line := range strings.Lines(text) {
		n++
		fenced = fenced != strings.HasPrefix(line, "```")
		isHead := declaration().MatchString(line) && !control().MatchString(line)
		if strings.EqualFold(path.Ext(p.name), ".md") {
			isHead = heading().MatchString(line) && !fenced
		}
		if isHead {
			fmt.Fprintln(&all, n, clip(strings.TrimRight(line, "\r\n"), 120))
		}
	}
	if all.Len() == 0 {
		return r, errors.New("it has no headings or declarations: READ_FILE it by offset and limit")
	}
	r, err = s.render(ctx, c, strings.NewReader(all.String()), int64(all.Len()), "outline of "+p.shown, a)
	r.Saw = *s.versionOf(p, []byte(text))
	return r, err
}
