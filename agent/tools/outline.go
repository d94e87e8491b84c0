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

// onLines replaces lines of a text, which are to be among those of the hash. It also tells where, and the hash as it is then.
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
	lines = slices.Replace(lines, int(first-1), int(last), slices.Collect(strings.Lines(put))...)
	to += int64(lineCount(put)) - (last - first + 1)
	return strings.Join(lines, ""), fmt.Sprintf("%d; now %s", first, span(from, to, lines[from-1:to]...)), nil
}

// outline shows the headings and declarations of a file, each with its span.
func (s *Set) outline(ctx context.Context, c Call, p place, a readArgs) (r Result, err error) {
	text, err := p.load()
	if err != nil {
		return r, err
	}
	var all strings.Builder
	lines := slices.Collect(strings.Lines(text))
	for _, at := range sections(lines, strings.EqualFold(path.Ext(p.name), ".md")) {
		head := clip(strings.TrimRight(lines[at[0]], "\r\n"), 120)
		fmt.Fprintln(&all, span(int64(at[0]+1), int64(at[1]), lines[at[0]:at[1]]...), head)
	}
	if all.Len() == 0 {
		return r, errors.New("it has no headings or declarations: READ_FILE it by offset and limit")
	}
	r, err = s.render(ctx, c, strings.NewReader(all.String()), int64(all.Len()), "outline of "+p.shown, a)
	r.Saw = *s.versionOf(p, []byte(text))
	return r, err
}

const prose = 1 << 30 // the depth of what is no heading; blank lines have more

var (
	heading   = pattern.Lazy(`^#{1,6} `)
	container = pattern.Lazy(`\b(class|struct|interface|impl|trait|mod|module|namespace|enum|object|extension|protocol)\b`)
	closing   = pattern.Lazy(`^([)\]}{]|</|(end|fi|done|esac)\b)`)
	// passed matches what has indented lines below it and is no declaration.
	passed = pattern.Lazy(`^(//|/?\*|--|(if|for|while|switch|case|else|elif|try|catch|except|finally|with|do|return|select|` +
		`default|match|when|until|unless|loop|go|defer)\b)`)
)

// sections finds the headings of Markdown with what is below them, or the declarations in another text: lines with indented
// ones below, which stand in none or in a container. It returns where each begins and ends.
func sections(lines []string, isMarkdown bool) (all [][2]int) {
	depths, fenced := make([]int, len(lines)), false
	for i, line := range lines {
		bare := strings.TrimSpace(line)
		fenced = fenced != strings.HasPrefix(bare, "```")
		switch rank := len(heading().FindString(line)); {
		case bare == "":
			depths[i] = prose + 1
		case isMarkdown && (fenced || rank == 0):
			depths[i] = prose
		case isMarkdown:
			depths[i] = 2 * rank
		default:
			depths[i] = 2 * strings.Index(line, bare)
			if closing().MatchString(bare) {
				depths[i]++ // it belongs to what it closes
			}
		}
	}
	within := 0 // the end of a section that is not looked into
	for i, depth := range depths {
		if depth >= prose || depth%2 > 0 || i < within {
			continue
		}
		end := i + 1
		for end < len(lines) && depths[end] > depth {
			end++
		}
		for depths[end-1] > prose {
			end--
		}
		head := clip(strings.TrimSpace(lines[i]), 120)
		if !isMarkdown && (end == i+1 || passed().MatchString(head)) {
			continue
		}
		all = append(all, [2]int{i, end})
		if !isMarkdown && !container().MatchString(head) {
			within = end
		}
	}
	return all
}
