package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lethe/internal/durable"
	"lethe/internal/lazy"
	"lethe/internal/sandbox"
	"lethe/internal/secret"
)

// A job is a command that goes on when its BASH call has returned. Its directory,
// jobs/<number> of the identity, holds the command, its log, and state.json.
const (
	jobsDir = "jobs"

	maxJobs  = 8        // that run at once
	keptJobs = 50       // directories
	maxLog   = 64 << 20 // bytes; a job that writes more is killed
)

// command is one that was started: by a call that waits for it, or a job.
type command struct {
	line    string
	timeout time.Duration
	began   time.Time
	cancel  context.CancelCauseFunc
	untie   func() bool // from the context of its call; false when that has ended it
	out     *spool

	job  int  // its number, 0 while a call waits for it; the mutex of jobs guards this
	over bool // nor can it become one any more; that mutex guards this, too

	started chan struct{} // closed when this is set:
	process sandbox.Process

	ended chan struct{} // closed when these are set:
	last  string        // the last line of the result
	good  bool
	at    time.Time // when it ended, of a job
}

// jobs are those of one identity that run, or that ended and are not forgotten.
type jobs struct {
	dir  string
	told func() // that one has ended

	mu  sync.Mutex
	all map[int]*command
}

// JobState is what state.json holds, and the command.
type JobState struct {
	ID      int    `json:"id"`
	Command string `json:"command,omitempty"` // has a file of its own
	sandbox.Process
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended,omitzero"`
	End   string    `json:"end,omitempty"` // how it ended, like "exit 0, 12.3 s"
}

// Lost says that the job was killed together with its daemon.
func (j JobState) Lost() bool { return j.Ended.IsZero() && !j.Alive() }

// room says why no job can be started, if none can.
func (j *jobs) room(id int) error {
	if id == 0 {
		return errors.New("commands cannot go on as jobs here")
	}
	if running := len(j.Running()); running >= maxJobs {
		return fmt.Errorf("%d jobs run already: wait until one ends, or stop one", running)
	}
	return nil
}

// handOver makes a command a job. It reports whether it is one; otherwise the command
// has ended, or was told to.
func (j *jobs) handOver(r *command, id int) bool {
	select {
	case <-r.started:
	case <-r.ended: // it cannot be started
		return false
	}
	err := j.room(id)
	if err == nil {
		err = j.open(r, id)
	}
	if err != nil {
		r.cancel(fmt.Errorf("%w: %w", errNoJob, err))
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if r.over || !r.untie() {
		return false
	}
	r.job, j.all[id] = id, r
	return true
}

// open makes the directory of a job, and has its log take the output. It removes the oldest
// directories, and what a job of that number left which was never recorded.
func (j *jobs) open(r *command, id int) error {
	if old := numbers(j.dir); len(old) >= keptJobs {
		for _, n := range old[:len(old)-keptJobs+1] {
			if j.job(n) == nil {
				_ = os.RemoveAll(j.path(n)) // tried again with the next one
			}
		}
	}
	if err := os.RemoveAll(j.path(id)); err != nil {
		return err
	}
	err := durable.MkdirAll(j.path(id), 0o700)
	if err == nil {
		err = durable.WriteFile(filepath.Join(j.path(id), "command"), []byte(secret.Text(r.line)), 0o600)
	}
	if err == nil {
		err = j.write(r.state(id))
	}
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(j.path(id), "log"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		if err = r.out.move(log, jobPath(id, "log"), maxLog); err != nil {
			log.Close()
		}
	}
	return err
}

func (j *jobs) path(id int) string { return filepath.Join(j.dir, strconv.Itoa(id)) }

// jobPath is a file of a job as the model opens it.
func jobPath(id int, name string) string { return fmt.Sprintf("self/%s/%d/%s", jobsDir, id, name) }

func (j *jobs) write(s JobState) error {
	s.Command = ""
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(j.path(s.ID), "state.json"), append(data, '\n'), 0o600)
}

// numbers lists the directories of jobs, oldest first.
func numbers(dir string) (all []int) {
	entries, _ := os.ReadDir(dir) // a missing one has none
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

func (r *command) state(id int) JobState {
	s := JobState{ID: id, Command: secret.Text(r.line), Began: r.began.UTC(), Process: r.process}
	if s.Ended = r.at; !r.at.IsZero() {
		s.End = r.last[1 : len(r.last)-1]
	}
	return s
}

// goesOn is the result of a call whose command has become a job.
func (b *bash) goesOn(r *command, c Call) Result {
	text := fmt.Sprintf("[job %d goes on%s, for at most %s: READ_FILE %s shows its output, WRITE_FILE %s stops "+
		"it. A line in room %s will tell its end]",
		c.Job, duration(time.Since(r.began)), Span(r.timeout), jobPath(c.Job, "log"), jobPath(c.Job, "stop"), c.JobRoom)
	return Result{Body: r.body(text), Job: c.Job}
}

// Span is a duration to the second, like 1h or 2m5s.
func Span(d time.Duration) string {
	return spanZeros.Replace(d.Round(time.Second).String())
}

var spanZeros = strings.NewReplacer("h0m0s", "h", "m0s", "m")

// body is the output so far, and a last line.
func (r *command) body(last string) []byte {
	b := r.out.result()
	if len(b) > 0 && b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	return append(b, last...)
}

// end notes how a command ended.
func (j *jobs) end(r *command, end sandbox.Outcome, err, why error) {
	took := time.Since(r.began)
	r.last, r.good = exitLine(end, err, why, r.timeout, took, r.out.bounds())
	j.mu.Lock()
	r.over = true
	job := r.job
	j.mu.Unlock()
	if job == 0 {
		r.out.close("")
		close(r.ended)
		return
	}
	r.out.close(r.last + "\n")
	r.at = time.Now().UTC()
	_ = j.write(r.state(job)) // for lethe jobs; LIFE tells the end
	close(r.ended)
	if j.told != nil {
		j.told()
	}
}

func (j *jobs) job(id int) *command {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.all[id]
}

// Jobs returns the jobs that run, and those that have ended and were not forgotten, by number.
func (j *jobs) Jobs() (list []JobState) {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(j.all)) {
		r := j.all[id]
		select {
		case <-r.ended:
			list = append(list, r.state(id))
		default:
			list = append(list, JobState{ID: id, Command: r.line, Began: r.began})
		}
	}
	return list
}

// Running returns those that have not ended.
func (j *jobs) Running() []JobState {
	return slices.DeleteFunc(j.Jobs(), func(s JobState) bool { return !s.Ended.IsZero() })
}

// JobOutput returns what a job has written and how it ended, as a result shows it.
func (j *jobs) JobOutput(id int) []byte {
	r := j.job(id)
	return r.body(r.last)
}

// StopJob asks a job to end; by says who stops it, as in "by ada".
func (j *jobs) StopJob(id int, by string) error {
	r := j.job(id)
	if r == nil {
		return fmt.Errorf("no job %d runs", id)
	}
	r.cancel(stopped(by))
	return nil
}

// ForgetJob forgets a job that has ended.
func (j *jobs) ForgetJob(id int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.all, id)
}

// StopJobs ends all jobs and returns when nothing of them is alive.
func (j *jobs) StopJobs() {
	for _, job := range j.Jobs() {
		r := j.job(job.ID)
		r.cancel(stopped("with the daemon"))
		defer func() { <-r.ended }()
	}
}

// ReadJobs tells of the jobs of an identity, oldest first, from what is on disk.
func ReadJobs(agentDir string) (list []JobState) {
	dir := filepath.Join(agentDir, jobsDir)
	for _, id := range numbers(dir) {
		if s, err := ReadJob(agentDir, id); err == nil {
			list = append(list, s)
		}
	}
	return list
}

// ReadJob is ReadJobs of one.
func ReadJob(agentDir string, id int) (s JobState, err error) {
	dir := filepath.Join(agentDir, jobsDir, strconv.Itoa(id))
	data, _, err := durable.ReadRegular(filepath.Join(dir, "state.json"), 64<<10)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return s, fmt.Errorf("read job %d: %w", id, err)
	}
	line, _, _ := durable.ReadRegular(filepath.Join(dir, "command"), maxCommand) // a job without it is one, too
	s.ID, s.Command = id, string(line)
	return s, nil
}

var jobName = lazy.Regexp(`^jobs(?:/([1-9][0-9]{0,8})(?:/(command|log|state\.json|stop))?)?$`)

// jobFile is the place of a file of a job, or of a directory of them.
func (f *files) jobFile(name string) (place, bool) {
	m := jobName().FindStringSubmatch(strings.TrimSuffix(name, "/"))
	if m == nil {
		return place{}, false
	}
	p := place{dir: f.agentDir, name: m[0], shown: "self/" + m[0], readOnly: "of a job you may write only " +
		"stop, which stops it"}
	if m[2] == "stop" {
		p.stops, _ = strconv.Atoi(m[1])
	}
	return p, true
}
