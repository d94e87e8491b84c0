package eval

import (
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"lethe/blobs"
	"lethe/bridge/report/history"
	"lethe/life"
	"lethe/life/event"
)

// Again counts, by epochs, what a life looked up or read once more after it had forgotten it.
type Again []EpochAgain

// EpochAgain is about the calls of one epoch.
type EpochAgain struct {
	Epoch int    `json:"epoch"`
	Why   string `json:"why"`
	Calls int    `json:"calls"`
	history.Again
}

// ReadAgain reads the life in a directory of an identity. It changes nothing.
func ReadAgain(store *blobs.Store, dir string) (Again, error) {
	epochs := Again{{Why: "boot"}}
	reader := history.Rereader{Store: store, Made: map[string]int{}}
	err := life.Scan(filepath.Join(dir, "LIFE.md"), func(line life.Event, _ int64) error {
		parsed, err := event.Parse(line)
		now := &epochs[len(epochs)-1]
		switch e := parsed.(type) {
		case event.Epoch:
			if e.K > now.Epoch {
				epochs = append(epochs, EpochAgain{Epoch: e.K, Why: e.Why})
			}
		case event.Result:
			now.Calls++
		}
		reader.Read(line, parsed, &epochs[len(epochs)-1].Again)
		return err
	})
	return epochs, err
}

// String renders the epochs as a table.
func (a Again) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "epoch\tbegan by\tcalls\topened\tsearched\trepeated\ttokens\tUSD\t")
	for _, e := range a {
		fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%d\t%d\t%d\t%.4f\t\n",
			e.Epoch, e.Why, e.Calls, e.Opened, e.Searched, e.Repeated, e.Tokens, e.USD)
	}
	w.Flush()
	return b.String()
}
