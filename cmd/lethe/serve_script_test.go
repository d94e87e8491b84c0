//go:build unix

package main_test

import (
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

func init() { scriptCommands["http"] = atLeast(3, scriptHTTP) }

// scriptHTTP sends a request, keeps the answer in http.out and checks the status; 202x100 sends it a hundred times:
//
//	http STATUS[xTIMES] METHOD URL [HEADER: VALUE]... [BODY | @FILE]
func scriptHTTP(ts *testscript.TestScript, args []string) {
	want, count, _ := strings.Cut(args[0], "x")
	times := 1
	if count != "" {
		times = atoi(ts, count)
	}
	for range times {
		body := ""
		r, err := http.NewRequest(args[1], args[2], nil)
		ts.Check(err)
		for _, arg := range args[3:] {
			if name, value, ok := strings.Cut(arg, ": "); ok {
				r.Header.Set(name, value)
			} else if body = arg; strings.HasPrefix(arg, "@") {
				body = ts.ReadFile(arg[1:])
			}
		}
		r.Body = io.NopCloser(strings.NewReader(body))
		resp, err := http.DefaultClient.Do(r)
		ts.Check(err)
		text, err := io.ReadAll(resp.Body)
		ts.Check(err)
		resp.Body.Close()
		ts.Check(os.WriteFile(ts.MkAbs("http.out"), text, 0o600))
		if strconv.Itoa(resp.StatusCode) != want {
			ts.Fatalf("%s %s: %s, want %s\n%s", args[1], args[2], resp.Status, want, text)
		}
	}
}
