package budget

import (
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/life/event"
)

// What attempts have lost stays aside until a line tells of it, beside what the next attempt may cost: so none begins that
// passes a limit together with them.
func TestLostAttemptsStayAside(t *testing.T) {
	dir, err := home.Open(lethetest.Dir(t))
	lethetest.Must(t, err)
	store, err := blobs.Open(dir.Blobs())
	lethetest.Must(t, err)
	id, err := home.Boot(dir, store, home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
	lethetest.Must(t, err)
	request := llm.Request{Model: "paid", MaxTokens: 100_000, Messages: []llm.Message{{Role: "user", Content: llm.Text("hello")}}}
	now := time.Now().UTC()
	noon := time.FixedZone("noon", (12-now.Hour())*3600) // no day ends meanwhile
	rates := Rates{Known: llm.Known{"paid": {Price: llm.Price{Hit: 1, Miss: 1, Output: 1}}}, Strict: true, Began: now, Zone: noon}
	one, known := rates.worst(request)
	lethetest.Equal(t, "its price is known", known && one > 0, true)
	wallet, err := Open(dir, store, id, Limits{HomeDay: 2*one + one/2}, Spending{})
	lethetest.Must(t, err)
	held := func() (usd USD) {
		for _, hold := range wallet.Holds() {
			usd += hold.USD
		}
		return usd
	}
	attempts := wallet.Pay(rates).Attempts(&request)
	for n := range 3 { // each is lost without any answer
		err = attempts.Begin(llm.Waste{Unanswered: n})
		if n < 2 {
			lethetest.Must(t, err)
			lethetest.Equal(t, "aside", held(), USD(n+1)*one)
		}
	}
	if err == nil {
		t.Error("a third attempt begins, for which the limit has no room")
	}
	lost := rates.Wasted(request, rates.Billed(llm.Waste{Unanswered: 2}))
	if end := attempts.End(lost, false); end == nil {
		t.Error("the attempts end as if the third had begun")
	}
	lethetest.Equal(t, "aside behind the end", held(), 2*one)
	told := attempts.Note(lost, 0)
	says := Spending{}
	says.Apply(event.Spent{On: "lost", Tokens: told})
	lethetest.Must(t, wallet.Settle(says))
	lethetest.Equal(t, "aside, when a line tells of it", held(), 0)
}
