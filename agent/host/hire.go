package host

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gofrs/flock"

	"lethe/agent/budget"
	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/chat"
	"lethe/mind/audience"
)

// Errors of Hire.
var (
	ErrHired = errors.New("it is hired already")
	ErrBound = errors.New("[hire] in config.toml does not allow it: fire one, or raise the bound")
)

const otherName = "choose another name, with --for WHO --as NAME"

// Hire boots an identity for a role, with a room whose readers are the people of work, and has it be kept running; or
// has the one that was fired go on. An empty name is made of the role and one person, or else the room; an empty room is
// called like the identity, which then hears it. Hires of one home take turns. The error is home.ErrNotFound for an unknown role, ErrHired,
// ErrBound, or a *config.Error; also then the identity has its name.
func (h *Host) Hire(name, room string, work home.Hired) (id home.Identity, err error) {
	id.Name = nameOf(name, room, work)
	begin := home.BootOptions{Name: id.Name, Hired: &work}
	if name = id.Name; room == "" {
		room, begin.Rooms = name, []string{name}
	}
	role, err := config.ReadRole(h.home, work.Role)
	if err != nil {
		return id, err
	}
	work.With = role.Role
	turn := flock.New(h.home.Roles(), flock.SetFlag(os.O_RDONLY))
	defer turn.Close()
	if err := turn.Lock(); err != nil {
		return id, err
	}
	if err := h.admit(name, work); err != nil {
		return id, err
	}
	if err := h.closeRoom(room, work.For); err != nil {
		return id, err
	}
	begin.Soul, begin.Memory = string(role.Soul), role.Memory
	id, err = h.Boot(begin)
	if errors.Is(err, home.ErrExists) {
		err = id.SetHired(work)
	}
	if err != nil {
		return id, err
	}
	return id, id.Start(work.With.Model == "offline", "")
}

func nameOf(name, room string, work home.Hired) string {
	ofPeople := strings.ToLower(work.Role + "-" + strings.Join(work.For, "-"))
	if isChat := len(work.For) != 1 || !home.ValidName(ofPeople); isChat && room != "" {
		ofPeople = work.Role + "-" + strings.TrimPrefix(room, "telegram-")
	}
	return cmp.Or(name, ofPeople)
}

// Engage has an identity hear the room of a chat that names a role: it hires one as Hire does, unless there is one of
// that name, fired or not. If it cannot, the chat is told so, and the people of notify why, each once.
func (h *Host) Engage(room string, work home.Hired) error {
	name := nameOf("", room, work)
	if id, err := h.home.Find(name); err == nil {
		if started, kept := id.Started(); kept { // a hire that was cut short has told no daemon
			_ = id.Start(started.Offline, started.Failed)
		}
		return h.home.Subscribe(id, room)
	}
	_, err := h.Hire(name, room, work)
	if err == nil || errors.Is(err, ErrHired) { // meanwhile
		return h.Engage(room, work)
	}
	told := chat.Once(h.home.Room(room), name, "Nobody can answer here now. What you write waits.")
	why := chat.Notice(room, fmt.Sprintf("%s cannot be hired: %v", work, err))
	for _, notices := range h.notices() {
		told = errors.Join(told, chat.Once(h.home.Room(notices), name, why))
	}
	return errors.Join(err, told)
}

// admit refuses one identity more than [hire] allows, and one that is there unless it was hired for the same work and is
// not kept running. The dollars of all roles count together, whatever is spent; what lives elsewhere does not count. A
// hired.toml that cannot be read is told, and counts without dollars: its identity does not run, and can be hired again.
func (h *Host) admit(name string, work home.Hired) error {
	all, err := h.home.List()
	if err != nil {
		return err
	}
	count, day := 1, work.With.Day
	for _, id := range all {
		was, err := id.Hired()
		if err != nil {
			h.log.Warn("who was hired does not run: hire it again, which mends its file", "error", err)
			was = new(home.Hired)
		}
		started, kept := id.Started()
		switch isHired := was != nil && kept && !id.Mirrored(); {
		case id.Name != name && isHired:
			count, day = count+1, day+was.With.Day
		case id.Name != name, err != nil:
		case was == nil || was.Role != work.Role || !audience.Same(was.For, work.For):
			return config.Invalid(otherName, "%s is another life, and not %s", name, work)
		case isHired && started.Failed == "":
			return ErrHired
		}
	}
	bounds := h.settings.Hire
	if most := cmp.Or(bounds.Most, 20); count > most {
		return fmt.Errorf("%d are hired (most = %d): %w", count-1, most, ErrBound)
	}
	unbounded := work.With.Day == 0 || budget.Of(day) > budget.Of(bounds.Day)
	if bounds.Day > 0 && unbounded {
		return fmt.Errorf("its day_usd is %g, of all %g (hire.day_usd = %g): %w", work.With.Day, day, bounds.Day, ErrBound)
	}
	return nil
}

// closeRoom gives a new room its readers. One that is there for others is refused.
func (h *Host) closeRoom(room string, readers audience.Readers) error {
	about, err := chat.ReadAbout(h.home.Dir, room)
	_, missing := os.Lstat(h.home.Room(room))
	switch isNew := about.Readers == nil && missing != nil; {
	case err != nil:
		return err
	case isNew:
		about.Readers = readers
		return about.Write(h.home.Dir, room)
	case !audience.Same(about.Readers, readers):
		return config.Invalid(otherName, "room %s is there for others", room)
	}
	return nil
}
