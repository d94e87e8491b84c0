// Package locomo reads conversations of the LoCoMo data set (Maharana et al., ACL
// 2024), which package eval measures recall with and package replay the cost.
package locomo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Conversation is one file of the LoCoMo data set.
type Conversation struct {
	Name      string // of its file, without .json
	Sessions  []Session
	Questions []Question
	Skipped   int // questions without evidence that is in the conversation
}

// Session is what was said in one sitting.
type Session struct {
	At    time.Time
	Lines []Line
}

// Line is what one person said.
type Line struct {
	ID      string // D3:7, the seventh line of the third session
	Speaker string
	Text    string
	At      time.Time
}

// Question asks for something that was said.
type Question struct {
	Text     string
	Category int      // 1 to 5
	Evidence []string // ids of lines, each in the conversation
}

// Lines are those of all sessions, in order; there is at least one.
func (c Conversation) Lines() []Line {
	var out []Line
	for _, s := range c.Sessions {
		out = append(out, s.Lines...)
	}
	return out
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
		c, err := Open(path)
		if err != nil {
			return nil, fmt.Errorf("read conversation %s: %w", path, err)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("read conversations: no *.json in %s", dir)
	}
	return out, nil
}

// Open reads one file.
func Open(path string) (Conversation, error) {
	file, err := os.Open(path)
	if err != nil {
		return Conversation{}, err
	}
	defer file.Close()
	c, err := Parse(file)
	c.Name = strings.TrimSuffix(filepath.Base(path), ".json")
	return c, err
}

// Parse reads one conversation: session_1, session_2, … as lists of {speaker,
// dia_id, text}, each with its session_1_date_time, at the top of the file or
// under "conversation", and the questions, "qa".
func Parse(r io.Reader) (Conversation, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return Conversation{}, err
	}
	var file map[string]json.RawMessage
	if err := json.Unmarshal(text, &file); err != nil {
		return Conversation{}, where(err)
	}
	qa := file["qa"]
	if inner, ok := file["conversation"]; ok {
		var nested map[string]json.RawMessage
		if err := json.Unmarshal(inner, &nested); err != nil {
			return Conversation{}, fmt.Errorf("conversation: %w", err)
		}
		file = nested
	}
	var c Conversation
	ids := map[string]bool{}
	for _, n := range sessionNumbers(file) {
		s, err := parseSession(file, fmt.Sprintf("session_%d", n), n)
		if err != nil {
			return Conversation{}, err
		}
		for _, l := range s.Lines {
			ids[l.ID] = true
		}
		c.Sessions = append(c.Sessions, s)
	}
	if len(ids) == 0 {
		return Conversation{}, errors.New("no lines in it: it is not a conversation of LoCoMo")
	}
	return c, c.parseQuestions(qa, ids)
}

// where says at which byte JSON ends to be JSON.
func where(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("byte %d: %w", syntax.Offset, err)
	}
	return err
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

// TimeFormat is how the data set writes dates: 1:56 pm on 8 May, 2023.
const TimeFormat = "3:04 pm on 2 January, 2006"

func parseSession(file map[string]json.RawMessage, key string, n int) (Session, error) {
	var lines []struct {
		Speaker, Text string
		ID            string `json:"dia_id"`
	}
	if err := json.Unmarshal(file[key], &lines); err != nil {
		return Session{}, fmt.Errorf("%s: %w", key, err)
	}
	var when string
	if err := json.Unmarshal(file[key+"_date_time"], &when); err != nil {
		return Session{}, fmt.Errorf("%s_date_time: %w", key, err)
	}
	at, err := time.Parse(TimeFormat, when)
	if err != nil {
		return Session{}, fmt.Errorf("%s_date_time: %w", key, err)
	}
	s := Session{At: at}
	for i, l := range lines {
		if strings.TrimSpace(l.Text) == "" { // a picture without words
			continue
		}
		if l.ID == "" {
			l.ID = fmt.Sprintf("D%d:%d", n, i+1)
		}
		// Nothing says when within a session a line was said: half a minute each.
		s.Lines = append(s.Lines, Line{l.ID, l.Speaker, l.Text, at.Add(time.Duration(i) * 30 * time.Second)})
	}
	return s, nil
}

// lineID finds ids in what may also be "D8:6; D9:17", "D:11:26" or junk.
var lineID = regexp.MustCompile(`D:?0*(\d+):0*(\d+)`)

func (c *Conversation) parseQuestions(raw json.RawMessage, ids map[string]bool) error {
	var list []struct {
		Question string
		Evidence any
		Category int
	}
	if len(raw) == 0 {
		return errors.New("no questions in it (qa)")
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("qa: %w", err)
	}
	for _, q := range list {
		found := Question{Text: q.Question, Category: q.Category}
		for _, m := range lineID.FindAllStringSubmatch(fmt.Sprint(q.Evidence), -1) {
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
