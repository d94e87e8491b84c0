package llm

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"sync"
	"time"
)

// Info describes a model. Fields that nobody has told are zero.
type Info struct {
	Window int  `toml:"window" json:"window,omitzero"` // tokens of a request and its answer
	Output int  `toml:"answer" json:"answer,omitzero"` // of the largest answer
	Sees   bool `toml:"sees" json:"sees"`              // pictures
	Price
	From string `toml:"from" json:"from,omitzero"` // the day on which it was looked up, and where
}

// Price is the price of a model, in USD per million tokens.
type Price struct {
	Hit    float64 `toml:"hit" json:"hit,omitzero"`     // input from the provider's cache; left out: as Miss
	Miss   float64 `toml:"miss" json:"miss,omitzero"`   // other input; 0 where nobody knows the price
	Write  float64 `toml:"write" json:"write,omitzero"` // input that its cache takes in; left out: as Miss
	Output float64 `toml:"output" json:"output,omitzero"`
	Peak   bool    `toml:"peak" json:"peak,omitzero"` // double in DeepSeek's peak hours
}

// Known describes models beside the table, by preset:model. From of the Info of "" is the preset of bare names.
type Known map[string]Info

// modelsTable has what is known of models, each with the day and the source. Prices are the dearer of two sources. What
// is left out nobody has told. Where the price rises with the length of a request, the window ends there. OpenRouter's
// price depends on the host that it chooses.
//
//go:embed models.json
var modelsTable []byte

var table = sync.OnceValue(func() (k Known) {
	if err := json.Unmarshal(modelsTable, &k); err != nil {
		panic(err) // it is part of the program
	}
	return k
})

// Know returns what the table says, where preset is the configured one.
func Know(preset string) Known {
	k := maps.Clone(table())
	k[""] = Info{From: preset}
	return k
}

// Learn adds what an endpoint of a preset tells of its models.
func (k Known) Learn(preset string, told Known) {
	for model, t := range told {
		key := preset + ":" + model // also mistral:7b, whose first word is a preset elsewhere
		info := k[key]
		info.Window, info.From = cmp.Or(info.Window, t.Window), cmp.Or(info.From, t.From)
		k[key] = info
	}
}

// dated matches the day that providers append to a model's name.
var dated = regexp.MustCompile(`-20\d\d-?[01]\d-?[0-3]\d$`)

// Of returns the Info of a model. If it knows nothing of a name with a date, it takes the name without the date. A bare
// name is of the configured preset, or DeepSeek's.
func (k Known) Of(name string) (info Info, known bool) {
	n := ParseName(name)
	n.Effort = ""
	full := n.String()
	for range 2 { // with its date, and without
		for _, key := range []string{Explicit(full, k[""].From), full, Explicit(full, presets[0].Name)} {
			if info, known = k[key]; !known {
				info, known = table()[key]
			}
			if known {
				info.Hit, info.Write = cmp.Or(info.Hit, info.Miss), cmp.Or(info.Write, info.Miss)
				return info, true
			}
		}
		full = dated.ReplaceAllString(full, "")
	}
	return Info{}, false
}

// Cost returns what a call at that time cost in USD. It is not known where the price is not.
func (k Known) Cost(model string, u Usage, at time.Time) (usd float64, known bool) {
	info, _ := k.Of(model)
	usd = info.of(u)
	if info.Peak && peak(at) {
		usd *= 2
	}
	return usd, info.Miss > 0
}

// Worst returns the most that a call may cost in USD that begins then, is counted as so
// many tokens at most, and ends within callCap.
func (k Known) Worst(model string, input, output int, at time.Time) (usd float64, known bool) {
	info, _ := k.Of(model)
	info.Miss = max(info.Hit, info.Miss, info.Write)
	usd = info.of(Usage{Input: input, Output: output})
	for h := time.Duration(0); h <= callCap; h += time.Hour {
		if info.Peak && peak(at.Add(h)) {
			usd *= 2
			break
		}
	}
	return usd, info.Miss > 0
}

func (p Price) of(u Usage) (usd float64) {
	input := max(u.Input, 0)
	cached := min(max(u.Cached, 0), input)
	written := min(max(u.Written, 0), input-cached)
	return (float64(cached)*p.Hit + float64(written)*p.Write + float64(input-cached-written)*p.Miss +
		float64(max(u.Output, 0))*p.Output) / 1e6
}

// Dollars renders the cost of calls of a model, or a question mark for a model without a
// price. The offline model is for nothing.
func Dollars(model string, usd float64) string {
	info, _ := table().Of(model)
	hasPrice := info.Miss > 0 || model == "rehearsal"
	if !hasPrice && usd == 0 {
		return "?"
	}
	return fmt.Sprintf("%.4f", usd)
}

// peak says whether it is Monday to Friday, 01–04 or 06–10 UTC, the end of each
// excluded.
func peak(at time.Time) bool {
	at = at.UTC()
	if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
		return false
	}
	hour := at.Hour()
	early := hour >= 1 && hour < 4
	late := hour >= 6 && hour < 10
	return early || late
}
