#!/usr/bin/env bash
# node-cron 4.6.0, croner 11.0.1, gronx 1.20.4: one line of a crontab is three sets of days.
#
# Guess:    five fields mean what they mean to cron: "0 9 13 * 5" is each 13th and each Friday, as crontab(5) says of two fields of
#           days; where one of them begins with * ("*/2") both have to fit, in cron of Debian and in cronie.
# Behaviour: node-cron wants both to fit in any case: the job waits for a Friday the 13th, for months. croner, cron-parser and
#           robfig/cron take "*/2" for a field like others: odd days and Mondays, not odd Mondays. gronx does both as cron does.
# Remedy:   leave one of the two fields at *, and let the job look at the other; print the next runs of a line before it counts.
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

	"github.com/adhocore/gronx"
	"github.com/robfig/cron/v3"
)

func main() {
	for _, line := range []string{"0 9 13 * 5", "0 9 */2 * 1"} {
		at := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
		daily, err := cron.ParseStandard(line)
		if err != nil {
			panic(err)
		}
		robfig, other := "", ""
		for day := at; day.Month() == time.March; {
			day = daily.Next(day)
			if day.Month() == time.March {
				robfig += day.Format(" 2")
			}
		}
		for day := at; day.Month() == time.March; {
			if day, err = gronx.NextTickAfter(line, day, false); err != nil {
				panic(err)
			}
			if day.Month() == time.March {
				other += day.Format(" 2")
			}
		}
		fmt.Printf("%s robfig%s\n%s gronx%s\n", line, robfig, line, other)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/adhocore/gronx@v1.20.4 github.com/robfig/cron/v3@v3.0.1 >/dev/null 2>&1
go run . >seen
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund node-cron@4.6.0 croner@11.0.1 cron-parser@5.10.6
cat >main.mjs <<'JS'
import {Cron} from 'croner';
import {CronExpressionParser} from 'cron-parser';
import cron from 'node-cron';
const from = new Date('2027-03-01T12:00:00Z');
const march = next => {
  let days = '';
  for (let day = next(from); day < new Date('2027-04-01T00:00:00Z'); day = next(day)) days += ` ${day.getUTCDate()}`;
  return days;
};
for (const line of ['0 9 13 * 5', '0 9 */2 * 1']) {
  const job = new Cron(line, {timezone: 'UTC'});
  console.log(`${line} croner${march(day => job.nextRun(day))}`);
  const times = CronExpressionParser.parse(line, {currentDate: from, tz: 'UTC'});
  console.log(`${line} cron-parser${march(() => times.next().toDate())}`);
  // It counts from now: the runs that it foresees are told by their days.
  const runs = cron.createTask(line, () => {}, {timezone: 'UTC'}).getNextRuns(12);
  const both = runs.every(run => line.includes('13')
    ? run.getUTCDate() === 13 && run.getUTCDay() === 5 : run.getUTCDate() % 2 === 1 && run.getUTCDay() === 1);
  console.log(`${line} node-cron: both fit in each of ${runs.length} runs: ${both}`);
}
process.exit();
JS
node main.mjs >>seen
cat >known <<'TXT'
0 9 */2 * 1 cron-parser 3 5 7 8 9 11 13 15 17 19 21 22 23 25 27 29 31
0 9 */2 * 1 croner 3 5 7 8 9 11 13 15 17 19 21 22 23 25 27 29 31
0 9 */2 * 1 gronx 15 29
0 9 */2 * 1 node-cron: both fit in each of 12 runs: true
0 9 */2 * 1 robfig 3 5 7 8 9 11 13 15 17 19 21 22 23 25 27 29 31
0 9 13 * 5 cron-parser 5 12 13 19 26
0 9 13 * 5 croner 5 12 13 19 26
0 9 13 * 5 gronx 5 12 13 19 26
0 9 13 * 5 node-cron: both fit in each of 12 runs: true
0 9 13 * 5 robfig 5 12 13 19 26
TXT
echo "node-cron 4.6.0, croner 11.0.1, cron-parser 5.10.6, gronx v1.20.4, robfig/cron v3.0.1; days of March 2027"
LC_ALL=C sort seen | tee sorted
cmp sorted known
