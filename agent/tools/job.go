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
	"lethe/internal/sandbox"
	"lethe/internal/secret/shape"
)

// A job is a command that goes on when its BASH call has returned. Its directory,
// jobs/<number> of the identity, holds the command, its log, and state.json.
const (
	jobsDir = "jobs"

	maxJobs  = 8  // that run at once
	keptJobs = 50 // directories
)

// Lost is the end of a job that was killed together with its daemon.
const Lost = "lost: it was killed together with the daemon, effect unknown. Look before you repeat it"

// command is a running command. A call waits for it, or it is a job.
type command struct {
	line    string
	timeout time.Duration
	began   time.Time
	cancel  context.CancelCauseFunc
	untie   func() bool // from the context of its call; false when that has ended it
	out     *spool

	job  int  // its number, 0 while a call waits for it; the mutex of jobs guards this
	over bool // it cannot become a job; that mutex guards this, too

	ended chan struct{} // closed when these are set:
	last  string        // the last line of the result
	good  bool
	at    time.Time // when it ended
}

// jobs are the jobs of an identity.
type jobs struct {
	dir   string // of the identity
	atEnd func() // called when a job has ended, from its goroutine; may be nil

	mu  sync.Mutex
	all map[int]*command // by number: they run, or have ended and are not forgotten
}

// JobState is the content of state.json, with the command.
type JobState struct {
	ID      int       `json:"id"`
	Command string    `json:"command,omitempty"` // it has a file of its own
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended,omitzero"`
	End     string    `json:"end,omitempty"` // like "exit 0, 12.3 s"
}

// canStart returns an error if no job can be started now.
func (s *jobs) canStart(id int) error {
	if id == 0 {
		return errors.New("commands cannot go on as jobs here")
	}
	if running := len(s.Running()); running >= maxJobs {
		return fmt.Errorf("%d jobs run already: wait until one ends, or stop one", running)
	}
	return nil
}

// handOver makes a command a job. It reports whether it is one; otherwise the command
// has ended, or was told to.
func (s *jobs) handOver(r *command, id int) bool {
	err := s.canStart(id)
	if err == nil {
		err = s.openJob(r, id)
	}
	if err != nil {
		r.cancel(fmt.Errorf("%w: %w", errNoJob, err))
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.over || !r.untie() {
		return false
	}
	r.job, s.all[id] = id, r
	return true
}

// openJob makes the directory of a job and moves the output into its log. It removes the oldest
// directories, and the one that a job of this number left without being recorded.
func (s *jobs) openJob(r *command, id int) error {
	old := numbers(s.dir)
	for _, n := range old[:max(0, len(old)-keptJobs+1)] {
		if s.job(n) == nil {
			_ = os.RemoveAll(jobDir(s.dir, n)) // tried again with the next one
		}
	}
	dir := jobDir(s.dir, id)
	err := os.RemoveAll(dir)
	if err == nil {
		err = durable.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = durable.WriteFile(filepath.Join(dir, "command"), []byte(shape.Text(r.line)), 0o600)
	}
	if err == nil {
		err = writeJob(s.dir, r.state(id))
	}
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = r.out.move(log, jobPath(id, "log"))
	}
	return err
}

func jobDir(agentDir string, id int) string {
	return filepath.Join(agentDir, jobsDir, strconv.Itoa(id))
}

// jobPath is a file of a job as the model opens it.
func jobPath(id int, name string) string { return fmt.Sprintf("self/%s/%d/%s", jobsDir, id, name) }

func writeJob(agentDir string, j JobState) error {
	j.Command = ""
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(jobDir(agentDir, j.ID), "state.json"), append(data, '\n'), 0o600)
}

// numbers lists the jobs of an identity that have directories, oldest first.
func numbers(agentDir string) (all []int) {
	entries, _ := os.ReadDir(filepath.Join(agentDir, jobsDir)) // empty if there is no such directory
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

func (r *command) state(id int) JobState {
	j := JobState{ID: id, Command: shape.Text(r.line), Began: r.began.UTC(), Ended: r.at}
	if !r.at.IsZero() {
		j.End = r.last[1 : len(r.last)-1]
	}
	return j
}

// goesOn is the result of a call whose command has become a job.
func (r *command) goesOn(c Call) Result {
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
func (s *jobs) end(r *command, end sandbox.Outcome, err, why error) {
	s.mu.Lock()
	r.over = true
	job := r.job
	s.mu.Unlock()
	r.last, r.good = exitLine(end, err, why, r.timeout, time.Since(r.began))
	if job == 0 {
		r.out.close("")
		close(r.ended)
		return
	}
	r.out.close(r.last + "\n")
	r.at = time.Now().UTC()
	_ = writeJob(s.dir, r.state(job)) // for lethe jobs; LIFE tells the end
	close(r.ended)
	if s.atEnd != nil {
		s.atEnd()
	}
}

func (s *jobs) job(id int) *command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

// Jobs returns, by number, the jobs that run and those that have ended and were not forgotten.
func (s *jobs) Jobs() (list []JobState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		r := s.all[id]
		j := JobState{ID: id, Command: r.line, Began: r.began}
		select {
		case <-r.ended:
			j = r.state(id)
		default:
		}
		list = append(list, j)
	}
	return list
}

// Running returns the jobs that have not ended.
func (s *jobs) Running() []JobState {
	return slices.DeleteFunc(s.Jobs(), func(j JobState) bool { return !j.Ended.IsZero() })
}

// JobOutput returns the output and the last line of a job, as a result shows them.
func (s *jobs) JobOutput(id int) []byte {
	r := s.job(id)
	return r.body(r.last)
}

// StopJob asks a job to end. by names the actor, as in "by ada".
func (s *jobs) StopJob(id int, by string) error {
	r := s.job(id)
	if r == nil {
		return fmt.Errorf("no job %d runs", id)
	}
	r.cancel(stopped(by))
	return nil
}

// ForgetJob forgets a job that has ended.
func (s *jobs) ForgetJob(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}

// StopJobs ends all jobs. It returns when no process of theirs is alive.
func (s *jobs) StopJobs() {
	for _, job := range s.Jobs() {
		r := s.job(job.ID)
		r.cancel(stopped("with the daemon"))
		defer func() { <-r.ended }()
	}
}

// LoseJobs notes that the jobs of an identity are lost whose daemon was killed.
func LoseJobs(agentDir string) {
	for _, j := range ReadJobs(agentDir) {
		if j.Ended.IsZero() {
			j.Ended, j.End = time.Now().UTC(), Lost
			_ = writeJob(agentDir, j) // as in end
		}
	}
}

// ReadJobs reads the jobs of an identity from disk, oldest first.
func ReadJobs(agentDir string) (list []JobState) {
	for _, id := range numbers(agentDir) {
		if j, err := ReadJob(agentDir, id); err == nil {
			list = append(list, j)
		}
	}
	return list
}

// ReadJob reads one job from disk.
func ReadJob(agentDir string, id int) (j JobState, err error) {
	dir := jobDir(agentDir, id)
	data, _, err := durable.ReadRegular(filepath.Join(dir, "state.json"), 64<<10)
	if err == nil {
		err = json.Unmarshal(data, &j)
	}
	line, _, _ := durable.ReadRegular(filepath.Join(dir, "command"), maxCommand) // a job without it is one, too
	j.ID, j.Command = id, string(line)
	return j, err
}
