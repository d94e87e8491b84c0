package replay

import (
	"slices"
	"strings"
	"testing"
)

const conversation = `{
 "speaker_a": "Ada", "speaker_b": "Ben", "sample_id": "conv-1", "qa": [{"question": "?"}],
 "session_2_date_time": "8 May, 2023", "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "back again"}],
 "session_1_date_time": "7 May, 2023",
 "session_1": [{"speaker": "Ada", "dia_id": "D1:1", "text": "hello"}, {"speaker": "Ben", "dia_id": "D1:2", "img_url": ["x"], "text": ""}],
 "session_10": [{"speaker": "Ada", "text": "and the tenth"}],
 "session_1_summary": "not a session"
}`

func TestLoCoMo(t *testing.T) {
	got, err := LoCoMo(strings.NewReader(conversation))
	want := Items{
		{User, "(7 May, 2023)"}, {User, "Ada: hello"}, {Asst, "Noted."},
		{User, "(8 May, 2023)"}, {User, "Ben: back again"}, {Asst, "Noted."},
		{User, "Ada: and the tenth"}, {Asst, "Noted."},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %q", err, got)
	}
}

func TestLoCoMoErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                  "read conversation: EOF",
		"[]":                "read conversation: json: ",
		`{"qa":[]}`:         "read conversation: no session_1 in it",
		`{"session_3":"x"}`: "read conversation: session_3: json: ",
		`{"session_1":[],"session_1_date_time":7}`: "read conversation: session_1: date_time: json: ",
	} {
		if _, err := LoCoMo(strings.NewReader(in)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
}
