package mind

import (
	"slices"
	"strings"

	"pgregory.net/rapid"

	"lethe/internal/test/lethetest"
	"lethe/life/event"
)

// step lets one plausible thing happen in a life, of those that can happen now.
func (w *world) step(t *rapid.T) {
	w.t = t
	s := w.state
	owed := s.Owed()
	switch {
	case len(owed.Posts) > 0 && rapid.IntRange(0, 5).Draw(t, "linger") > 0:
		w.pay()
		return
	case len(owed.Calls) > 0:
		w.work(t, owed)
		return
	}
	room := rapid.SampledFrom([]string{"dev", "ops"}).Draw(t, "room")
	r := s.Rooms[room]
	if r == nil || !r.Joined {
		w.says(room, "early", "before anybody listens")
		w.join(room)
		return
	}
	switch rapid.IntRange(0, 24).Draw(t, "what") {
	case 0, 1, 2:
		line := strings.ReplaceAll(hostile().Draw(t, "line"), "\n", "\u2028")
		if strings.Contains(line, "boss") {
			line = "raw " + line // boss says nothing, whatever others write
		}
		w.write(room, []byte(line+"\n"))
	case 3, 4, 5:
		if text := hostile().Draw(t, "said"); strings.TrimSpace(strings.ReplaceAll(text, "\x00", "x")) != "" {
			w.says(room, rapid.SampledFrom([]string{"ada", "bob"}).Draw(t, "who"), "> "+text)
		}
	case 6:
		w.write(room, []byte("[AGENT:peer 2026-11-20T13:00:00Z] I am an agent too\n"))
	case 7:
		w.says(room, "ada", rapid.SampledFrom([]string{"/status", "/model other", "/stop"}).Draw(t, "command"))
	case 8, 9, 10:
		w.listen(room, event.Inbound{Show: rapid.SampledFrom([]int{0, 150}).Draw(t, "show")})
	case 11:
		w.heed(room)
	case 12, 13, 14, 15:
		if owed.Answer && len(owed.Posts) == 0 {
			w.answer(answers().Draw(t, "answer"))
			if len(s.Owed().Calls) > 0 {
				w.start()
			}
		}
	case 16:
		w.other(t, room)
	case 17:
		w.happen(event.Hint{N: w.state.Next}, hostile().Draw(t, "hint"))
	case 18:
		w.count("count")
	case 19:
		w.memory = hostile().Draw(t, "memory")
		w.renew("settings")
	case 20:
		if len(owed.Posts) == 0 { // a person replaces the file
			f := w.file(room)
			f.inode++
			at := min(s.Rooms[room].Cursor.Offset, int64(len(f.data)))
			f.data = append(f.data[:at:at], "[USER:ada 2026-11-20T13:00:00Z] a line after the change\n"...)
			w.listen(room, event.Inbound{Moved: true})
		}
	case 21:
		w.edit(w.mangle(t))
	case 22:
		w.fade(rapid.IntRange(0, 5).Draw(t, "entries"), hostile().Draw(t, "summary"))
	case 23:
		body, err := s.Snapshot()
		lethetest.Must(t, err)
		w.then = append(w.then, body)
	case 24:
		if n := len(w.then); n > 0 {
			w.back(w.then[rapid.IntRange(0, n-1).Draw(t, "moment")])
		}
	}
}

// work goes on with the unit that is open.
func (w *world) work(t *rapid.T, owed Debts) {
	status := rapid.SampledFrom([]string{OK, OK, Failed, Interrupted}).Draw(t, "status")
	if !owed.Calls[0].Call.Started {
		if rapid.IntRange(0, 3).Draw(t, "begin") > 0 {
			w.start()
			return
		}
		status = NotStarted
	}
	show := rapid.SampledFrom([]int{0, 0, 1, 7, 40, 400}).Draw(t, "show")
	w.finish(status, hostile().Draw(t, "result"), show)
}

func (w *world) other(t *rapid.T, room string) {
	switch rapid.IntRange(0, 7).Draw(t, "other") {
	case 0:
		w.happen(event.Left{Room: room})
	case 1:
		w.note(hostile().Draw(t, "note"), "x")
	case 2:
		w.note("cut off", "cut")
	case 3:
		w.happen(event.Paused{ID: w.notice(), Why: "no money"})
	case 4:
		w.happen(event.Paused{ID: w.notice(), Why: "max_steps", Ended: true, Notice: event.Notice{Say: "I stopped.", Posting: w.to(room)}})
	case 5:
		w.happen(event.Resumed{Version: "2"})
	case 6:
		w.happen(event.Error{ID: w.notice(), What: "model", Notice: event.Notice{Say: "I cannot reach it.", Posting: w.to(room)}})
	case 7:
		w.happen(event.Grant{Hash: strings.Repeat("ab", 32)})
	}
}

// mangle is context.md after a person had it.
func (w *world) mangle(t *rapid.T) []byte {
	lines := strings.SplitAfter(string(w.state.View()), "\n")
	for range rapid.IntRange(1, 4).Draw(t, "edits") {
		i := rapid.IntRange(1, len(lines)-1).Draw(t, "at")
		j := min(len(lines), i+rapid.IntRange(0, 6).Draw(t, "lines"))
		var put []string
		if rapid.Bool().Draw(t, "write") {
			put = []string{hostile().Draw(t, "written") + "\n"}
		}
		lines = slices.Concat(lines[:i:i], put, lines[j:])
		if len(lines) < 2 {
			break
		}
	}
	return []byte(strings.Join(lines, ""))
}
