package rehearsal

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lethe/internal/lazy"
)

const scheduleForm = `(?:every (?:(\d{1,4}) )?(second|minute|hour)s?|every (day|weekday|sunday|monday|tuesday|wednesday|thursday|friday|saturday) at (\S+?)|at (\d{4}-\d\d-\d\d \d\d:\d\d)),? (.+?)(?: in ([\w-]+))?`

var schedules = lazy.Regexp(`(?is)^` + scheduleForm + `$`)

var hourWords = []string{"midnight", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "noon"}

// schedule makes a trigger of "every day at nine say good morning", in the form of self/TRIGGERS.md.
func (t *turn) schedule(text string) (answer string, ok bool) {
	m, when := schedules().FindStringSubmatch(text), ""
	switch {
	case m[2] != "":
		when = fmt.Sprintf("every = %q", cmp.Or(m[1], "1")+strings.ToLower(m[2][:1]))
	case m[5] != "":
		when = fmt.Sprintf("at = %q", m[5])
	default:
		hour, minute, ok := clock(strings.ToLower(m[4]))
		if !ok {
			return unknown(text), true
		}
		days := strings.ToLower(m[3][:3])
		if i := slices.Index([]string{"day", "wee"}, days); i >= 0 {
			days = []string{"*", "mon-fri"}[i]
		}
		when = fmt.Sprintf(`cron = "%d %d * * %s"`, minute, hour, days)
	}
	if room := cmp.Or(m[7], t.heard[t.now].room); room != "" {
		when += fmt.Sprintf("\nroom = %q", room)
	}
	c := call("WRITE_FILE", map[string]string{
		"path":    "self/triggers/" + slug(m[6]) + ".toml",
		"content": fmt.Sprintf("%s\nsay = %s\n", when, strconv.Quote(oneLine(m[6]))),
	})
	if !slices.Contains(t.req.Tools, c.Name) {
		return notOffered(c), true
	}
	results, ok := t.do("I write a trigger, which wakes me then.", c)
	if !ok {
		return "", false
	}
	if _, next, ok := strings.Cut(results[0], "\n"); ok {
		return "I wrote a trigger. " + next, true
	}
	return report(c, results[0]), true
}

func clock(text string) (hour, minute int, ok bool) {
	h, m, _ := strings.Cut(text, ":")
	if hour = slices.Index(hourWords, h); hour < 0 {
		var err error
		if hour, err = strconv.Atoi(h); err != nil {
			return 0, 0, false
		}
	}
	minute, _ = strconv.Atoi(m)
	return hour, minute, hour < 24 && minute >= 0 && minute < 60
}

var notInNames = lazy.Regexp(`[^a-z0-9]+`)

// slug is the name of a trigger that says something: good-morning.
func slug(text string) string {
	name := notInNames().ReplaceAllString(strings.TrimPrefix(strings.ToLower(text), "say "), "-")
	if name = strings.Trim(name, "-"); len(name) > 32 {
		name = name[:32]
	}
	if name = strings.Trim(name, "-"); name == "" {
		return "reminder"
	}
	return name
}
