package agent

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/status"
	"lethe/life/event"
	"lethe/mind"
	"lethe/tools"
)

// jobs is the source of the lines that tell the ends of jobs: commands that go on when
// their BASH call has a result. The result is the commit that there is a job; its end is
// a firing, also when the daemon died with it.
type jobs struct{ *Agent }

func (a jobs) next() time.Time { return time.Time{} } // the end of a job stirs

func (a jobs) stop() { a.tools.StopJobs() }

// due is the end of one job; the next one is due when that is recorded.
func (a jobs) due(now time.Time) ([]record, error) {
	a.stopRequestedJob()
	known := a.tools.Jobs()
	for _, s := range known {
		if !s.Ended.IsZero() && !slices.ContainsFunc(a.state.Jobs, func(j mind.Job) bool { return j.ID == s.ID }) {
			a.tools.ForgetJob(s.ID) // its end is recorded
		}
	}
	for _, j := range a.state.Jobs {
		i := slices.IndexFunc(known, func(s tools.JobState) bool { return s.ID == j.ID })
		if i >= 0 && known[i].Ended.IsZero() {
			continue
		}
		rooms := []string{a.heardFor(j.Room)}
		if rooms[0] == "" {
			continue // nobody hears it; it waits for a room
		}
		a.stir()
		r := record{}
		text, end := a.lostJob(j.ID)
		if i >= 0 {
			var err error
			if text, r.stored, err = a.jobEnd(known[i]); err != nil {
				return nil, err
			}
			end = known[i].End
		}
		if !strings.HasPrefix(end, "exit 0") && !strings.HasPrefix(end, "stopped") {
			rooms = a.notify(rooms...)
		}
		r.event = a.firing(event.Fired{By: j.Signer()}, text, now, rooms...).event
		return []record{r}, nil
	}
	return nil, nil
}

// endJobs stops all jobs and records their ends, when the daemon stops in good order.
func (a *Agent) endJobs() error {
	a.tools.StopJobs()
	for {
		records, err := jobs{a}.due(time.Now())
		if err != nil || len(records) == 0 {
			return err
		}
		if err := a.fire(records); err != nil {
			return err
		}
	}
}

// jobTail is how many bytes of a job's output, its last ones, the line of its end shows.
const jobTail = 600

// jobEnd is what the line of a job's end says, with a blob of its output.
func (a *Agent) jobEnd(s tools.JobState) (text string, stored []mind.Ref, err error) {
	text = fmt.Sprintf("%s has ended: %s.", jobName(s), s.End)
	all := a.tools.JobOutput(s.ID)
	output := strings.TrimSuffix(string(all), "["+s.End+"]")
	if strings.TrimSpace(output) == "" {
		return text + " It wrote nothing.", nil, nil
	}
	ref, err := a.put(blobs.Meta{At: a.now(), Gist: jobName(s), Parent: a.state.LastBlob}, all)
	last, what := lastLines(output, jobTail), "All that it wrote"
	if strings.HasPrefix(last, "…") {
		what = "The end of it"
	}
	return fmt.Sprintf("%s Its output: self/jobs/%d/log, hash=%s. %s:\n%s", text, s.ID, ref.Short, what, last), []mind.Ref{ref}, err
}

// lostJob is what is said of a job that this process does not run: it was killed with the
// daemon, unless it had ended before.
func (a *Agent) lostJob(id int) (text, end string) {
	s, err := tools.ReadJob(a.id.Dir, id)
	if err != nil {
		s = tools.JobState{ID: id}
	}
	if !s.Ended.IsZero() && !strings.HasPrefix(s.End, "stopped with the daemon") {
		return fmt.Sprintf("%s has ended: %s. Its output: self/jobs/%d/log.", jobName(s), s.End, id), s.End
	}
	return fmt.Sprintf("%s is lost: it was killed together with the daemon, effect unknown. Look before you repeat it. Its output until then is in self/jobs/%d/log.", jobName(s), id), ""
}

// jobName names a job with the beginning of its command.
func jobName(s tools.JobState) string {
	if s.Command == "" {
		return fmt.Sprintf("job %d", s.ID)
	}
	return fmt.Sprintf("job %d (%s)", s.ID, blobs.Gist(s.Command))
}

// lastLines is the end of a text: whole lines, unless one alone is longer than most bytes.
func lastLines(text string, most int) string {
	text = strings.TrimRight(strings.ToValidUTF8(text, "\uFFFD"), "\n")
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	for !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		text = rest
	}
	return "…\n" + text
}

// runningJobs shows them to screens.
func (a *Agent) runningJobs() (out []status.Job) {
	for _, s := range a.tools.Running() {
		out = append(out, status.Job{ID: s.ID, Command: blobs.Gist(s.Command), Began: s.Began.UTC()})
	}
	return out
}

// jobsGoOn tells which jobs run; nothing when none does.
func (a *Agent) jobsGoOn() string {
	var ids []string
	for _, s := range a.tools.Running() {
		ids = append(ids, strconv.Itoa(s.ID))
	}
	if len(ids) == 0 {
		return ""
	}
	return fmt.Sprintf(" Jobs that go on: %s (/jobs lists them, /jobs stop %s stops one).", strings.Join(ids, ", "), ids[0])
}

// jobsLine answers /jobs and /jobs stop N.
func (a *Agent) jobsLine(l chat.Line) string {
	list := a.tools.Running()
	if n := jobToStop(l); n > 0 {
		if slices.ContainsFunc(list, func(s tools.JobState) bool { return s.ID == n }) {
			return fmt.Sprintf("Job %d is being stopped; a line tells its end.", n)
		}
		return fmt.Sprintf("No job %d runs.%s", n, a.jobsGoOn())
	}
	if len(list) == 0 {
		return "No jobs run."
	}
	var lines []string
	for _, s := range list {
		lines = append(lines, fmt.Sprintf("%s, for %s", jobName(s), tools.Span(time.Since(s.Began))))
	}
	return strings.Join(lines, "\n")
}

// jobToStop is the job that a person's command stops; 0 is none.
func jobToStop(l chat.Line) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(l.Arg, "stop "))
	return n
}

// stopJob does what a /jobs command has asked for, which is recorded.
func (a *Agent) stopJob(l chat.Line) {
	if n := jobToStop(l); n > 0 {
		_ = a.tools.StopJob(n, "by "+l.Name) // the answer says that none runs
	}
}

// stopRequestedJob stops the job that lethe jobs has asked to be stopped.
func (a *Agent) stopRequestedJob() {
	if len(a.state.Jobs) == 0 || !requested(a.id, stopJobFile) {
		return
	}
	text, _, _ := durable.ReadRegular(filepath.Join(a.id.Dir, stopJobFile), 20)
	_ = clearRequest(a.id, stopJobFile)
	if n, err := strconv.Atoi(string(text)); err == nil {
		_ = a.tools.StopJob(n, "by a person") // it may have ended meanwhile
	}
}
