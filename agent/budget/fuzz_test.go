package budget

import (
	"encoding/json"
	"testing"

	"lethe/internal/test/lethetest"
	"lethe/life"
)

// The ledger may be of any bytes, and so may what a snapshot from another home carries of it.
func FuzzFiles(f *testing.F) {
	home := f.TempDir()
	const account = `{"self":"ab","name":"ada","parent":"ab","limit":1.5,"date":"2026-11-22",` +
		`"spent":{"day":1,"month":2,"life":3},"holds":[{"n":1,"usd":0.5,"day":"2026-11-22"}]}` + "\n"
	lethetest.FuzzReaders(f, home, lethetest.Reader{
		Name: "ledger", File: "ledger",
		Seeds: []string{
			account, account[:60], account + "\x00\n" + account, `{"self":"a","date":"9999-99-99","others":[{"date":"","as":"x"}]}` + "\n",
			`{"self":"a","parent":"b"}` + "\n" + `{"self":"b","parent":"a"}` + "\n",
			`{"self":"a","date":"x","holds":[{"day":"é","usd":-1e300}]}` + "\n",
		},
		Read: func(testing.TB) error {
			ledger := NewLedger(home)
			if err := ledger.Read(); err != nil {
				return err
			}
			book := NewBook(Limits{}, "2026-11-22", ledger.Accounts)
			for self, account := range ledger.Accounts {
				ledger.family(self)
				account.Says(account.On("2026-11-23"))
				account.held("2026-11-22")
				account.matters("2026-11-23")
			}
			return ledger.Tidy("ab", book)
		},
	}, lethetest.Reader{
		Name: "the spending of a snapshot", File: "carried",
		Seeds: []string{`{"date":"2026-11-22","spent":{"life":1e300},"others":[{"date":"2026-11-22"}],"settled":[1],"warned":[""]}`},
		Read: func(t testing.TB) error {
			s, err := Fold(json.RawMessage(lethetest.Read(t, home+"/carried")), []life.Event{{Kind: "spent"}}, 1)
			if err != nil {
				return err
			}
			s.On("2026-11-23").Sums()
			s.Encode()
			return nil
		},
	})
}
