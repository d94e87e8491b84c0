// Package doctor finds faults of a machine and a home that keep Lethe from working well, each with a remedy. It changes
// nothing, makes no home, and tells no secret.
package doctor

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/hook"
	"lethe/agent/host"
	"lethe/agent/share"
	"lethe/agent/share/hosts"
	"lethe/agent/share/rooms"
	"lethe/agent/share/streams"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/agent/tools/skills"
	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/bridge/telegram"
	"lethe/cmd/lethe/console"
	"lethe/internal/durable"
	"lethe/internal/sandbox"
	"lethe/internal/seal"
	"lethe/mind"
)

// States of a Finding.
const (
	OK      = "ok"
	Warning = "warning" // it works, less well or less safely
	Trouble = "trouble"
)

// Finding is the state of one thing.
type Finding struct {
	State  string `json:"state"`
	What   string `json:"what"`
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"` // a command
}

// Exam is one look at a home, which need not exist, and at its machine.
type Exam struct {
	Home     home.Home
	Settings config.Settings
	Request  bool          // whether the endpoint may be asked
	Tell     func(Finding) // also of a request that costs something, before it is sent
}

// check tells of an error as trouble, or else that a thing is in order. It reports whether it is in order.
func (x Exam) check(err error, what, remedy, text string, args ...any) bool {
	if err != nil {
		x.Tell(Finding{Trouble, what, err.Error(), remedy})
	} else {
		x.Tell(Finding{OK, what, fmt.Sprintf(text, args...), ""})
	}
	return err == nil
}

func (x Exam) warn(when bool, what, remedy, text string, args ...any) {
	if when {
		x.Tell(Finding{Warning, what, fmt.Sprintf(text, args...), remedy})
	}
}

// Run tells of one thing after the other.
func (x Exam) Run(ctx context.Context) {
	dir := x.Home.Dir
	if _, err := os.Stat(dir); err == nil {
		x.home(dir)
	} else {
		x.check(nil, "home", "", "%s is not there yet: the first run makes it", dir)
	}
	for _, w := range host.Warnings(dir, tools.BashOff) { // the sandbox comes below
		x.warn(true, "machine", w.Remedy, "%s", w.Text)
	}
	for _, err := os.Stat(dir); err != nil && dir != "/"; _, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	x.disk(dir)
	x.harness()
	x.rules()
	x.hooks()
	x.sandbox()
	x.web()
	x.share(ctx)
	x.model(ctx)
}

// share asks the store that hosts share whether it is one.
func (x Exam) share(ctx context.Context) {
	conf := x.Settings.Share
	if conf.URL == "" {
		return
	}
	fit := true
	for _, finding := range share.Probe(ctx, conf.URL) {
		fit = fit && finding.State != Trouble
		x.Tell(Finding{finding.State, "share", finding.Text, ""})
	}
	if fit {
		if err := x.opens(ctx); err != nil {
			x.check(err, "share", "", "")
		}
	}
	x.stored()
	x.warn(!conf.Plain && len(conf.To) == 0, "share", "",
		"whoever loses %s loses what is stored: keep a copy of it elsewhere", seal.File(x.Home.Dir))
}

// stored tells when the store was last read, and what was found there since.
func (x Exam) stored() {
	const read = "lethe check --share"
	found := hosts.ReadChecked(x.Home.Dir)
	long := time.Since(found.Read) > 30*24*time.Hour
	x.warn(found.Read.IsZero(), "share", read, "nobody has read all that the store has")
	x.warn(!found.Read.IsZero() && long, "share", read, "all of the store was last read %s", console.Ago(found.Read))
	for _, fault := range slices.Sorted(maps.Values(found.Faults)) {
		x.check(fmt.Errorf("%s found in the store, %s: %s", found.By, console.Ago(found.Read), fault), "share", read, "")
	}
	if !found.Read.IsZero() && !long && len(found.Faults) == 0 {
		x.check(nil, "share", "", "%s read all of the store %s: it is whole", found.By, console.Ago(found.Read))
	}
	x.warn(!found.Lost.IsZero(), "share", read, "the store had lost, and this host wrote again %s: %s", console.Ago(found.Lost),
		found.What)
}

// opens returns an error if the keys of the home do not open what its hosts have stored. It makes no key.
func (x Exam) opens(ctx context.Context) error {
	store, err := share.Open(x.Settings.Share.URL, shareTime)
	if err != nil {
		return err
	}
	defer store.Close()
	newest, err := store.Newest(ctx, rooms.Stream, 0)
	if err != nil || newest == 0 {
		return err
	}
	all := &streams.Streams{Store: store}
	if !x.Settings.Share.Plain {
		all.Keys, err = seal.Load(x.Home.Dir, nil, false)
	}
	if err == nil {
		_, err = all.Get(ctx, rooms.Stream, newest)
	}
	return err
}

// shareTime bounds a question to the store.
const shareTime = 3 * time.Second

func (x Exam) web() {
	settings := x.Settings.Web
	needsKey := settings.Search != "" && settings.Search != "searxng"
	x.warn(needsKey && settings.Key() == "", "web", "export "+settings.Variable()+"=…",
		"%s is not set: SEARCH will be refused", settings.Variable())
	text := "off: fetch = true and search in [web] of config.toml give agents FETCH and SEARCH"
	switch {
	case x.Settings.Tools.Network == config.NetworkNone:
		text = `off: tools.network = "none"`
	case settings.Fetch || settings.Search != "":
		text = fmt.Sprintf("FETCH is offered: %v; SEARCH asks %s", settings.Fetch, cmp.Or(settings.Search, "nobody"))
	}
	x.check(nil, "web", "", "%s", text)
}

// edit is the command that changes the settings.
func (x Exam) edit() string { return "${EDITOR:-vi} " + config.File(x.Home.Dir) }

func (x Exam) sandbox() {
	mode, where := cmp.Or(x.Settings.Tools.Bash, tools.BashSandbox), ""
	if len(x.Settings.Tools.Shell) > 0 {
		where = "where tools.shell does not lead: "
	}
	if mode != tools.BashSandbox {
		x.warn(mode == tools.BashTrusted, "sandbox", x.edit(),
			"%stools.bash = %q: commands of agents may do whatever you can", where, mode)
		return
	}
	by, err := sandbox.Confiner()
	network := map[bool]string{true: "no network", false: "the network"}[x.Settings.Tools.Network == config.NetworkNone]
	x.check(err, "sandbox", "uname -r; sudo apt install bubblewrap",
		"%s%s confines commands: each reaches its workspace, the system's programs and %s, no other file and no local "+
			"socket", where, by, network)
}

func (x Exam) home(dir string) {
	format, err := home.Format(dir)
	var all []home.Identity
	if err == nil {
		all, err = x.Home.List()
	}
	var bridges []bridge.Health
	if err == nil {
		bridges, err = bridge.ReadHealth(dir)
	}
	if !x.check(err, "home", "ls -la "+dir, "%s has format %d; identities: %d", dir, format, len(all)) {
		return
	}
	secrets := []string{dir, dir + "/*", dir + "/bridges/*/token", "/etc/lethe/*.env"}
	for _, pattern := range append(secrets, filepath.Dir(dir)+"/.config/lethe/*.env") {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			x.modes(path)
		}
	}
	for _, id := range all {
		if through := x.Settings.Tools.Shell; len(through) > 0 && !id.IsChild() {
			dir := x.Settings.Workspace(id.Dir)
			x.check(sandbox.Try(through, dir), "shell", x.edit(), "%s has %s, and nothing killed goes on there", through[0], dir)
		}
	}
	x.git(dir)
	x.privateChats(dir)
	if name := x.Settings.DefaultIdentity; name != "" && len(all) > 0 { // otherwise the first run boots it
		_, err := x.Home.Find(name)
		x.check(err, "identity", "lethe run --name "+name, "%s is the default one", name)
	}
	for _, health := range bridges {
		var err error
		if why := health.Ailment(); why != "" {
			err = fmt.Errorf("%s is %s: %s", health.Name, why, health.Error)
		}
		x.check(err, "bridges", "lethe bridges", "%s: %s", health.Name, health.State)
	}
	for agent := range status.All(dir) {
		for _, trouble := range agent.Trouble {
			x.warn(true, "identity", "lethe agents", "%s: %s", agent.Name, trouble)
		}
	}
}

// privateChats warns of private chats that share a room.
func (x Exam) privateChats(dir string) {
	rules, err := (&access.Policy{Dir: filepath.Join(dir, "bridges", telegram.Name)}).Rules()
	if err != nil { // the bridge says so
		return
	}
	sharing := map[string][]string{}
	for _, person := range rules.Users {
		name, _ := rules.Called(person.ID)
		if room := cmp.Or(person.Room, config.DefaultRoom); x.Home.Readers(room).Has(name) {
			sharing[room] = append(sharing[room], name)
		}
	}
	for _, room := range slices.Sorted(maps.Keys(sharing)) {
		names := sharing[room]
		x.warn(len(names) > 1, "rooms", "lethe bridge telegram allow --room ROOM ID NAME",
			"the private chats of %s share room %s: each reads the answers to the others", strings.Join(names, ", "), room)
	}
}

// git warns of a home in a git work tree that has the key in it, or would take it.
func (x Exam) git(dir string) {
	tree := dir
	for _, err := os.Stat(filepath.Join(tree, ".git")); err != nil; _, err = os.Stat(filepath.Join(tree, ".git")) {
		if tree == filepath.Dir(tree) {
			return
		}
		tree = filepath.Dir(tree)
	}
	index, _ := os.ReadFile(filepath.Join(tree, ".git", "index"))
	ignored, _ := os.ReadFile(filepath.Join(dir, ".gitignore"))
	key, _ := filepath.Rel(tree, filepath.Join(dir, "key"))
	x.warn(bytes.Contains(index, []byte(key+"\x00")), "git", "git -C "+dir+" rm --cached key",
		"%s/key is in git: whoever has the repository can seal logs of this home", dir)
	x.warn(!strings.Contains("\n"+string(ignored), "\n/key\n"), "git",
		fmt.Sprintf("printf %q >> %s/.gitignore", home.Ignored, dir),
		"%s is in a git work tree, which would take its key and tokens", dir)
}

// harness looks at people's own version of the rules that identities live by.
func (x Exam) harness() {
	file := x.Home.HarnessFile()
	rules, madeFrom, err := x.Home.Harness()
	if err != nil {
		x.check(err, "harness", "ls -l "+file, "")
		return
	}
	for _, place := range mind.Places {
		x.warn(!strings.Contains(rules, place), "harness", "lethe doctor --harness", "%s does not have %s", file, place)
	}
	x.warn(madeFrom != mind.RulesVersion(), "harness", "lethe doctor --harness | diff "+file+" -",
		"%s was not made from the rules of this version: compare them, and take over their first line", file)
}

// rules tells of rules in workspaces that nobody has allowed.
func (x Exam) rules() {
	for _, dir := range host.Workspaces(x.Home, x.Settings) {
		name := skills.RuleFile(dir)
		waits := !skills.Allowed(x.Home.Dir, dir, name, skills.ReadRules(dir, name))
		x.warn(waits, "rules", "lethe skills allow --workspace "+dir+" "+name,
			"%s/%s is no rule for identities: nobody has allowed it as it is now", dir, name)
	}
}

// hooks lists people's own programs, and warns of any that never runs.
func (x Exam) hooks() {
	dir := filepath.Join(x.Home.Dir, "hooks")
	names, warnings := hook.Check(dir)
	for _, w := range warnings {
		x.warn(true, "hooks", "ls -lR "+dir, "%s", w)
	}
	if len(names) > 0 {
		x.check(nil, "hooks", "", "these are asked: %s", strings.Join(names, ", "))
	}
}

// modes looks at who can open a file that may hold a secret.
func (x Exam) modes(path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return
	}
	x.warn(info.Mode()&0o077 != 0, "modes", "chmod go-rwx "+path,
		"others can open %s (mode %04o): a key or token in it may have been read, so have a new one",
		path, info.Mode().Perm())
}

func (x Exam) disk(dir string) {
	var disk unix.Statfs_t
	_ = unix.Statfs(dir, &disk) // what fails here fails below
	free := disk.Bavail * uint64(disk.Bsize) >> 20
	fewInodes := disk.Files > 0 && disk.Ffree < 10_000
	x.warn(free < 1<<10 || fewInodes, "disk", "df -h "+dir+"; df -i "+dir,
		"%d MiB and %d inodes are free", free, disk.Ffree)
	temp, err := os.MkdirTemp(dir, ".tmp-doctor-")
	defer os.RemoveAll(temp)
	began := time.Now()
	if err == nil {
		err = behaves(temp)
	}
	if err == nil {
		space := durable.Space{Dir: temp, Size: 1 << 20} // as before each call of a model
		err = space.Look()
		space.Close()
	}
	write := (time.Since(began) / 5).Round(100 * time.Microsecond)
	x.check(err, "file system", "df -hT "+dir+"; ls -ld "+dir,
		"it renames, links, appends and syncs; a durable write takes %s; %d MiB are free", write, free)
}

// behaves tries in an empty directory, with five writes, what package durable relies on.
func behaves(dir string) error {
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	for _, text := range []string{"old\n", "new\n"} {
		if err := durable.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := os.Link(path, link); err != nil {
		return err
	}
	for range 3 { // each by an opening of its own
		if _, _, err := durable.Append(path, []byte("more\n"), 0o600); err != nil {
			return err
		}
	}
	text, _ := os.ReadFile(link)
	if string(text) != "new\nmore\nmore\nmore\n" || os.Link(path, link) == nil {
		return fmt.Errorf("files here do not behave as Lethe needs it: %q", text)
	}
	return nil
}
