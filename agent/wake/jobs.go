package wake

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/internal/secret/shape"
	"lethe/life/event"
	"lethe/mind"
)

// Jobs is the source of the lines that tell the ends of jobs: commands that go on when
// their BASH call has a result. The result is the commit that there is a job; its end is
// a firing, also when the daemon died with it.
type Jobs struct{ Config }

// Due returns the end of one job. When that is recorded, the end of the next job is due.
func (j Jobs) Due(v View) (commits []Commit, never time.Time, err error) {
	known := j.Tools.Jobs()
	for _, s := range known {
		if !s.Ended.IsZero() && !slices.ContainsFunc(v.Jobs, func(job mind.Job) bool { return job.ID == s.ID }) {
			j.Tools.ForgetJob(s.ID) // its end is recorded
		}
	}
	for _, job := range v.Jobs {
		i := slices.IndexFunc(known, func(s tools.JobState) bool { return s.ID == job.ID })
		if i >= 0 && known[i].Ended.IsZero() {
			continue
		}
		room := v.HeardFor(job.Room)
		if room == "" {
			continue // nobody hears it; it waits for a room
		}
		j.Wake()
		var text, end string
		var stored []mind.Ref
		if i >= 0 {
			if text, stored, err = j.ended(known[i], v.Last); err != nil {
				return nil, never, err
			}
			end = known[i].End
		} else {
			text, end = j.lost(job.ID)
		}
		rooms := []string{room}
		if !strings.HasPrefix(end, "exit 0") && !strings.HasPrefix(end, "stopped") {
			rooms = j.Notify(room)
		}
		fired := j.Fire(event.Fired{By: job.Signer()}, text, v.Now, rooms...)
		fired.Stored = stored
		return []Commit{{fired}}, never, nil
	}
	return nil, never, nil
}

// jobTail bounds the part of a job's output that its final line quotes, in bytes.
const jobTail = 600

// ended tells the end of a job, with a blob of its output.
func (j Jobs) ended(s tools.JobState, parent blobs.Hash) (text string, stored []mind.Ref, err error) {
	text = fmt.Sprintf("%s has ended: %s.", JobName(s), s.End)
	all := shape.Bytes(j.Tools.JobOutput(s.ID))
	output := strings.TrimSuffix(string(all), "["+s.End+"]")
	if strings.TrimSpace(output) == "" {
		return text + " It wrote nothing.", nil, nil
	}
	ref, err := j.Put(blobs.Meta{Gist: JobName(s), Parent: parent}, all)
	last, what := lastLines(output), "All that it wrote"
	if strings.HasPrefix(last, "…") {
		what = "The end of it"
	}
	text = fmt.Sprintf("%s Its output: self/jobs/%d/log, hash=%s. %s:\n%s", text, s.ID, ref.Short, what, last)
	return text, []mind.Ref{ref}, err
}

// lost tells of a job that this process does not run: it was killed with the
// daemon, unless it had ended before.
func (j Jobs) lost(id int) (text, end string) {
	s, _ := tools.ReadJob(j.Identity.Dir, id)
	if end = s.End; end == "" || strings.HasPrefix(end, "stopped with the daemon") {
		end = tools.Lost
	}
	return fmt.Sprintf("%s has ended: %s. Its output: self/jobs/%d/log.", JobName(s), end, id), end
}

// JobName names a job with the beginning of its command.
func JobName(s tools.JobState) string {
	if s.Command == "" {
		return fmt.Sprintf("job %d", s.ID)
	}
	return fmt.Sprintf("job %d (%s)", s.ID, blobs.Gist(s.Command))
}

// lastLines is the end of a text: whole lines, unless one alone is longer than jobTail.
func lastLines(text string) string {
	text = strings.TrimRight(strings.ToValidUTF8(text, "\uFFFD"), "\n")
	if len(text) <= jobTail {
		return text
	}
	text = text[len(text)-jobTail:]
	for !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		text = rest
	}
	return "…\n" + text
}
