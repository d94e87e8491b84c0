package replay

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// LoCoMo reads a conversation of the LoCoMo data set (Maharana et al., ACL
// 2024): sessions session_1, session_2, … as lists of {speaker, text}, each with
// a session_1_date_time. It becomes a chat that an agent listens to: each session
// opens with its date, each line names its speaker, and the agent, which is no
// part of the conversation, acknowledges every tenth line with a word, so that
// there are requests.
func LoCoMo(r io.Reader) (Items, error) {
	var file map[string]json.RawMessage
	if err := json.NewDecoder(r).Decode(&file); err != nil {
		return nil, fmt.Errorf("read conversation: %w", err)
	}
	var numbers []int
	for key := range file {
		if n, err := strconv.Atoi(strings.TrimPrefix(key, "session_")); err == nil && strings.HasPrefix(key, "session_") {
			numbers = append(numbers, n)
		}
	}
	if len(numbers) == 0 {
		return nil, fmt.Errorf("read conversation: no session_1 in it")
	}
	slices.Sort(numbers)
	var out Items
	for _, n := range numbers {
		session, err := locomoSession(file, fmt.Sprintf("session_%d", n))
		if err != nil {
			return nil, fmt.Errorf("read conversation: session_%d: %w", n, err)
		}
		out = append(out, session...)
	}
	return out, nil
}

// acknowledge is how many lines of a conversation an answer follows.
const acknowledge = 10

func locomoSession(file map[string]json.RawMessage, key string) (Items, error) {
	var lines []struct{ Speaker, Text string }
	if err := json.Unmarshal(file[key], &lines); err != nil {
		return nil, err
	}
	var when string
	if raw, ok := file[key+"_date_time"]; ok {
		if err := json.Unmarshal(raw, &when); err != nil {
			return nil, fmt.Errorf("date_time: %w", err)
		}
	}
	var out Items
	if when != "" {
		out = append(out, Item{User, "(" + when + ")"})
	}
	for i, l := range lines {
		if strings.TrimSpace(l.Text) == "" { // a picture without words
			continue
		}
		out = append(out, Item{User, l.Speaker + ": " + l.Text})
		if i%acknowledge == acknowledge-1 {
			out = append(out, Item{Asst, "Noted."})
		}
	}
	if n := len(out); n > 0 && out[n-1].Kind == User {
		out = append(out, Item{Asst, "Noted."})
	}
	return out, nil
}
