package compactor

import (
	"cmp"
	"slices"
	"time"
)

// The policy decides about compactions: when one begins and how far it goes. Package
// agent runs by it, and package replay measures it.

// Window divides the limit of a request, in tokens.
type Window struct {
	Limit  int // the largest request, its answer included
	Fixed  int // system message and tools, which no compaction makes smaller
	Answer int // kept free for the answer
}

// Free returns the tokens that the limit leaves for the past and the live entries.
func (w Window) Free() int { return max(0, w.Limit-w.Fixed-w.Answer) }

// Batch bounds the results of one unit, or one batch of room lines, in tokens.
func (w Window) Batch() int { return min(w.Limit/8, w.Free()/4) }

// Page bounds one page of an opened original, in tokens.
func (w Window) Page() int { return min(8000, w.Batch()) }

// MEMORY and the lines of LIFE have these parts of the free tokens in a prompt.
const (
	MemoryShare = 5  // one in so many
	LifeShare   = 10 // one in so many
)

// Recent returns the newest lines that together weigh at most most.
func Recent(lines []string, most int, weigh func(string) int) []string {
	weight := 0
	for i, line := range slices.Backward(lines) {
		if weight += weigh(line) + 1; weight > most {
			return lines[i+1:]
		}
	}
	return lines
}

// Bounds of the entries that come in at once.
const (
	MaxResult  = 8000     // characters shown of one result
	EntryBytes = 16 << 10 // room lines in an entry of ordinary size
	MaxEntry   = 4 << 20  // bytes of the largest entry
	MaxEntries = 8        // entries that are read before the next request
)

// An answer with its reasoning is part of the limit, so it is small beside it.
const (
	maxAnswerTokens = 16 << 10
	answerShare     = 6 // one part of the limit in so many
)

// AnswerTokens bounds an answer: by asked, or the default if that is 0, and by a
// share of the limit.
func AnswerTokens(asked, limit int) int {
	asked = cmp.Or(asked, maxAnswerTokens)
	return min(asked, limit/answerShare)
}

// SmallLimit is the limit below which requests say less of their tools, and leave less for a conversation.
const SmallLimit = 16_000

// MinFree returns the least number of free tokens for a conversation: room for the past,
// for notes, and for a turn or two.
func MinFree(limit int) int {
	if limit < SmallLimit {
		return 3000
	}
	return 8000
}

// LeastLimit returns the smallest limit that works beside so many fixed tokens and free ones,
// and the part of it that is kept free for the answer. An asked of 0 stands for
// the default answer.
func LeastLimit(fixed, free, asked int) (limit, answer int) {
	answer = asked
	if answer == 0 {
		answer = min(maxAnswerTokens, (fixed+free)/(answerShare-1)+1)
	}
	return fixed + answer + free, answer
}

// Lower returns the limit to go by after a request of so many estimated tokens
// was refused as too large. told is the limit that the provider named, or 0.
// A limit that the estimate does not exceed shows that the estimate is low.
func (w Window) Lower(tokens, told int) int {
	believed := min(tokens, w.Limit)
	limit := believed * 9 / 10
	switch {
	case told <= 0:
		limit = believed * 3 / 4
	case told < believed:
		limit = told
	}
	return max(limit, w.Fixed+MinFree(limit))
}

// near is the size at which a compaction begins, and the aim of MakeRoom. Some ten requests
// fill the rest, so the summaries are in before the limit is reached.
func (w Window) near() int { return w.Limit - w.Limit*3/20 }

// Due reports whether a compaction should begin: the request is near the limit
// and has grown since the last one, which has left after tokens.
func (w Window) Due(tokens, after int) bool {
	return tokens > w.near() && w.Grown(tokens, after)
}

// Grown reports whether enough has come in since the last compaction for another
// one to be worth it.
func (w Window) Grown(tokens, after int) bool { return tokens > after+w.Limit/50 }

// Settings returns the default settings. If the limit is small or the fixed part is
// large, the past has less than its budgets: a third of the free tokens.
func (w Window) Settings() Settings {
	settings := Default(w.Limit)
	all := (summariesShare + gistsShare + cardsShare + pinsShare) * float64(w.Limit)
	settings.Past = min(1, float64(w.Free())/3/all)
	return settings
}

// MakeRoom brings a request under the limit, and reports whether it could. tokens
// measures the next request; compact compacts at once, without a model, of a share of
// the live entries. It is called as often as that brings something.
func (w Window) MakeRoom(
	set Settings, tokens func() int, compact func(set Settings, share float64) error,
) (bool, error) {
	for _, stage := range []struct {
		target float64 // share of the eligible part that stays
		past   float64 // share of its budgets that the past keeps
		goal   int     // tokens that are few enough
		share  float64 // part of the live entries that is eligible; see Input
	}{ // from the gentlest; the unit that the agent is at, and what it has not read, come last
		{set.Target, 1, w.near(), Older},
		{0, 1, w.near(), Older},
		{0, 0.5, w.Limit, Older},
		{0, 0.25, w.Limit, Older},
		{0, 0.25, w.Limit, 1},
		{0, 0, w.Limit, 1},
	} {
		harder := set
		harder.Target, harder.Past = stage.target, set.Past*stage.past
		for now := tokens(); now > stage.goal; {
			before := now
			if err := compact(harder, stage.share); err != nil {
				return false, err
			}
			if now = tokens(); now >= before {
				break
			}
		}
		if tokens() <= w.Limit {
			return true, nil
		}
	}
	return false, nil
}

// A summariser that fails is left alone, each time for twice as long.
const (
	firstPause   = 15 * time.Minute
	longestPause = 8 * time.Hour
)

// Backoff keeps account of jobs that failed in a row.
type Backoff struct {
	failedJobs int
	until      time.Time // the summariser is not asked before this
}

// Waits reports whether the summariser is to be left alone now.
func (b *Backoff) Waits(now time.Time) bool { return now.Before(b.until) }

// Succeeded forgets the failures.
func (b *Backoff) Succeeded() { *b = Backoff{} }

// Failed notes that a job brought nothing, and returns the pause before the summariser is asked again. first is true
// once in a row of failures.
func (b *Backoff) Failed(now time.Time) (pause time.Duration, first bool) {
	first = b.until.IsZero()
	b.failedJobs++
	pause = min(longestPause, firstPause<<min(b.failedJobs-1, 10))
	b.until = now.Add(pause)
	return pause, first
}

// Outpaced notes that the limit was reached before a job ended. That is the
// speed of the turns the first time; failed says that it has come twice in a row,
// so that the summariser is too slow or hangs.
func (b *Backoff) Outpaced() (failed bool) {
	if b.failedJobs > 0 {
		return true
	}
	b.failedJobs++
	return false
}
