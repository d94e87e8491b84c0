#!/usr/bin/env bash
# systemd 252 of Debian 12: a timer of each quarter of an hour stands still for 75 minutes in the night in which clocks go back.
#
# Guess:    OnCalendar=*:0/15 elapses each 15 minutes, on every day, and 02:30 once a day: cron of Debian runs what fell into the
#           hour that is left out right behind it.
# Behaviour: the second hour from 02:00 to 03:00 does not exist for it: nothing elapses from 02:45 to an hour and a quarter later. In
#           spring, 02:30 is left out with its day, and a weekly "Sun 02:30" with its week. A backup or a sign of life is
#           missing, and nothing says so: the timer shows its next time, as ever.
# Remedy:   UTC behind the time ("*:0/15 UTC").
#
# Needs systemd-analyze. Exits with 1 if it behaves otherwise.
set -euo pipefail
export TZ=Europe/Berlin LC_ALL=C
systemd-analyze --version | head -n 1

# elapses prints when a calendar elapses behind a moment, as seconds of UTC.
elapses() {
  systemd-analyze calendar --iterations="$1" --base-time="$2" "$3" |
    sed -nE 's/^.*(Next elapse|Iter\. #[0-9]+): [A-Z][a-z]+ (.*)$/\2/p' | while read -r moment; do date -d "$moment" +%s; done
}

# longest prints the longest gap in minutes between the times that a calendar elapses behind a moment.
longest() {
  elapses "$@" | awk 'NR > 1 && $1 - last > most { most = $1 - last } { last = $1 } END { print most / 60 }'
}

quarter=$(longest 12 '2027-10-31 01:50' '*:0/15')
utc=$(longest 12 '2027-10-31 01:50' '*:0/15 UTC')
day=$(longest 3 '2027-03-26 12:00' '02:30')
week=$(longest 3 '2027-03-20 12:00' 'Sun 02:30')
echo "longest gap: *:0/15 $quarter minutes, *:0/15 UTC $utc minutes, 02:30 $((day / 60)) hours, Sun 02:30 $((week / 60)) hours"
[ "$quarter" = 75 ] && [ "$utc" = 15 ] && [ "$day" = 2820 ] && [ "$week" = 20100 ]
