package skills

import (
	"fmt"
	"strconv"
	"strings"
)

// maxFront bounds the front matter of a SKILL.md, in bytes.
const maxFront = 16 << 10

// front reads the front matter of a SKILL.md: the part of YAML that skills use, which is names with texts. Of what is
// indented below a name without a text, such as metadata, nothing is understood.
func front(text string) (map[string]string, error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n") + "\n"
	inside, begins := strings.CutPrefix(text, "---\n")
	inside, _, ends := strings.Cut(inside, "\n---\n")
	isFramed := begins && ends
	if !isFramed || len(inside) > maxFront {
		return nil, fmt.Errorf("SKILL.md does not begin with a line ---, and another one within %d KB", maxFront>>10)
	}
	values := map[string][]string{}
	name := ""
	for n, line := range strings.Split(inside, "\n") {
		switch {
		case name != "" && (line == "" || line[0] == ' ' || line[0] == '\t'):
			values[name] = append(values[name], strings.TrimSpace(line))
			continue
		case line == "" || line[0] == '#':
			continue
		}
		first, ok := "", false
		if name, first, ok = strings.Cut(line, ":"); !ok || strings.TrimSpace(name) != name || values[name] != nil {
			return nil, fmt.Errorf("line %d of SKILL.md is no new name: value", n+2)
		}
		values[name] = []string{strings.TrimSpace(first)}
	}
	head := map[string]string{}
	for name, lines := range values {
		var err error
		if head[name], err = value(lines); err != nil {
			return nil, fmt.Errorf("%s in SKILL.md: %w", name, err)
		}
	}
	return head, nil
}

// value reads a text from the lines behind a name.
func value(lines []string) (string, error) {
	first, folded := lines[0], strings.TrimSpace(strings.Join(lines, " "))
	switch {
	case first == "":
		return folded, nil
	case first[0] == '>' || first[0] == '|':
		return strings.TrimSpace(strings.Join(lines[1:], " ")), nil
	case first[0] == '"':
		quoted, err := strconv.QuotedPrefix(folded)
		text, _ := strconv.Unquote(quoted)
		return text, err
	case first[0] == '\'':
		return strings.ReplaceAll(strings.Trim(folded, "'"), "''", "'"), nil
	case strings.Contains("[{&*!%@`", first[:1]):
		return "", fmt.Errorf("put a text that begins with %s into quotes", first[:1])
	}
	text, _, _ := strings.Cut(folded, " #")
	return text, nil
}
