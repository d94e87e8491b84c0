package eval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/blobs"
	"lethe/cmd/lethe/archive"
)

// Task is a recorded talk whose lines of people are said again; cmd/lab/tasks.md describes it.
type Task struct {
	Name  string            `json:"task"`
	Lines []Said            `json:"lines"`
	Right string            `json:"right"` // that it is done so
	Kind  string            `json:"kind"`  // to count by; may be empty
	Files map[string]string `json:"files"` // of the workspace, by their names
}

// Said is a line of a task.
type Said struct {
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
	Agent   bool   `json:"agent"` // an agent has answered so: it is not said
}

const taskAsk = "Somebody gave an agent a task; below is what was said, and what is right. Was the task done so? " +
	"Reply with one word: RIGHT or WRONG.\n"

// ReadTasks reads a file. The error names its line.
func ReadTasks(in io.Reader) (tasks []Task, err error) {
	names := map[string]bool{}
	err = readRows(in, func(task Task) error {
		err := task.check(names)
		names[task.Name] = true
		tasks = append(tasks, task)
		return err
	})
	if err == nil && len(tasks) == 0 {
		err = errors.New("it has no tasks")
	}
	return tasks, err
}

func (t Task) check(names map[string]bool) error {
	isSaid := func(l Said) bool { return !l.Agent }
	if t.Name == "" || names[t.Name] || t.Right == "" || !slices.ContainsFunc(t.Lines, isSaid) {
		return errors.New("a task has a name of its own in task, lines of people, and what is right")
	}
	for _, l := range t.Lines {
		if l.Speaker == "" || strings.TrimSpace(l.Text) == "" {
			return errors.New("a line has a speaker and a text")
		}
	}
	for name := range t.Files {
		if name != filepath.Base(name) || !filepath.IsLocal(name) {
			return fmt.Errorf("%q is no name of a file in the workspace", name)
		}
	}
	return nil
}

// asked are the tasks as the questions that a score counts.
func asked(tasks []Task) (e Examination) {
	for _, t := range tasks {
		e.Asked = append(e.Asked, Answerable{Question: t.Name, Answer: t.Right, Kind: t.Kind})
	}
	return e
}

// PriceTasks returns the most that tasks may cost, by identity and for the judges.
func (x *Examiner) PriceTasks(tasks []Task, identities []string) (map[string]budget.USD, error) {
	said := 0
	for _, t := range tasks {
		said += len(t.Lines)
	}
	out := map[string]budget.USD{}
	each, err := x.worst(x.Name, Large.limit)
	for _, name := range identities {
		out[name] = each * budget.USD(said*(Looks+1))
	}
	for _, judge := range x.Judges {
		each, wrong := x.worst(judge, 2000)
		err = errors.Join(err, wrong)
		out["judges"] += each * budget.USD(len(tasks)*len(identities))
	}
	return out, err
}

// RunTasks gives each task to a fork of each identity of a home, in a copy of it, as Run asks questions.
func (x *Examiner) RunTasks(ctx context.Context, tasks []Task, of home.Home, ids []home.Identity) (Scores, error) {
	p, err := x.open()
	if err != nil {
		return Scores{}, err
	}
	var answers []Answer
	var names []string
	for _, id := range ids {
		names = append(names, id.Name)
		done, wrong := x.give(ctx, p, tasks, of, id)
		answers = append(answers, done...)
		if wrong != nil {
			err = fmt.Errorf("%s: %w", id.Name, wrong)
			break
		}
	}
	e := asked(tasks)
	out := e.score(answers, names, ids[0].Name, 0)
	out.Spent, out.Lost, out.tasks = p.spent, p.lost(), []string{}
	for _, q := range e.Asked {
		out.tasks = append(out.tasks, q.Question)
	}
	return out, err
}

// give gives tasks to forks of an identity.
func (x *Examiner) give(ctx context.Context, p *paid, tasks []Task, of home.Home, id home.Identity) ([]Answer, error) {
	s, err := copied(filepath.Join(x.Dir, "life-"+id.Self[:16]), of, id)
	if err != nil {
		return nil, err
	}
	s.config.Thinking = x.thinking(p)
	then, err := home.At(s.id, s.store, home.Moment{Text: "now"})
	if err != nil {
		return nil, err
	}
	put := func(i int) (Answer, error) {
		s.files = tasks[i].Files
		w := &watched{paid: p, key: hashOf("task", x.Name, id.Self, then.End, tasks[i]), tells: true,
			answer: Answer{Arm: id.Name, Question: i}}
		var portions [][]Line
		for n, l := range tasks[i].Lines {
			if !l.Agent {
				at := then.At.Add(time.Hour + time.Duration(n)*time.Minute)
				portions = append(portions, []Line{{Speaker: l.Speaker, Text: l.Text, At: at}})
			}
		}
		err := s.put(ctx, w, portions...)
		w.answer.Arm, w.answer.Question = id.Name, i // the file may be in another order by now
		return w.answer, err
	}
	return x.judged(ctx, p, len(tasks), put, taskAsk, func(a Answer) string {
		said := volatile().ReplaceAllString(a.Text, id.Name)
		return fmt.Sprintf("What is right: %s\nWhat was said:\n%s", tasks[a.Question].Right, said)
	})
}

// copied is a home with one life of another home, as it is when it is first copied.
func copied(dir string, of home.Home, id home.Identity) (*stage, error) {
	h, err := home.Open(filepath.Join(dir, "home"))
	if err != nil {
		return nil, err
	}
	store, err := blobs.Open(h.Blobs())
	if err != nil {
		return nil, err
	}
	if there, err := h.Find(id.Self); err == nil {
		return stageOf(h, store, there, Large.limit), nil
	}
	from, err := blobs.Open(of.Blobs())
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	go func() { // ends with the reader
		_, err := archive.Write(w, of, from, id, archive.WriteOptions{Copy: true})
		w.CloseWithError(err)
	}()
	got, err := archive.Read(r, h, store, archive.ReadOptions{})
	r.CloseWithError(err)
	return stageOf(h, store, got.Identity, Large.limit), err
}
