package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"lethe/agent/tools/catalogue"
	"lethe/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if len(os.Args) > 2 && os.Args[1] == "act-as" {
		acts[os.Args[2]](os.Args[3:])
		return
	}
	goleak.VerifyTestMain(m)
}

// acts make this test binary another program: servers, good and bad, and a host of servers.
var acts map[string]func(args []string)

func init() {
	acts = map[string]func(args []string){
		"good":    func([]string) { serve(newServer()) },
		"slow":    func([]string) { time.Sleep(1500 * time.Millisecond); serve(newServer()) },
		"host":    actAsHost,
		"silent":  func([]string) { select {} },
		"garbage": func([]string) { fmt.Println("Welcome to my server!"); select {} },
		"endless": func([]string) {
			for {
				fmt.Print(strings.Repeat("x", 1<<16))
			}
		},
		"huge": func([]string) {
			fmt.Print(`{"jsonrpc":"2.0","method":"`)
			for {
				fmt.Print(strings.Repeat("x", 1<<16))
			}
		},
		"dies":   func([]string) { fmt.Fprintln(os.Stderr, "no token, no tools"); os.Exit(3) },
		"pages":  func([]string) { actAsPages() },
		"older":  func(args []string) { actAsOlder(args[0]) },
		"deaf":   func([]string) { actAsDeaf() },
		"linger": func(args []string) { select {} },
	}
}

type text struct {
	Text string `json:"text"`
}

// newServer has a tool of each kind.
func newServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "good"}, nil)
	add := func(name string, do func(ctx context.Context, r *sdk.CallToolRequest, in text) (*sdk.CallToolResult, any, error)) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: "does " + name}, do)
	}
	say := func(format string, args ...any) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
	}
	add("echo", func(_ context.Context, _ *sdk.CallToolRequest, in text) (*sdk.CallToolResult, any, error) {
		return say("you said %s", in.Text), nil, nil
	})
	add("fail", func(context.Context, *sdk.CallToolRequest, text) (*sdk.CallToolResult, any, error) {
		r := say("it is closed")
		r.IsError = true
		return r, nil, nil
	})
	add("look", func(context.Context, *sdk.CallToolRequest, text) (*sdk.CallToolResult, any, error) {
		home, _ := os.UserHomeDir()
		_, err := os.ReadDir(os.Getenv("SECRET_DIR"))
		return say("pid %d home %s secret %q token %q read %v", os.Getpid(), home, os.Getenv("HIDDEN"), os.Getenv("TOKEN"), err == nil), nil, nil
	})
	add("files", func(context.Context, *sdk.CallToolRequest, text) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")},
			&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("wav")},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///notes/a.txt", Text: "a note"}},
			&sdk.ResourceLink{URI: "file:///b.txt", Name: "b", Description: "another"},
		}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "figures"}, func(context.Context, *sdk.CallToolRequest, text) (*sdk.CallToolResult, map[string]int, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{}}, map[string]int{"n": 7}, nil
	})
	add("more", func(_ context.Context, _ *sdk.CallToolRequest, in text) (*sdk.CallToolResult, any, error) {
		add(in.Text, func(context.Context, *sdk.CallToolRequest, text) (*sdk.CallToolResult, any, error) {
			return say("new"), nil, nil
		})
		return say("added"), nil, nil
	})
	add("crash", func(context.Context, *sdk.CallToolRequest, text) (*sdk.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "panic: out of luck")
		os.Exit(9)
		return nil, nil, nil
	})
	add("confirm", func(_ context.Context, r *sdk.CallToolRequest, in text) (*sdk.CallToolResult, any, error) {
		const ask = "sure"
		if len(r.Params.InputResponses) == 0 {
			schema := json.RawMessage(`{"$schema":"` + os.Getenv("SCHEMA") + `","type":"object","properties":{"why":{"type":"string"}}}`)
			question := &sdk.ElicitParams{Message: "Really delete " + in.Text + "?", RequestedSchema: schema}
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{ask: question}}, nil, nil
		}
		answer := r.Params.InputResponses[ask].(*sdk.ElicitResult)
		return say("%s, since %v", answer.Action, answer.Content["why"]), nil, nil
	})
	add("rounds", func(context.Context, *sdk.CallToolRequest, text) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{}, RequestState: "again"}, nil, nil
	})
	add("offers", func(_ context.Context, r *sdk.CallToolRequest, _ text) (*sdk.CallToolResult, any, error) {
		can, _ := json.Marshal(r.Session.InitializeParams().Capabilities.Elicitation)
		return say("elicitation %s", can), nil, nil
	})
	add("hang", func(ctx context.Context, _ *sdk.CallToolRequest, _ text) (*sdk.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	return s
}

func serve(s *sdk.Server) {
	if len(os.Args) > 3 { // as npx, it leaves a child that nobody waits for
		child := exec.Command(os.Args[0], "act-as", "linger", os.Args[3])
		if err := child.Start(); err != nil {
			panic(err)
		}
	}
	_ = s.Run(context.Background(), &sdk.StdioTransport{})
}

// actAsPages lists one page after the other, with no end, and answers nothing else well.
func actAsPages() {
	pages := 0
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var r struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal(in.Bytes(), &r)
		answer := `"error":{"code":-32601,"message":"no"}`
		switch r.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}`
		case "tools/list":
			pages++
			answer = fmt.Sprintf(`"result":{"tools":[null,{"name":"bad name","inputSchema":{"type":"object"}}],"nextCursor":"%d"}`, pages)
		}
		if r.ID != nil {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", r.ID, answer)
		}
	}
}

// actAsOlder is a server on an older library: what it does not know it passes over, or it ends on it. It prints prose
// between its messages, and its list never ends.
func actAsOlder(unknown string) {
	fmt.Print("Older server 1.0\n{not json\n" + `{"level":30,"msg":"ready"}` + "\n[1,2]\n")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var r struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal(in.Bytes(), &r)
		answers := map[string]string{
			"initialize": `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"o","version":"1"}}`,
			"tools/list": `"result":{"tools":[{"name":"count/all","inputSchema":{"type":"object"}},` +
				`{"name":"bad name","inputSchema":{}}],"nextCursor":"again"}`,
			"tools/call": `"result":{"content":[{"type":"text","text":"2 items"}],"structuredContent":{"result":[9007199254740993,1.0]}}`,
		}
		answer, known := answers[r.Method]
		if !known && r.ID != nil && unknown == "ends" {
			os.Exit(0)
		}
		if known {
			fmt.Printf("I was asked %s\n"+`{"jsonrpc":"2.0","id":%s,%s}`+"\n", r.Method, r.ID, answer)
		}
	}
}

// actAsDeaf says what it can do, and reads nothing from then on.
func actAsDeaf() {
	in := bufio.NewScanner(os.Stdin)
	for _, result := range []string{
		`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"d","version":"1"}}`,
		`{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`,
	} {
		for in.Scan() {
			var r struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			_ = json.Unmarshal(in.Bytes(), &r)
			if r.Method == "server/discover" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", r.ID)
			} else if r.ID != nil {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", r.ID, result)
				break
			}
		}
	}
	select {}
}

// actAs is a server that is this binary.
func actAs(args ...string) Server {
	exe, _ := os.Executable()
	return Server{Command: append([]string{exe, "act-as"}, args...), Read: []string{exe}}
}

// servers makes servers, which are closed when the test ends.
func servers(t *testing.T, dir string, all map[string]Server) *Servers {
	t.Helper()
	s := New(Config{Servers: all, Home: dir})
	t.Cleanup(s.Close)
	return s
}

// use calls a tool, and returns its text with how it failed.
func use(s *Servers, name, args string) string {
	a, err := s.Use(context.Background(), name, json.RawMessage(args), catalogue.Call{})
	if err != nil {
		return "error: " + err.Error()
	}
	if a.Err {
		return "failed: " + string(a.Text)
	}
	return string(a.Text)
}

// confined skips a test where nothing confines.
func confined(t *testing.T) {
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
}

// running counts the processes that have a word among their arguments.
func running(word string) (n int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		if line, _ := os.ReadFile(path); strings.Contains(string(line), word) {
			n++
		}
	}
	return n
}

// actAsHost runs five servers, each with a child, until it is killed: HOME WORD.
func actAsHost(args []string) {
	all := map[string]Server{}
	for i := range 5 {
		all[fmt.Sprint("s", i)] = actAs("good", args[1])
	}
	fmt.Println(len(New(Config{Servers: all, Home: args[0]}).Ask(context.Background())))
	time.Sleep(time.Hour)
}
