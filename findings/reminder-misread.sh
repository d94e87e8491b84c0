#!/usr/bin/env bash
# chrono-node 2.10.3, rrule 2.8.1, olebedev/when 1.1.0, tj/go-naturaldate 1.3.0: of a time they leave out what they cannot read, and give another.
#
# Guess:    a reader of dates gives the time that a sentence says, or none.
# Behaviour: it takes the part that it knows. "In two and a half hours" is half an hour, "in an hour and a half" an hour, "the
#           day after tomorrow" tomorrow, "on 2026-03-09 at 14:00" today at 03:09, "half past nine" nine; of "hello"
#           go-naturaldate makes now, without an error. "Every day at 9pm" is for rrule each morning at nine, "for 3 weeks" three
#           times. So a reminder comes, at a wrong time.
# Remedy:   compare the words that were read (text, Result.Text, toText) with the sentence; have the time confirmed.
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

	"github.com/olebedev/when"
	"github.com/tj/go-naturaldate"
)

func main() {
	now := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	for _, said := range []string{"the day after tomorrow", "in an hour and a half", "on 2026-03-09 at 14:00"} {
		read, err := when.EN.Parse(said, now)
		if err != nil || read == nil {
			panic(said)
		}
		fmt.Println("when:", said, "is", read.Time.Format("01-02 15:04"))
	}
	for _, said := range []string{"the day after tomorrow", "in an hour and a half", "half past nine", "hello"} {
		read, err := naturaldate.Parse(said, now, naturaldate.WithDirection(naturaldate.Future))
		if err != nil {
			panic(err)
		}
		fmt.Println("naturaldate:", said, "is", read.Format("01-02 15:04"))
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/olebedev/when@v1.1.0 github.com/tj/go-naturaldate@v1.3.0 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
go run . >seen
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund chrono-node@2.10.3 rrule@2.8.1
cat >main.mjs <<'JS'
import {parseDate} from 'chrono-node';
import rrule from 'rrule';
for (const said of ['the day after tomorrow', 'in an hour and a half', 'in two and a half hours']) {
  const read = parseDate(said, {instant: new Date('2026-03-04T10:00:00Z'), timezone: 'UTC'}, {forwardDate: true});
  console.log(`chrono: ${said} is ${read.toISOString().slice(5, 16).replace('T', ' ')}`);
}
for (const said of ['every day at 9pm', 'every day for 3 weeks']) {
  console.log(`rrule: ${said} is ${rrule.RRule.fromText(said)}`);
}
JS
TZ=UTC node main.mjs >>seen
cat >known <<'TXT'
when: the day after tomorrow is 03-05 10:00
when: in an hour and a half is 03-04 11:00
when: on 2026-03-09 at 14:00 is 03-04 03:09
naturaldate: the day after tomorrow is 03-05 00:00
naturaldate: in an hour and a half is 03-04 11:00
naturaldate: half past nine is 03-04 09:00
naturaldate: hello is 03-04 10:00
chrono: the day after tomorrow is 03-06 10:00
chrono: in an hour and a half is 03-04 11:00
chrono: in two and a half hours is 03-04 10:30
rrule: every day at 9pm is RRULE:FREQ=DAILY;BYHOUR=9
rrule: every day for 3 weeks is RRULE:FREQ=DAILY;COUNT=3
TXT
echo "olebedev/when v1.1.0, go-naturaldate v1.3.0, chrono-node 2.10.3, rrule 2.8.1; said on 03-04 at 10:00"
cat seen
cmp seen known
