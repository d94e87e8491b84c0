package eval

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Conversation is one file of the LoCoMo data set (Maharana et al., ACL 2024).
type Conversation struct {
	Name      string // of its file, without .json
	Lines     []Line // at least one
	Questions []Question
	Skipped   int // questions without evidence that is in the conversation
}

// Line is what one person said.
type Line struct {
	ID      string // D3:7, the seventh line of the third session
	Speaker string
	Agent   bool // the speaker is an assistant
	Text    string
	At      time.Time
}

// Question asks for something that was said.
type Question struct {
	Text     string
	Answer   string
	Category int      // 1 to 5; of 5, the lines do not say the answer
	Evidence []string // ids of lines, each in the conversation
}

// Load reads every *.json of a directory, in the order of their names.
func Load(dir string) ([]Conversation, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read conversations: %w", err)
	}
	var out []Conversation
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".json" {
			continue
		}
		path := filepath.Join(dir, f.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		c, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("read conversation %s: %w", path, err)
		}
		c.Name = strings.TrimSuffix(f.Name(), ".json")
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("read conversations: no *.json in %s", dir)
	}
	return out, nil
}

// Parse reads one conversation: session_1, session_2, … as lists of {speaker,
// dia_id, text}, each with its session_1_date_time, at the top of the file or
// under "conversation", and the questions, "qa".
func Parse(text []byte) (c Conversation, err error) {
	var file map[string]json.RawMessage
	if err := json.Unmarshal(text, &file); err != nil {
		return c, err
	}
	qa := file["qa"]
	if inner, ok := file["conversation"]; ok {
		file = nil
		if err := json.Unmarshal(inner, &file); err != nil {
			return c, fmt.Errorf("conversation: %w", err)
		}
	}
	for _, n := range sessionNumbers(file) {
		lines, err := parseSession(file, fmt.Sprintf("session_%d", n), n)
		if err != nil {
			return c, err
		}
		c.Lines = append(c.Lines, lines...)
	}
	if len(c.Lines) == 0 {
		return c, errors.New("no lines in it: it is not a conversation of LoCoMo")
	}
	return c, c.parseQuestions(qa)
}

func sessionNumbers(file map[string]json.RawMessage) []int {
	var out []int
	for key := range file {
		rest, ok := strings.CutPrefix(key, "session_")
		if n, err := strconv.Atoi(rest); ok && err == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

func parseSession(file map[string]json.RawMessage, key string, n int) (out []Line, err error) {
	var lines []struct {
		Speaker, Text string
		ID            string `json:"dia_id"`
	}
	if err := json.Unmarshal(file[key], &lines); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	var when string
	if err := json.Unmarshal(file[key+"_date_time"], &when); err != nil {
		return nil, fmt.Errorf("%s_date_time: %w", key, err)
	}
	at, err := time.Parse("3:04 pm on 2 January, 2006", when)
	if err != nil {
		return nil, fmt.Errorf("%s_date_time: %w", key, err)
	}
	for i, l := range lines {
		if strings.TrimSpace(l.Text) == "" { // a picture without words
			continue
		}
		l.ID = cmp.Or(l.ID, fmt.Sprintf("D%d:%d", n, i+1))
		// Nothing says when within a session a line was said: half a minute each.
		out = append(out, Line{l.ID, l.Speaker, slices.Contains(assistants, strings.ToLower(l.Speaker)), l.Text, at.Add(time.Duration(i) * 30 * time.Second)})
	}
	return out, nil
}

// assistants are what data sets call an assistant.
var assistants = []string{"assistant", "agent", "bot", "ai"}

// lineID finds ids in what may also be "D8:6; D9:17", "D:11:26" or junk.
var lineID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`D:?0*(\d+):0*(\d+)`) })

func (c *Conversation) parseQuestions(raw json.RawMessage) error {
	var list []struct {
		Question string
		Answer   any
		Evidence any
		Category int
	}
	if len(raw) == 0 {
		return errors.New("no questions in it (qa)")
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("qa: %w", err)
	}
	ids := map[string]bool{}
	for _, l := range c.Lines {
		ids[l.ID] = true
	}
	for _, q := range list {
		found := Question{Text: q.Question, Category: q.Category}
		if q.Answer != nil && q.Category != 5 {
			found.Answer = fmt.Sprint(q.Answer) // some are numbers
		}
		for _, m := range lineID().FindAllStringSubmatch(fmt.Sprint(q.Evidence), -1) {
			if id := "D" + m[1] + ":" + m[2]; ids[id] && !slices.Contains(found.Evidence, id) {
				found.Evidence = append(found.Evidence, id)
			}
		}
		if len(found.Evidence) == 0 || strings.TrimSpace(q.Question) == "" {
			c.Skipped++
			continue
		}
		c.Questions = append(c.Questions, found)
	}
	return nil
}
