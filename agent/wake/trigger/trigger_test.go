package trigger

import (
	"strings"
	"testing"
	"time"
)

func parse(t *testing.T, zone, text string) Trigger {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	trig, err := Parse("test", []byte(text), loc)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return trig
}

func local(t *testing.T, trig Trigger, text string) time.Time {
	t.Helper()
	at, err := parseAt(text, trig.Zone)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// What is wrong is said in one line that names the key, its value and what to write.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``: "0 of the keys",
		"at = \"2026-11-23 09:00\"\nevery = \"1h\"": "2 of the keys",
		`every = 10`:                                 `write a text in quotes`,
		`at = 2026-11-23T09:00:00`:                   `write a text in quotes`,
		`every = "10m`:                               "line 1",
		"every = \"10m\"\nwhen = \"x\"":              `"when" is no key`,
		"every = \"10m\"\nsay = \" \"":               `say = " "`,
		`every = "soon"`:                             `every = "soon": write`,
		`every = "1500ms"`:                           `every = "1500ms"`,
		`every = "0s"`:                               `from 1s`,
		`every = "9000h"`:                            `from 1s to 8784h,`,
		`every = "10m"`:                              "neither say nor run",
		`at = "tomorrow"`:                            `at = "tomorrow": write`,
		`cron = "0 25 * * *"`:                        `cron = "0 25 * * *": hour "25" is not from 0 to 23`,
		`cron = "0 9 * * monday"`:                    `weekday "monday" is not from 0 to 7`,
		`cron = "5/10 * * * *"`:                      `write */10 or 5-59/10`,
		`cron = "*/0 * * * *"`:                       "the step",
		`cron = "0 9 * *"`:                           "five fields",
		`cron = "@often"`:                            "five fields",
		`cron = "0 0 30 2 *"`:                        "no such day",
		`cron = "0 0,,1 * * *"`:                      `hour ""`,
		"cron = \"@daily\"\ntz = \"Berlin\"":         `tz = "Berlin"`,
		"cron = \"@daily\"\nquiet = \"22-7\"":        `quiet = "22-7"`,
		"cron = \"@daily\"\nsay = \"x\"\nroom='a/b'": `room = "a/b"`,
		"mail = \"in\"\nrun = \"x\"":                 "no run",
		"every = \"1h\"\ngrace = \"1s\"":             `grace = "1s"`,
		`say = "` + strings.Repeat("é", 4001) + "\"\nevery = '1h'": "4001 characters",
		strings.Repeat("#", MaxBytes+1):                            "16384",
	} {
		_, err := Parse("test", []byte(text), time.UTC)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
	for _, name := range []string{"", "-a", "A", "a.b", "a/b", strings.Repeat("a", 33)} {
		if _, err := Parse(name, []byte("every = '1h'\nsay = 'x'"), time.UTC); err == nil {
			t.Errorf("%q is taken as a name", name)
		}
	}
}

// Changes lists, for each zone, what a schedule does around a change of the clocks. The times are
// local, with their offset.
func TestChangesOfClocks(t *testing.T) {
	for _, c := range []struct {
		zone, text, from string
		want             []string
	}{
		{"America/New_York", `cron = "30 2 * * *"`, "2026-03-07 12:00", []string{"08 03:30 -0400", "09 02:30 -0400"}},
		{"America/New_York", `cron = "0,30 2 * * *"`, "2026-03-07 12:00", []string{"08 03:00 -0400", "08 03:30 -0400", "09 02:00 -0400"}},
		{"America/New_York", `cron = "0 2,3 * * *"`, "2026-03-07 12:00", []string{"08 03:00 -0400", "09 02:00 -0400"}},
		{"America/New_York", `cron = "*/30 * * * *"`, "2026-03-08 01:10", []string{"08 01:30 -0500", "08 03:00 -0400", "08 03:30 -0400"}},
		{"America/New_York", `cron = "@hourly"`, "2026-03-08 00:30", []string{"08 01:00 -0500", "08 03:00 -0400"}},
		{"America/New_York", `cron = "0 */2 * * *"`, "2026-03-08 00:30", []string{"08 03:00 -0400", "08 04:00 -0400"}},
		{"America/New_York", `cron = "30 1 * * *"`, "2026-10-31 12:00", []string{"01 01:30 -0400", "02 01:30 -0500"}},
		{"America/New_York", `cron = "*/30 * * * *"`, "2026-11-01 00:45",
			[]string{"01 01:00 -0400", "01 01:30 -0400", "01 01:00 -0500", "01 01:30 -0500", "01 02:00 -0500"}},
		{"America/New_York", `cron = "@hourly"`, "2026-11-01 00:45", []string{"01 01:00 -0400", "01 01:00 -0500", "01 02:00 -0500"}},
		{"Europe/Berlin", `cron = "30 2 * * *"`, "2026-03-28 12:00", []string{"29 03:30 +0200", "30 02:30 +0200"}},
		{"Europe/Berlin", `cron = "0 9 * * *"`, "2026-03-28 08:00", []string{"28 09:00 +0100", "29 09:00 +0200"}},
		{"Europe/Berlin", `cron = "0 */2 * * *"`, "2026-10-25 01:00", []string{"25 02:00 +0200", "25 04:00 +0100"}},
		{"Australia/Lord_Howe", `cron = "15 2 * * *"`, "2026-10-03 12:00", []string{"04 02:45 +1100", "05 02:15 +1100"}},
		{"Australia/Lord_Howe", `cron = "45 1 * * *"`, "2026-04-04 12:00", []string{"05 01:45 +1100", "06 01:45 +1030"}},
		{"Pacific/Apia", `cron = "0 9 * * *"`, "2011-12-29 08:00", []string{"29 09:00 -1000", "31 09:00 +1400", "01 09:00 +1400"}},
		{"Pacific/Apia", `cron = "0 9 30 12 *"`, "2011-12-29 08:00", []string{"31 09:00 +1400", "30 09:00 +1400"}},
		{"Africa/Casablanca", `cron = "30 2 * * *"`, "2026-02-14 12:00", []string{"15 02:30 +0100", "16 02:30 +0000"}},
		{"Africa/Casablanca", `cron = "30 2 * * *"`, "2026-03-21 12:00", []string{"22 03:30 +0100", "23 02:30 +0100"}},
		{"America/St_Johns", `cron = "1 23 * * *"`, "2006-10-28 12:00", []string{"28 23:01 -0230", "29 23:01 -0330"}},
		{"Asia/Kathmandu", `cron = "15 0 1 * *"`, "2026-01-15 12:00", []string{"01 00:15 +0545", "01 00:15 +0545"}},
		{"Europe/Berlin", `at = "2026-03-29 02:30"`, "2026-03-28 12:00", []string{"29 03:30 +0200", ""}},
		{"Europe/Berlin", `at = "2026-07-01T09:00:30"`, "2026-06-28 12:00", []string{"01 09:00 +0200", ""}},
		{"Europe/Berlin", `at = "2026-07-01 09:00:30"`, "2026-06-28 12:00", []string{"01 09:00 +0200", ""}},
		{"Europe/Berlin", `at = "2026-10-25 02:30"`, "2026-10-24 12:00", []string{"25 02:30 +0200", ""}},
		{"Europe/Berlin", "quiet = '22:00-02:30'\ncron = '0 * * * *'", "2026-03-28 21:30", []string{"29 03:00 +0200", "29 04:00 +0200"}},
		{"Europe/Berlin", "quiet = '22:00-02:30'\ncron = '0 23 * * *'", "2026-10-24 21:30", []string{"25 02:30 +0200", "26 02:30 +0100"}},
	} {
		trig := parse(t, c.zone, c.text+"\nsay = 'x'")
		at := local(t, trig, c.from)
		for _, want := range c.want {
			got := ""
			if at = trig.Next(at); !at.IsZero() {
				got = at.Format("02 15:04 -0700")
			}
			if got != want {
				t.Errorf("%s %s: %s, want %s", c.zone, c.text, got, want)
			}
		}
	}
}
