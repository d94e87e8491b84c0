package telegram

import (
	"errors"
	"strings"
	"testing"
)

// What a proxy says in Telegram's place is no refusal, and may hold the token.
func TestDecode(t *testing.T) {
	t.Parallel()
	a := newAPI("https://x", aToken)
	var out bool
	for _, c := range []struct {
		status int
		body   string
		code   int // of a refusal; 0: another error; -1: none
	}{
		{200, `{"ok":true,"result":true}`, -1},
		{401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`, 401},
		{401, `{"error":"login to the proxy"}`, 0},
		{401, "<html>" + aToken, 0},
		{200, "<html>" + aToken, 0},
		{200, `{"ok":true,"result":`, 0},
		{200, `{"ok":true}`, 0},
		{200, `null`, 0},
		// Cut in the middle of the token.
		{502, `{"ok":false,"error_code":502,"description":"` + strings.Repeat("x", 165) + ` /bot` + aToken + `/getMe"}`, 502},
		{502, `{"ok":false,"error_code":502,"description":"Bad Gateway for ` + aToken + `"}`, 502},
	} {
		err := a.decode(c.status, []byte(c.body), &out)
		var refusal *apiError
		switch {
		case (err == nil) != (c.code == -1), c.code > 0 && (!errors.As(err, &refusal) || refusal.Code != c.code), c.code == 0 && errors.As(err, &refusal):
			t.Errorf("%d %s: %v", c.status, c.body, err)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("the token is in %v", err)
		}
	}
}
