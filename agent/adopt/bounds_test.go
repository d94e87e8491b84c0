package adopt_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"lethe/agent/adopt"
)

// peak is a sink that measures the heap now and then.
type peak struct {
	entries int
	bytes   int
	most    uint64
	before  uint64
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

func (p *peak) Session(adopt.Session) error { return nil }

func (p *peak) Read(adopt.Piece) error { return nil }

func (p *peak) Entry(e adopt.Entry) error {
	p.bytes += len(e.Text)
	if p.entries++; p.entries%500 == 0 || len(e.Media) > 0 {
		p.most = max(p.most, heap())
	}
	return nil
}

// A store of 200 MB, with lines of 30 MB, is read in less memory than it has, and in time.
func TestBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 200 MB")
	}
	dir := t.TempDir()
	folder := filepath.Join(dir, "projects", "-srv")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("The watcher misses renames when a folder is moved. ", 20)
	coded := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1, 2, 3}, 7<<20))
	rows, size := 0, int64(0)
	for n := range 40 {
		var file bytes.Buffer
		for range 2000 {
			rows++
			fmt.Fprintln(&file, claudeRow("user", fmt.Sprint("u", rows), "", fmt.Sprintf("%q", text)))
			fmt.Fprintln(&file, claudeRow("assistant", fmt.Sprint("a", rows), fmt.Sprint("m", rows), fmt.Sprintf("%q", text)))
		}
		if n%20 == 0 {
			fmt.Fprintln(&file, claudeRow("user", fmt.Sprint("p", n), "",
				`[{"type":"image","source":{"media_type":"image/png","data":"`+coded+`"}}]`))
		}
		size += int64(file.Len())
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("s%d.jsonl", n)), file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	coded = ""
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // what is held counts, and not how long garbage waits beside other work
	runtime.GC()
	sink := &peak{before: heap()}
	begun := time.Now()
	report, err := adopt.Read(context.Background(), adopt.Find("claude-code"), os.DirFS(dir), sink, adopt.Options{})
	if err != nil || report.Entries != 2*rows+2 || report.Pictures != 2 || report.Bytes != size {
		t.Fatalf("%v %+v", err, report)
	}
	took := time.Since(begun)
	above := int64(sink.most) - int64(sink.before)
	t.Logf("%d MB, %d MB/s, %d MB of memory at most", size>>20, int64(float64(size>>20)/took.Seconds()), above>>20)
	if above > 200<<20 {
		t.Errorf("%d MB of memory", above>>20)
	}
}

// fuzz reads one file of an agent with any text, twice: no text may panic, and what is read is the same again.
func fuzz(f *testing.F, agent, name string, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		store := storeOf(map[string]string{name: string(text)})
		rows := func(context.Context, string, string) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(text)), nil
		}
		first, report := read(t, agent, store, adopt.Options{Rows: rows})
		again, _ := read(t, agent, store, adopt.Options{Rows: rows})
		if strings.Join(first.lines, "\n") != strings.Join(again.lines, "\n") || report.Entries != len(first.entries) {
			t.Fatal("read otherwise a second time")
		}
	})
}

// lines returns some lines of a fixture, to begin with.
func lines(f *testing.F, pattern string) (all []string) {
	f.Helper()
	names, err := filepath.Glob("testdata/" + pattern)
	if err != nil || len(names) == 0 {
		f.Fatal(pattern, err)
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if len(line) < 3000 {
			all = append(all, line)
		}
	}
	return all
}

func FuzzClaudeCode(f *testing.F) {
	fuzz(f, "claude-code", claudeName, lines(f, "claude-code/projects/*/38*.jsonl")...)
}

func FuzzCodex(f *testing.F) {
	all := lines(f, "codex/sessions/*/*/*/*.jsonl")
	fuzz(f, "codex", rollout(1, "1"), append(all, strings.Join(all, ""))...)
}

func FuzzPi(f *testing.F) {
	all := lines(f, "pi/sessions/*/*.jsonl")
	fuzz(f, "pi", "sessions/a/b.jsonl", strings.Join(all, ""))
}

func FuzzOpenClaw(f *testing.F) {
	fuzz(f, "openclaw", "agents/main/agent/openclaw-agent.sqlite",
		`{"session_id":"s1","event_json":"{\"type\":\"session\",\"version\":4,\"id\":\"s1\"}"}`, `{"event_zstd":"KLUv/QQAAQ=="}`)
}

func FuzzChatGPT(f *testing.F) {
	fuzz(f, "chatgpt", "conversations.json", `[{"id":"a","current_node":"n","mapping":{"n":{"parent":"n","message":{"author":`+
		`{"role":"user"},"content":{"content_type":"text","parts":["x",{"asset_pointer":"file-service://file-a"}]}}}}}]`)
}

func FuzzClaudeAI(f *testing.F) {
	fuzz(f, "claude-ai", "conversations.json", `[{"uuid":"a","chat_messages":[{"sender":"human","text":"x","content":`+
		`[{"type":"text","text":"y"}],"attachments":[{"extracted_content":"z"}]}]}]`)
}

func FuzzHermes(f *testing.F) {
	fuzz(f, "hermes", "h.jsonl", `{"id":"a","messages":[{"id":1,"role":"tool","content":{"output":"x"},"tool_calls":"[]"}]}`)
}

func FuzzQwenCode(f *testing.F) {
	fuzz(f, "qwen-code", "projects/a/chats/b.jsonl", lines(f, "qwen-code/projects/*/chats/*.jsonl")...)
}

func FuzzGeminiCLI(f *testing.F) {
	all := lines(f, "gemini-cli/tmp/*/chats/*33-*.jsonl")
	fuzz(f, "gemini-cli", "tmp/a/chats/b.jsonl", append(all, strings.Join(all, ""))...)
}

// A text that is JSON within JSON may be as deep as it likes: it is not understood, and nothing ends the program.
func TestDeepText(t *testing.T) {
	calls := fmt.Sprintf("%q", strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000))
	store := storeOf(map[string]string{
		"h.jsonl": `{"id":"a","messages":[{"id":1,"role":"assistant","content":"x","tool_calls":` + calls + `}]}`,
	})
	got, report := read(t, "hermes", store, adopt.Options{})
	wantUnknown(t, report, "block of another shape ×1 at h.jsonl:1")
	if len(got.entries) != 1 {
		t.Errorf("%q", got.lines)
	}
}

// A text that is half of a JSON string within JSON is not understood, and the sessions behind it are read.
func TestTornText(t *testing.T) {
	got, report := read(t, "hermes", storeOf(map[string]string{
		"h.jsonl": `{"id":"a","messages":[{"id":1,"role":"assistant","content":"x","tool_calls":"\"\\\""}]}` + "\n" +
			`{"id":"b","messages":[{"id":2,"role":"user","content":"y"}]}`,
	}), adopt.Options{})
	got.want(t, "a assistant said: x\nb person said: y")
	wantUnknown(t, report)
}

// A line that is nested too deep is a torn one: the faster reader of JSON, which bounds no depth, never sees it.
func TestDeepLine(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	text := claudeRow("user", "u1", "", deep) + "\n" + claudeRow("user", "u2", "", `"hello"`) + "\n"
	got, report := read(t, "claude-code", storeOf(map[string]string{claudeName: text}), adopt.Options{})
	wantUnknown(t, report, "torn line ×1 at "+claudeName+":1")
	if len(got.entries) != 1 {
		t.Errorf("%q", got.lines)
	}
}

// A million keys take less than half of what a map of them does, and each is new once.
func TestKeys(t *testing.T) {
	const n = 1_000_000
	before, keys := heapOf(t), new(adopt.Keys)
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		if keys.Add(random.Uint64()) {
			t.Fatal("a key was there before it came")
		}
	}
	took := heapOf(t) - before
	if random = rand.New(rand.NewPCG(1, 2)); took > 12*n {
		t.Errorf("%d bytes a key", took/n)
	}
	for range n {
		if key := random.Uint64(); !keys.Add(key) || !keys.Has(key) || keys.Has(key+1) {
			t.Fatal(key)
		}
	}
}

func heapOf(t *testing.T) int64 {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
