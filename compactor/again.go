package compactor

import (
	"slices"

	"lethe/blobs"
)

// Earlier is a summary that a model was asked for. It stands for a later plan, also of another process, while its entries
// are live, and as they were.
type Earlier struct {
	From   int    `json:"from"`
	To     int    `json:"to"`
	Of     string `json:"of"` // hash of the entries, and of what was asked
	Topics int    `json:"topics,omitempty"`
	Text   string `json:"text"` // as the model wrote it
}

// about hashes units and what a model is asked about them.
func (j Job) about(units []unit) string {
	return blobs.Sum([]byte(text(units) + "\n" + j.in.Summarise + "\n" + j.in.Wish)).String()
}

// reuse returns the chunks among units that have an answer already, and the other units.
func (j Job) reuse(units []unit) (chunks []Fade, others []unit) {
	others = slices.Clone(units)
	for _, answer := range j.in.Earlier {
		from := slices.IndexFunc(others, func(u unit) bool { return u.N == answer.From })
		to := slices.IndexFunc(others, func(u unit) bool { return u.N == answer.To })
		if from < 0 || to < from || j.about(others[from:to+1]) != answer.Of {
			continue
		}
		of := slices.Clone(others[from : to+1])
		of[0].begins.topics = answer.Topics
		if fade, err := j.accept(of, answer.Text); err == nil {
			chunks, others = append(chunks, fade), append(others[:from], others[to+1:]...)
		}
	}
	return chunks, others
}
