package tools

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"lethe/internal/pattern"
)

// Rule names calls before which people are asked: "SAY ops", "BASH rm *", "WRITE_FILE".
type Rule struct {
	tool string
	glob *regexp.Regexp // over the main argument; nil: any
}

// mainArgs are the arguments that rules are about. The main argument of a call is the first in this order.
var mainArgs = []string{"command", "room", "path", "hash", "query", "brief", "name", "url"}

// ParseRule reads a rule: a tool and, unless it is about all calls, a pattern of its command, room or
// path. In a pattern * stands for anything and ? for one character. Anything may stand between two words: git push is
// also git -C . push.
func ParseRule(text string) (Rule, error) {
	tool, glob, _ := strings.Cut(strings.TrimSpace(text), " ")
	if !slices.Contains(All(), tool) || tool == "WAIT" {
		return Rule{}, fmt.Errorf("%q does not begin with the name of a tool that can wait for approval, such as "+
			"BASH, SAY or WRITE_FILE", text)
	}
	r := Rule{tool: tool}
	if glob = joined(glob); glob != "" {
		pattern := strings.NewReplacer(`\*`, ".*", `\?`, ".", " ", " (.* )?").Replace(regexp.QuoteMeta(glob))
		if bare, ok := strings.CutSuffix(pattern, " (.* )?.*"); ok { // "rm *" is rm alone, too
			pattern = bare + "( .*)?"
		}
		r.glob = regexp.MustCompile("(?is)^" + pattern + "$")
	}
	return r, nil
}

// Matches reports whether the rule is about a call. Paths are relative to the directory work.
func (r Rule) Matches(tool string, args json.RawMessage, work string) bool {
	if r.tool != tool || r.glob == nil {
		return r.tool == tool
	}
	given, err := object(args)
	if err != nil {
		return false // the tool refuses it
	}
	for _, name := range mainArgs {
		var value string
		if raw, ok := given[name]; ok && json.Unmarshal(raw, &value) == nil {
			return slices.ContainsFunc(forms(name, value, work), r.glob.MatchString)
		}
	}
	return false
}

// forms are the ways to read a main argument that a rule may be about.
func forms(name, value, work string) []string {
	switch name {
	case "command":
		return append(simpleCommands(value), joined(value))
	case "room":
		if room, err := roomNamed(value); err == nil {
			value = room
		}
	case "path":
		value = strings.TrimSpace(value)
		full := value
		if !filepath.IsAbs(full) {
			full = filepath.Join(work, full)
		}
		leads := resolved(full) // through links
		all := []string{joined(value), path.Clean(value), leads}
		if rel, err := filepath.Rel(resolved(work), leads); err == nil && filepath.IsLocal(rel) {
			all = append(all, rel)
		}
		return all
	}
	return []string{joined(value)}
}

// What separates the simple commands of a shell line, and what may stand before one.
var (
	between = pattern.Lazy("[;&|\n`(){}]|\\s-(?:exec|execdir|ok)\\s|\\sxargs\\s")
	before  = pattern.Lazy(`^(?:[A-Za-z_]\w*=.*|-.*|\d+[smhd]?|!|if|then|else|elif|do|while|until|sudo|doas|env|` +
		`command|builtin|exec|eval|nohup|nice|time|timeout|xargs|setsid|sh|bash|dash|busybox)$`)

	redirects = pattern.Lazy(`^\s*\d*[<>]+\s*[^\s<>]+\s`) // >log rm x
	quotes    = strings.NewReplacer(`"`, "", `'`, "", "\\\n", "", `\`, "")
)

// simpleCommands finds the simple commands of a shell line, without quotes, in each way that they may be
// meant: with and without words before the program, and with and without its directory. It is no shell:
// whoever wants to gets around it.
func simpleCommands(line string) (out []string) {
	for _, part := range between().Split(quotes.Replace(line), -1) {
		for redirects().MatchString(part) {
			part = redirects().ReplaceAllString(part, "")
		}
		words := strings.Fields(part)
		for i := range words {
			bare := append([]string{path.Base(words[i])}, words[i+1:]...)
			out = append(out, strings.Join(words[i:], " "), strings.Join(bare, " "))
			mayPrecede := before().MatchString(path.Base(words[i]))
			mayBeValue := i > 0 && strings.HasPrefix(words[i-1], "-") // of an option: sudo -u bob rm
			if !mayPrecede && !mayBeValue {
				break
			}
		}
	}
	return out
}

// joined writes white space as one space.
func joined(s string) string { return strings.Join(strings.Fields(s), " ") }

// MayRun says why the identity may not have a command run for it by another way than BASH.
func (s *Set) MayRun(key, command string) error {
	args, _ := json.Marshal(map[string]string{"command": command}) // cannot fail
	switch {
	case command == "":
	case !s.Has("BASH"):
		return fmt.Errorf("%s: you have no BASH, and so nothing runs commands for you", key)
	case s.Asks("BASH", args):
		return fmt.Errorf("%s: people have to approve this command. Run it with BASH, which asks them", key)
	}
	return nil
}

// MaySay says why the identity may not have a text posted in a room by another way than SAY.
func (s *Set) MaySay(room, text string) error {
	args, _ := json.Marshal(map[string]string{"room": room, "message": text}) // cannot fail
	if s.Asks("SAY", args) {
		return fmt.Errorf(
			"room = %q: people have to approve what you say there. Use SAY, which asks them, or name another room",
			room,
		)
	}
	return nil
}
