package summariser

import (
	"encoding/json"
	"path/filepath"
	"sync"

	"lethe/compactor"
	"lethe/internal/durable"
	"lethe/mind"
)

// AnswersFile has the summaries that no compaction has used yet, so that none is asked for twice. It can be deleted at
// any time.
const AnswersFile = "summaries.json"

// maxAnswers bounds that file, in bytes.
const maxAnswers = 4 << 20

// Answers are the summaries of an identity's live entries.
type Answers struct {
	mu   sync.Mutex
	path string
	list []compactor.Earlier
}

// Of returns the summaries of live entries of the identity with this directory.
func (a *Answers) Of(dir string, live []*mind.Entry) (list []compactor.Earlier) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.path == "" {
		a.path = filepath.Join(dir, AnswersFile)
		if text, _, err := durable.ReadRegular(a.path, maxAnswers); err == nil && json.Unmarshal(text, &a.list) != nil {
			a.list = nil // a damaged one is asked for anew
		}
	}
	isLive := map[int]bool{}
	for _, e := range live {
		isLive[e.N] = true
	}
	for _, answer := range a.list {
		if isLive[answer.From] {
			list = append(list, answer)
		}
	}
	a.list = list
	return list[:len(list):len(list)]
}

// Add keeps a summary. On a disk that is full it stands until the process ends.
func (a *Answers) Add(answer compactor.Earlier) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, answer)
	if text, err := json.Marshal(a.list); err == nil {
		_ = durable.Replace(a.path, text, 0o600)
	}
}
