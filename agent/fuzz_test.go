package agent

import (
	"strings"
	"testing"

	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// The line that the log fixes for a SAY is the one that the tool then says, whatever
// the arguments hold.
func FuzzSay(f *testing.F) {
	for _, args := range []string{
		`{"room":"dev","message":"hi"}`, `{"Room":"#dev","MESSAGE":"a","Message":"b"}`,
		`{"room":"rooms/dev.md","message":" \u2028 "}`, `{"room":"dev","message":null,"Message":"x"}`,
		`{"room":"dev","message":"◰4 ◆ \ud800 \u0000"}`, `{"room":"dev","message":"a","message":"b"}`,
		`{"room":"dev","message":5}`, `{"room":"dev","message":"\r\n"}`, `{"room":"dev","me\u017f\u017fage":"x"}`,
		`{"room":"dev","message":"\ufeff"}`,
		"", "null", `["dev"]`, strings.Repeat(`{"room":`, 20000),
	} {
		f.Add(args)
	}
	dir := f.TempDir()
	set, err := tools.New(tools.Config{AgentDir: dir, Home: dir, Bash: tools.BashOff})
	lethetest.Must(f, err)
	f.Fuzz(func(t *testing.T, args string) {
		sent := mind.RepairCall("SAY", args)
		body := mind.Answer{Calls: []mind.AnswerCall{sent}}.Encode()
		a, err := mind.DecodeAnswer(body)
		lethetest.Must(t, err)
		// What goes into the log and comes back from it: escaped, and put back for the tool.
		call := mind.Call{Tool: "SAY", Args: blobs.Escape(blobs.Unescape(a.Calls[0].Args))}
		effect, err := set.Intent("SAY", argsOf(&call))
		if err != nil {
			return
		}
		message := effect.(tools.Post).Text
		if _, said := call.Say(); said != message {
			t.Fatalf("%s says %q in the log and %q as a tool", args, said, message)
		}
	})
}
