package replay

import "strings"

// The words that a generated trace is made of.
var (
	roots = strings.Fields("internal pkg cmd lib server client")
	nouns = strings.Fields(`account agent archive batch billing bucket buffer cache catalog channel chunk cluster config
		cursor delta digest export feed frame gateway graph header history import index invoice job journal kernel lease ledger
		limit linker manifest mirror module node notice object order packet parser partition payload pipeline plan pool profile
		proxy query queue quota range record region registry relay replica report request retry route rule sample schedule schema
		segment session shard signal snapshot source span spool stream table task tenant thread ticket token topic trace tree
		upload vault vector version volume watcher webhook window worker`)
	things = strings.Fields(`allocator bridge builder checker codec collector counter decoder encoder encryption entry error
		event factory filter format gate guard handle hash hook key layout listener loader lock loop map mapper merger monitor
		offset option order pager parser path policy printer prober rate reader recorder renderer resolver result rotation router
		scanner score set size sorter splitter stage state store sweep switch tail timeout timer tracker validator view walker writer`)
	verbs = strings.Fields(`accept acquire append apply assign attach bind build check claim clamp clear close collect commit
		compact compare compress convert copy count decode defer delete derive detach discover drain drop emit encode enqueue evict
		expand expire fetch filter find flush fold format gather grow handle hold inspect join list load lock lookup merge migrate move
		open pack parse patch pick poll prepare probe prune publish push read rebuild refresh release reload remove render replace
		report reset resolve restore resume retry rotate scan schedule seal select send shrink skip sort split start stop store sync
		take trim unpack update validate verify wait walk wrap write`)
	states = strings.Fields(`absent active ahead blocked broken busy clean closed committed corrupt dead dirty done draining
		duplicate early empty expired frozen full idle inflight invalid late leaked locked lost missing nil open orphaned partial
		pending primary queued ready released running sealed shared skewed stale stuck torn truncated unknown unsorted valid zero`)
	types    = strings.Fields("string []byte int int64 context.Context time.Duration *Node map[string]int io.Reader Options")
	names    = strings.Fields("ada ben carla dmitri eva farid greta hugo ines jonas kira liam mina noor otto paula quentin rosa sven tara uri vera wim xenia yuri zoe")
	symptoms = list(`deadlock after the second reload
index out of range
a nil map is written
the retry counter never resets
the last line is dropped
timestamps are off by one hour
memory grows without bound
two workers take the same lease
context deadline exceeded after 30s
the checksum does not match
a goroutine is leaked for each request
the response is empty with status 200
rows come back in another order
the file is left half written
a connection is reused after it was closed
unicode names are cut in the middle
the cache returns what was deleted
a negative duration panics
the lock is held across the upload
an error is swallowed and the job counts as done`)
	reports = list(`It happens when %s is called while a %s %s is being made.
I could reproduce it with %s and an empty %s %s.
Before the last release %s returned the %s %s at once.
Please look at %s first; the %s %s may be innocent.
Our staging cluster shows it every night: %s, then %s, then %s.
The workaround is to call %s twice, but the %s %s does not like it.
A customer lost a %[2]s %[3]s through %[1]s, so this is urgent.
It should fail loudly: nobody wants %s to return a half-made %s %s.`)
	statements = list(`if err := §(ctx, {n}); err != nil {
return fmt.Errorf("{v} {n}: %w", err)
{n}.{t} = append({n}.{t}, {f}({n}))
for _, {n} := range s.{t}s {
s.mu.Lock()
defer s.mu.Unlock()
if len({n}) > {#} || {n}.{T} == nil {
log.Printf("{n} %s: {s} after %d", {n}.ID, {#})
{t} := {f}({n}, {#})
case {n} := <-s.{t}:
select {
delete(s.{n}s, {t}.key)
n, err := §({t}[:{#}])
s.{t}.{v}({n}, time.Second*{#})
// A {s} {n} cannot {v} the {t} here, see {f}.
var {n} = make(map[string]*{T}, {#})
go s.{f}(ctx, {n})
if !{n}.{v}({t}) {
total += int64({n}.{t}) * {#}
h.Write([]byte({n}.{t}))`)
	thoughts = list(`This looks suspicious; I want to see
The order of the calls matters here. Reading
Nothing unusual so far. Next comes
I suspect that the state is shared. Checking
The comment does not fit the code, so I look at
Before I change anything I read
One more place that may hold the cause:
That explains half of it. The other half must be in`)
	edits = list(`The fix belongs into
I add a guard to
I make the failure visible in
I move the lock out of
I split
I return early from
A table-driven test for
I rename the parameter and simplify`)
	remarks = list(`how far are you with {issue}?
by the way, {person} says {func} was touched last week too
can you keep the diff small please
does {file} need a test as well?
ok, go on
wait, is that the same bug as last month?
{person} will review it, mention them in the commit
please explain in one sentence what {func} does wrong
good catch
I will be away until tomorrow, leave a summary
what about the {func} case that {person} found?
use the same names as in {file} please`)
	rules = list(`Never push to main; branches only, {person} merges.
Always run the race detector before you say that something is fixed.
Remember: {file} is generated, never edit it by hand.
From now on mention the issue number in each commit, like {issue}.
Never log the customer's name, not even in tests.
Always ask {person} before you touch the schema.`)
	replies = list(`Understood, I go on with that in mind.
Good point. I will check it after this change.
It is nearly done; the tests are running.
I will do that, and say so in the commit.
Yes, and there is a test for it already.
Not yet. I come back to it before I finish.`)
	talk = list(`thanks, that was quick
have a nice weekend
looks good to me
can you also write this down for the changelog later?
great, merging
the deploy went through, no alarms so far`)
)

// list is the lines of a text.
func list(text string) []string { return strings.Split(text, "\n") }
