//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// actAs makes this test binary another program:
//
//	daemon HOME MODE COMMAND     runs one BASH call and prints its result
//	dial NETWORK ADDRESS         connects to a socket, says what came of it
//	datagrams                    makes a pair of local datagram sockets
//	limited DIR                  writes a file that is larger than it may
//
// and what a system adds in moreActs.
func actAs(what string, args []string) {
	if act, ok := moreActs[what]; ok {
		act(args)
		return
	}
	switch what {
	case "daemon":
		actAsDaemon(args[0], args[1], args[2])
	case "dial":
		conn, err := net.Dial(args[0], args[1])
		if err != nil {
			fmt.Println("dial failed:", err)
			return
		}
		b, _ := io.ReadAll(conn)
		fmt.Printf("dial ok: %s\n", b)
	case "limited":
		actAsLimited(args[0])
	case "datagrams":
		_, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0)
		fmt.Println("datagrams:", err)
		_, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		fmt.Println("streams:", err)
	}
}

var moreActs = map[string]func(args []string){}

func actAsDaemon(home, mode, command string) {
	dir := filepath.Join(home, "agents", "51c0")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		panic(err)
	}
	set, err := New(Config{AgentDir: dir, Home: home, Bash: mode})
	if err != nil {
		panic(err)
	}
	args, _ := json.Marshal(map[string]any{"command": command, "timeout": 100})
	r := set.Run(context.Background(), Call{ID: "e1.1", Name: "BASH", Args: args})
	fmt.Printf("%s\nsecret in getenv: %v\n", r.Body, os.Getenv("LETHE_TEST_SECRET") != "")
}

func actAsLimited(dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	agent := filepath.Join(dir, "home", "agents", "51c0")
	if err := os.MkdirAll(agent, 0o700); err != nil {
		panic(err)
	}
	work := filepath.Join(dir, "work")
	set, err := New(Config{AgentDir: agent, Home: filepath.Join(dir, "home"), Workspace: work, Bash: BashOff})
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(work, "f"), []byte("old"), 0o600); err != nil {
		panic(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1000, Max: 1000}); err != nil {
		panic(err)
	}
	args, _ := json.Marshal(map[string]any{"path": "f", "content": strings.Repeat("x", 5000)})
	r := set.Run(context.Background(), Call{ID: "e1.1", Name: "WRITE_FILE", Args: args})
	b, _ := os.ReadFile(filepath.Join(work, "f"))
	entries, _ := os.ReadDir(work)
	fmt.Printf("%s\nerr %v\ncontent %s\nentries %d\n", r.Body, r.Err, b, len(entries))
}
