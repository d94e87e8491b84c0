//go:build unix

package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// clockOf is by how many seconds the clock of a program that skewed has built is ahead.
const clockOf = "LETHE_TEST_CLOCK"

// skewed builds the program with a package time whose clock can be ahead. What time passes it tells as it does.
func skewed(t testing.TB) string {
	t.Helper()
	dir := lethetest.Dir(t)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	lethetest.Must(t, err)
	path := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	const now = "sec, nsec, mono := runtimeNow()\n"
	text := lethetest.Read(t, path)
	if !strings.Contains(text, now) {
		t.Fatalf("%s does not read the clock as it did", path)
	}
	text = strings.Replace(text, now, now+"\tsec += ahead()\n", 1) + `
var ahead = sync.OnceValue(func() (sec int64) {
	text, _ := syscall.Getenv("` + clockOf + `")
	for _, digit := range text {
		sec = sec*10 + int64(digit-'0')
	}
	return sec
})
`
	text = strings.Replace(text, "import (\n", "import (\n\t\"sync\"\n\t\"syscall\"\n", 1)
	lethetest.Write(t, filepath.Join(dir, "time.go"), text)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: filepath.Join(dir, "time.go")}})
	lethetest.Must(t, err)
	lethetest.Write(t, filepath.Join(dir, "overlay.json"), string(overlay))
	program := filepath.Join(dir, "lethe")
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, ".")
	build.Stderr = os.Stderr
	lethetest.Must(t, build.Run())
	return program
}
