cd "$dir" 2>/dev/null
sweep() {
	while found=$(grep -lsa "$mark" /proc/[0-9]*/environ); [ "$found" ]; do
		for p in $found; do
			p=${p%/environ}
			kill -9 "${p#/proc/}" 2>/dev/null
		done
	done
}
input=$(mktemp) && head -c "$size" >"$input" && exec 3<&0 4<"$input" && rm "$input" || exit 125
env "$mark" "$(command -v bash || echo sh)" -c "$line" <&4 3<&- 4<&- &
main=$!
{ cat <&3; sweep; } >/dev/null 2>&1 </dev/null &
wait "$main" 2>/dev/null
code=$?
sweep
exit "$code"
