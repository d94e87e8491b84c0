#!/usr/bin/env bash
# tmux 3.3a: a text that ends in ";" is typed without it, and one that ends in "\;" without its backslash, even by send-keys -l.
#
# Guess:    tmux send-keys -l -- "$text" types the text: -l is "literally", and no shell stands between.
# Behaviour: tmux takes a ";" at the end of any argument for the end of its own command. So "select 1;" lacks its end and the prompt
#           waits for more, `find … -exec rm {} \;` arrives as `… {} ;`, which a shell reads otherwise, and a text of one ";" types
#           nothing. The exit status is 0. Who drives a terminal for a model sends other keys than it wrote.
# Remedy:   put one more backslash before a ";" at the end.
#
# Needs tmux. Exits with 1 if it behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
export TMUX_TMPDIR=$dir
unset TMUX
trap 'tmux -f /dev/null kill-server 2>/dev/null || true; rm -rf "$dir"' EXIT
tmux -V

# typed sends keys to a program that writes what it gets into a file, and prints that file.
typed() {
  rm -f "$dir/got"
  tmux -f /dev/null new-session -d -x 80 -y 24 "stty -icanon -echo; head -c 40 >'$dir/got'"
  for _ in $(seq 50); do [ -e "$dir/got" ] && break; sleep 0.1; done
  tmux send-keys "$@"
  tmux send-keys -l "......................................" # fills the 40 bytes
  for _ in $(seq 50); do [ -s "$dir/got" ] && break; sleep 0.1; done
  tmux kill-server 2>/dev/null || true
  sed 's/\.\.\..*//' "$dir/got"
}

same=yes
while IFS='|' read -r text want; do
  got=$(typed -l -- "$text")
  repaired=$(typed -l -- "${text%;}\;")
  printf 'sent %-10s typed %-10s with one more backslash %s\n' "$text" "$got" "$repaired"
  [ "$got" = "$want" ] && [ "$repaired" = "$text" ] || same=no
done <<'TABLE'
select 1;|select 1
ls {} \;|ls {} ;
TABLE
[ "$same" = yes ]
