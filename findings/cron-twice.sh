#!/usr/bin/env bash
# robfig/cron 3.0.1: a job of each day at 02:30 runs twice in the night in which clocks go back, an hour apart.
#
# Guess:    "30 2 * * *" is once a day, as with cron of Debian and with croner and cron for Node; its documentation warns of the
#           night in which clocks go forward alone, in which the job does not run.
# Behaviour: both 02:30 of that night fit. Where zones change at other hours it is another time of day that runs twice. So a
#           report, a bill or a reminder goes out two times.
# Remedy:   let the job look at the date of its last run, or schedule in UTC (CRON_TZ=UTC).
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
	"os"
	"time"
	_ "time/tzdata"

	"github.com/robfig/cron/v3"
)

func main() {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	daily, err := cron.ParseStandard("30 2 * * *")
	if err != nil {
		panic(err)
	}
	first := daily.Next(time.Date(2027, 10, 30, 12, 0, 0, 0, zone))
	second := daily.Next(first)
	fmt.Println(first, "|", second)
	if second.Sub(first) != time.Hour || first.YearDay() != second.YearDay() {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/robfig/cron/v3@v3.0.1 >/dev/null 2>&1
echo "robfig/cron v3.0.1, $(go version)"
go run .
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund croner@11.0.1
cat >main.mjs <<'JS'
import {Cron} from 'croner';
const runs = new Cron('30 2 * * *', {timezone: 'Europe/Berlin'}).nextRuns(2, new Date('2027-10-30T10:00:00Z'));
console.log('croner 11.0.1', runs.map(run => run.toISOString()).join(' | '));
process.exit(runs[1] - runs[0] === 25 * 3600e3 ? 0 : 1);
JS
node main.mjs
