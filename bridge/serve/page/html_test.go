package page

import (
	"errors"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"lethe/agent/events"
	"lethe/agent/home"
)

const asHTML = `"><hostile x="&'+`

// fill gives every exported string of a value a text that looks like HTML, and every slice two elements. It leaves out what is no
// text of a page.
func fill(v reflect.Value, depth int) {
	isData := v.CanSet() && depth < 8
	if !isData {
		return
	}
	switch v.Interface().(type) {
	case time.Time, home.Identity:
		return
	case error:
		v.Set(reflect.ValueOf(errors.New(asHTML)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(asHTML)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	}
}

// No view shows a text of somebody as HTML, and each gives its markup what its verbs stand for.
func TestHostileText(t *testing.T) {
	b := open(t, t.TempDir())
	b.PushKey = asHTML
	all := map[string]content{
		"now": &nowData{}, "life": &lifeData{}, "forgetting": &forgettingData{}, "mind": &mindData{}, "cost": &costData{},
		"recall": &recallData{}, "triggers": &triggersData{}, "work": &workData{}, "manage": &manageData{}, "original": &originalData{},
		"agents": &agentsData{}, "devices": &devicesData{}, "conflict": &conflict{}, "failure": &failure{},
		"rerun": &rerunData{},
	}
	for _, v := range views {
		if all[v.Name] == nil {
			t.Errorf("nothing is tried for %s", v.Name)
		}
	}
	for name, data := range all {
		fill(reflect.ValueOf(data).Elem(), 0)
		r := httptest.NewRequest("POST", "/x?said=%22%3E%3Chostile%20x&saved=1&name=%22%3E%3Chostile%20x", nil)
		f := &frame{Backend: b, ID: home.Identity{Name: "ada", Self: "0123456789abcdef01"}, View: &now, Views: views,
			Title: asHTML, Live: asHTML, R: r, Wrong: errors.New(asHTML)}
		for _, kind := range events.Types {
			if d, ok := data.(*lifeData); ok {
				d.Events[0].Type = kind
			}
			w := httptest.NewRecorder()
			f.show(w, 200, data, "")
			page := w.Body.String()
			if strings.Contains(page, "<hostile") || strings.Contains(page, `hostile x="`) {
				t.Errorf("%s shows a text as HTML:\n%s", name, page)
			}
			if strings.Contains(page, "%!") || !strings.Contains(page, "hostile") {
				t.Errorf("%s does not show its texts:\n%s", name, page)
			}
		}
	}
}

// An address keeps what structures it; a part of one keeps nothing that could.
func TestAddresses(t *testing.T) {
	for text, want := range map[string][2]string{
		"https://a.org/x?a=b&c#d": {"https://a.org/x?a=b&c#d", "https%3A%2F%2Fa.org%2Fx%3Fa%3Db%26c%23d"},
		"a b'(%20)%2":             {"a%20b'(%20)%252", "a%20b%27%28%2520%29%252"},
		"é\"<":                    {"%C3%A9%22%3C", "%C3%A9%22%3C"},
	} {
		if got := [2]string{address(text), inURL(text)}; got != want {
			t.Errorf("%s is written as %s", text, got)
		}
	}
}
