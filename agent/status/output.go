package status

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Begin shows the beginning of an answer or a command; the zero Live shows its end.
func (v *View) Begin(l Live) { v.Live(func(now *Live) bool { *now = l; return true }) }

// maxOutput bounds what is shown of the output of a command, in bytes: the newest.
const maxOutput = 64 << 10

// Output returns what takes the output of a call while it runs. What comes later, as of a job,
// is not shown.
func (v *View) Output(call string) func([]byte) {
	v.Begin(Live{Call: call})
	var part []byte // of a rune
	return func(b []byte) {
		v.Live(func(now *Live) bool {
			if now.Call != call {
				return false
			}
			b, whole := append(part, b...), 0
			for whole < len(b) && utf8.FullRune(b[whole:]) {
				_, n := utf8.DecodeRune(b[whole:])
				whole += n
			}
			part = slices.Clone(b[whole:])
			now.Output += strings.ToValidUTF8(string(b[:whole]), "\uFFFD")
			if more := len(now.Output) - maxOutput; more > maxOutput {
				for !utf8.RuneStart(now.Output[more]) {
					more--
				}
				now.Output, now.From = now.Output[more:], now.From+int64(more)
			}
			return true
		})
	}
}
