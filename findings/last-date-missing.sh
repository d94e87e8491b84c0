#!/usr/bin/env bash
# gocal 0.9.1, node-ical 0.27.2, ical.js 2.2.1: the last meeting of a series is missing, and of a meeting on three dates one or two.
#
# Guess:    who expands a calendar for some weeks gets all dates: the one that UNTIL names is the last of its series (RFC 5545 calls it
#           inclusive), and those of RDATE stand beside the start.
# Behaviour: gocal ends before the date that UNTIL names, if a meeting begins at that very second. gocal and node-ical leave out each
#           RDATE, and ical.js leaves out the start where there are only RDATEs: none of the three has all three dates, and none
#           tells of an error. So a reminder for the last lesson of a course, or for the extra ones, never comes. EXDATE, moved
#           dates and changes of the clock come out right, so that tests of these pass.
# Remedy:   rrule-go or rrule.js with UNTIL and RDATE given to it; with ical.js, put the start in front of what has RDATEs alone.
#
# Needs Go and Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >plain.ics <<'ICS'
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//example//finding//EN
BEGIN:VEVENT
UID:course@example.org
DTSTAMP:20260101T000000Z
DTSTART:20260302T080000Z
DTEND:20260302T090000Z
RRULE:FREQ=WEEKLY;UNTIL=20260316T080000Z
SUMMARY:course
END:VEVENT
BEGIN:VEVENT
UID:visit@example.org
DTSTAMP:20260101T000000Z
DTSTART:20260306T080000Z
DTEND:20260306T090000Z
RDATE:20260307T100000Z,20260309T110000Z
SUMMARY:visit
END:VEVENT
END:VCALENDAR
ICS
sed 's/$/\r/' plain.ics >dates.ics
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/apognu/gocal"
)

func main() {
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(0, 2, 0)
	reader := gocal.NewParser(os.Stdin)
	reader.Start, reader.End = &from, &to
	if err := reader.Parse(); err != nil {
		panic(err)
	}
	dates := map[string][]string{}
	for _, event := range reader.Events {
		dates[event.Summary] = append(dates[event.Summary], event.Start.UTC().Format("2006-01-02"))
	}
	for _, name := range []string{"course", "visit"} {
		sort.Strings(dates[name])
		fmt.Printf("gocal, %s: %s\n", name, strings.Join(dates[name], " "))
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/apognu/gocal@v0.9.1 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
go run . <dates.ics >seen
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund node-ical@0.27.2 ical.js@2.2.1
cat >main.mjs <<'JS'
import {readFileSync} from 'node:fs';
import ICAL from 'ical.js';
import nodeIcal from 'node-ical';
const text = readFileSync('dates.ics', 'utf8'), from = new Date('2026-03-01T00:00Z'), to = new Date('2026-05-01T00:00Z');
const tell = (library, name, dates) =>
  console.log(`${library}, ${name}: ${dates.map(date => date.toISOString().slice(0, 10)).sort().join(' ')}`);
for (const event of Object.values(nodeIcal.sync.parseICS(text)).filter(part => part.type === 'VEVENT'))
  tell('node-ical', event.summary, nodeIcal.expandRecurringEvent(event, {from, to}).map(one => one.start));
for (const component of new ICAL.Component(ICAL.parse(text)).getAllSubcomponents('vevent')) {
  const dates = [], days = new ICAL.Event(component).iterator();
  for (let day = days.next(); day; day = days.next()) dates.push(day.toJSDate());
  tell('ical.js', component.getFirstPropertyValue('summary'), dates);
}
JS
node main.mjs >>seen
cat >known <<'TXT'
gocal, course: 2026-03-02 2026-03-09
gocal, visit: 2026-03-06
node-ical, course: 2026-03-02 2026-03-09 2026-03-16
node-ical, visit: 2026-03-06
ical.js, course: 2026-03-02 2026-03-09 2026-03-16
ical.js, visit: 2026-03-07 2026-03-09
TXT
echo "gocal v0.9.1, node-ical 0.27.2, ical.js 2.2.1, Node $(node --version)"
cat seen
cmp seen known
