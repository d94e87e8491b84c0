package mind

import (
	"fmt"
	"strings"
	"testing"

	"lethe/internal/lethetest"
)

// busy is a life whose context has about 100,000 tokens: 330,000 characters in
// 175 turns of a line, a call and an answer.
func busy(b *testing.B) *world {
	b.Helper()
	w := newWorld(b)
	w.join("dev")
	for i := range 175 {
		w.says("dev", "ada", fmt.Sprintf("turn %d: ", i)+strings.Repeat("please look at this. ", 10))
		w.listen("dev")
		w.answer(Answer{Reasoning: strings.Repeat("I think about it. ", 20), Calls: []AnswerCall{RepairCall("BASH", `{"command":"make test"}`)}})
		w.start()
		w.finish(OK, strings.Repeat("ok  lethe/mind 0.5s\n", 45), 8000)
		w.answer(Answer{Reasoning: "Done. ", Text: strings.Repeat("All of it passes. ", 20)})
		w.pay()
	}
	size := 0
	for _, m := range w.state.Messages("") {
		size += len(m.Content) + len(m.Reasoning)
	}
	if size < 300_000 {
		b.Fatalf("context of %d characters", size)
	}
	return w
}

// BenchmarkApply folds one result of 8000 characters in a context of 100,000
// tokens.
func BenchmarkApply(b *testing.B) {
	w := busy(b)
	w.answer(Answer{Calls: []AnswerCall{call}})
	unit := w.state.Unit()
	e, bodies := logLine("result", []string{CallID(unit.N, 1)}, []string{"status", OK, "show", "8000"}, strings.Repeat("x", 8000))
	b.ReportAllocs()
	for b.Loop() {
		*unit.Calls[0] = Call{Tool: "BASH", Args: "{}"}
		lethetest.Must(b, w.state.Apply(e, bodies...))
	}
}

func BenchmarkMessages(b *testing.B) {
	w := busy(b)
	b.ReportAllocs()
	for b.Loop() {
		w.state.Messages("")
	}
}
