package hosts

import (
	"errors"
	"os"
	"testing"
	"time"

	"lethe/agent/budget"
	"lethe/agent/llm"
	"lethe/internal/test/lethetest"
)

// wallet opens the wallet of an identity of the host, whose config.toml has limits.
func (h *host) wallet(name string, limits budget.Limits) *budget.Wallet {
	h.Helper()
	id, err := h.home.Find(name)
	lethetest.Must(h, err)
	wallet, err := budget.Open(h.home, h.store, id, limits, budget.Spending{})
	lethetest.Must(h, err)
	return wallet
}

// asks has a call begin that may cost up to 60 cents, and reports whether a limit keeps it from that.
func asks(t *testing.T, wallet *budget.Wallet) (isShort bool) {
	t.Helper()
	lethetest.Must(t, wallet.Refresh())
	if !wallet.Limited() {
		return false
	}
	rates := budget.Rates{
		Known: llm.Known{"m": {Price: llm.Price{Miss: 1, Output: 600}}}, Strict: true,
		Began: time.Now(), Zone: time.UTC,
	}
	request := llm.Request{Model: "m", MaxTokens: 1000}
	err := wallet.Pay(rates).Attempts(&request).Begin(llm.Waste{})
	if err != nil && !errors.As(err, new(*budget.Short)) {
		t.Error(err)
	}
	return err != nil
}

// A limit is of the home, whatever each host's config.toml says. What somebody changes there is the new limit.
func TestLimitsAreOfTheHome(t *testing.T) {
	t.Parallel()
	a := first(t)
	b, c := a.beside("b"), a.beside("c")
	a.boot("ada")
	b.boot("bob")
	c.boot("eve")
	limits := func(dollars float64) budget.Limits { return budget.Limits{HomeDay: budget.Of(dollars)} }
	before := b.wallet("bob", budget.Limits{}) // it runs before there is a limit
	if asks(t, a.wallet("ada", limits(1))) {
		t.Error("the limit leaves too little")
	}
	if !asks(t, before) {
		t.Error("a host that had no limit passes the home's")
	}
	if !asks(t, b.wallet("bob", budget.Limits{})) {
		t.Error("a host without a limit passes the home's")
	}
	if !asks(t, c.wallet("eve", limits(5))) {
		t.Error("a host with a larger limit passes the home's")
	}
	lethetest.Write(t, c.home.Dir+"/share/limits", "{") // torn
	if !asks(t, c.wallet("eve", limits(7))) {
		t.Error("a host whose file of limits is damaged passes the home's")
	}
	lethetest.Must(t, os.Remove(b.home.Dir+"/ledger")) // it is read again, with all accounts
	if !asks(t, b.wallet("bob", budget.Limits{})) {
		t.Error("a host whose ledger was deleted passes the home's limit")
	}
	if asks(t, c.wallet("eve", limits(9))) {
		t.Error("a limit that was changed does not count")
	}
	lethetest.Equal(t, "limit at a", a.wallet("ada", limits(1)).Limits(), limits(9))
	lethetest.Equal(t, "limit at c", c.wallet("eve", budget.Limits{}).Limited(), false)
	lethetest.Equal(t, "limit at b", b.wallet("bob", budget.Limits{}).Limited(), false)
}
