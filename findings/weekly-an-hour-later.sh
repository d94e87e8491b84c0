#!/usr/bin/env bash
# ics 3.12.0, ical-generator 11.1.2, arran4/golang-ical 0.3.4: a meeting each Monday at nine is at ten from the end of March on.
#
# Guess:    who gives a local time, or a time with a zone, and a weekly rule, gets an event that stays at that hour.
# Behaviour: all three write the start in UTC ("20260302T080000Z") beside the rule. So the rule repeats 08:00 UTC, which is an
#           hour later when clocks have gone forward. None warns. A time zone of the calendar makes it worse in
#           ical-generator: then times are written without any zone, and each reader's own counts.
# Remedy:   write DTSTART;TZID=Europe/Berlin and a VTIMEZONE by hand (SetProperty; in ical-generator a timezone with a generator).
#
# Needs Go and Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >main.go <<'GO'
package main

import (
	"fmt"
	"time"
	_ "time/tzdata"

	ics "github.com/arran4/golang-ical"
)

func main() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	calendar := ics.NewCalendar()
	event := calendar.AddEvent("monday@example.org")
	event.SetDtStampTime(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	event.SetStartAt(time.Date(2026, 3, 2, 9, 0, 0, 0, berlin))
	event.AddRrule("FREQ=WEEKLY")
	fmt.Print(calendar.Serialize())
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/arran4/golang-ical@v0.3.4 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
go run . >golang-ical.ics
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund ics@3.12.0 ical-generator@11.1.2 ical.js@2.2.1
cat >main.mjs <<'JS'
import {readFileSync} from 'node:fs';
import ICAL from 'ical.js';
import generate from 'ical-generator';
import {createEvent} from 'ics';
const start = new Date(2026, 2, 2, 9); // local
const made = {
  'golang-ical': readFileSync('golang-ical.ics', 'utf8'),
  ics: createEvent({title: 'x', start: [2026, 3, 2, 9, 0], duration: {hours: 1}, recurrenceRule: 'FREQ=WEEKLY'}).value,
};
for (const [name, options] of [['ical-generator', {}], ['ical-generator with a zone', {timezone: 'Europe/Berlin'}]]) {
  const calendar = generate(options);
  calendar.createEvent({start, summary: 'x', repeating: {freq: 'WEEKLY'}});
  made[name] = calendar.toString();
}
let right = true;
for (const [name, text] of Object.entries(made)) {
  const event = new ICAL.Event(new ICAL.Component(ICAL.parse(text)).getFirstSubcomponent('vevent'));
  const days = event.iterator();
  const hours = Array.from({length: 5}, () => days.next().toJSDate().toTimeString().slice(0, 5)).join(' ');
  const written = /DTSTART.*/.exec(text)[0].trim();
  console.log(`${name}: ${written}, Mondays from March 2: ${hours}`);
  right &&= name.endsWith('zone') ? written === 'DTSTART:20260302T090000'
    : written === 'DTSTART:20260302T080000Z' && hours === '09:00 09:00 09:00 09:00 10:00';
}
process.exit(right ? 0 : 1);
JS
echo "ics 3.12.0, ical-generator 11.1.2, golang-ical v0.3.4, read by ical.js 2.2.1 in Europe/Berlin"
TZ=Europe/Berlin node main.mjs
