package core_test

import (
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/accounts"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// gpuMem reads gpu-mem=SIZE or gpu-mem=auto.
func (s *script) gpuMem() int64 {
	if s.text("gpu-mem") == "auto" {
		return job.AutoGPUMem
	}
	return s.size("gpu-mem")
}

func (s *script) submit() {
	s.w.token++
	sub := job.Submission{
		Key: s.text("key"), Owner: job.Owner{UID: s.num("uid", 1001), User: "alice"}, Label: job.Label{Name: "j"},
		Request: job.Request{
			GPUMilli: s.milli(), GPUMemBytes: s.gpuMem(), MemBytes: s.size("mem"), CPUs: s.num("cpus", 0),
			GPUType: s.text("type"), TimeLimit: job.Span(s.duration("time")),
			MaxLoadPercent: s.num("max-load", 0), MaxUsedPercent: s.num("max-used", 0),
		},
	}
	sub.Request.GPUIDs = mustParse(s, job.ParseGPUList, s.text("ids"))
	sub.Request.GPUsFrom = mustParse(s, job.ParseGPUList, s.text("from"))
	sub.Request.ExcludeGPUs = mustParse(s, job.ParseGPUList, s.text("exclude"))
	if p, ok := s.value("priority"); ok {
		sub.Request.Priority = mustParse(s, job.ParsePriority, p)
	}
	sub.Admin, sub.Request.Screen = s.has("admin"), s.has("screen")
	s.readOptions(&sub.Request)
	if g, ok := s.value("groups"); ok {
		sub.Owner.Groups = strings.Split(g, ",")
	}
	if text, ok := s.value("gids"); ok {
		if err := sub.GIDs.UnmarshalText([]byte(text)); err != nil {
			s.t.Fatal(err)
		}
	}
	if name, ok := s.value("user"); ok {
		sub.Owner.User = name
	}
	if text, ok := s.value("requeue"); ok {
		yes := text == "yes"
		sub.Request.Requeue = &yes
	}
	if s.has("grace") {
		sub.Request.Grace = new(job.Span(s.duration("grace")))
	}
	s.feed(core.Submit{Token: s.w.token, Submission: sub})
}

// group uids=1001,1002 name=lab: put these accounts into a group; told: the daemon finds that out,
// as at a reload; quota=N: instead, allow the group N GPUs from now on.
func (s *script) group() {
	if s.has("quota") {
		s.w.policy.Quotas.Groups = map[string]job.Quota{s.text("name"): {GPUMilli: s.num("quota", 0) * job.WholeGPU}}
		s.feed(core.Configured{Policy: s.w.policy})
	}
	var found core.Enrolled
	for text := range strings.SplitSeq(s.text("uids"), ",") {
		uid := mustParse(s, strconv.Atoi, text)
		s.w.groups[uid] = append(s.w.groups[uid], s.text("name"))
		found.Members = append(found.Members, accounts.Member{UID: uid, Groups: s.w.groups[uid]})
	}
	if told := s.has("told"); told {
		s.feed(found)
	}
}

// siteLanes returns the lane matlab with the limit that the line gives.
func (s *script) siteLanes() map[string]int {
	if n := s.num("matlab", 0); n > 0 {
		return map[string]int{"matlab": n}
	}
	return nil
}

// pauseEnd returns the end of a pause whose length the line gives.
func (s *script) pauseEnd() time.Time {
	if d := s.duration("until"); d > 0 {
		return s.w.now.Add(d)
	}
	return time.Time{}
}

func (s *script) milli() int {
	text, ok := s.value("gpus")
	if !ok {
		return job.WholeGPU
	}
	milli := mustParse(s, job.ParseGPUs, text)
	return milli
}

// readOptions reads the options about how a job starts, ends and is retried: preemptible spread
// mps hold retries= notify=start,end/fail backoff= on-timeout=requeue warn=SIGNAL@TIME begin=IN
// after-ok=JOB array= max-failures= dedup=HASH batch=NAME lane=NAME=N shape=COMMAND script=PROGRAM.
func (s *script) readOptions(r *job.Request) {
	r.Preemptible, r.NoPark = s.has("preemptible"), s.has("no-park")
	r.Spread = s.has("spread")
	r.MPS = s.has("mps")
	r.Hold = s.has("hold-it")
	r.Retries, r.Backoff, r.Dedup = s.num("retries", 0), job.Span(s.duration("backoff")), s.text("dedup")
	r.OnTimeout = job.TimeoutAction(s.text("on-timeout"))
	if in := s.duration("begin"); in > 0 {
		r.Begin = s.w.now.Add(in)
	}
	if before := s.duration("warn"); before > 0 {
		r.WarnSignal, r.WarnBefore = 10, job.Span(before)
	}
	r.Script = s.text("script")
	r.Shape = s.text("shape")
	r.After = s.readDependencies()
	if r.Batch = s.text("batch"); r.Batch != "" {
		r.Objective = job.Makespan
	}
	if text, ok := s.value("array"); ok {
		a := mustParse(s, job.ParseArray, text)
		r.Array = a
	}
	r.MaxFailures, r.Lane = s.num("max-failures", 0), job.Lane(s.text("lane"))
	if text, ok := s.value("notify"); ok {
		r.Notify = notifyOf(text)
	}
}

// notifyOf reads requests for mail such as start,end/fail: a slash separates two requests.
func notifyOf(text string) (list []job.Notify) {
	for wish := range strings.SplitSeq(text, "/") {
		n := job.Notify{Way: job.NotifyMail}
		for on := range strings.SplitSeq(wish, ",") {
			n.On = append(n.On, job.NotifyEvent(on))
		}
		list = append(list, n)
	}
	return list
}

// readDependencies reads the words after= after-ok= after-fail= after-any=, each at most once.
func (s *script) readDependencies() (list []job.Dependency) {
	for _, kind := range []job.DependencyKind{job.AfterStart, job.AfterOK, job.AfterFail, job.AfterAny} {
		if on := s.num(string(kind), 0); on > 0 {
			list = append(list, job.Dependency{Kind: kind, Job: job.ID(on)})
		}
	}
	return list
}

// update changes a waiting job: priority= gpus= mem= time= preemptible=no retries= after-ok= limit=
// max-failures= lane=.
func (s *script) update() {
	ch := &job.Change{}
	if name, ok := s.value("name"); ok {
		ch.Name = &name
	}
	if text, ok := s.value("priority"); ok {
		p := mustParse(s, job.ParsePriority, text)
		ch.Priority = &p
	}
	if s.has("gpus") {
		ch.GPUMilli = new(s.milli())
	}
	if s.has("mem") {
		ch.MemBytes = new(s.size("mem"))
	}
	if s.has("gpu-mem") {
		ch.GPUMemBytes = new(s.gpuMem())
	}
	if s.has("cpus") {
		ch.CPUs = new(s.num("cpus", 0))
	}
	if d := s.duration("time"); d > 0 {
		ch.TimeLimit = new(job.Span(d))
	}
	if s.has("preemptible") {
		ch.Preemptible = new(s.text("preemptible") != "no")
	}
	if s.has("retries") {
		ch.Retries = new(s.num("retries", 0))
	}
	if list := s.readDependencies(); list != nil {
		ch.After = &list
	}
	if s.has("limit") {
		ch.ArrayLimit = new(s.num("limit", 0))
	}
	if s.has("max-failures") {
		ch.MaxFailures = new(s.num("max-failures", 0))
	}
	if s.has("lane") {
		ch.Lane = new(job.Lane(s.text("lane")))
	}
	s.command(job.Command{Kind: job.CommandUpdate, Job: s.id(), Change: ch, MemUsed: s.size("used")})
}

// reserve reserves GPUs for a user or a group: gpus=0,1 in=TIME for=TIME uid= gid=.
func (s *script) reserve() {
	list := mustParse(s, job.ParseGPUList, s.text("gpus"))
	from := s.w.now.Add(s.duration("in"))
	r := &job.Reservation{From: from, To: from.Add(s.duration("for")), Users: []job.Account{{UID: s.num("uid", 1002), User: "bob"}}}
	if gid := s.num("gid", 0); gid > 0 {
		r.Users, r.Groups = nil, []job.Group{{Name: "lab", GID: gid}}
	}
	for _, index := range list {
		r.GPUs = append(r.GPUs, job.Allocation{GPU: contract.GPU{Index: index}})
	}
	s.command(job.Command{Kind: job.CommandReserve, Reservation: r})
}

func (s *script) command(c job.Command) {
	s.w.token++
	who := job.Actor{UID: s.num("by", 1001), User: "alice"}
	if owner := s.w.jobs[c.Job].Owner; owner.UID == who.UID {
		who.User = owner.User
	}
	if who.UID == 0 {
		who.User, who.Admin = "root", true
	}
	if name, ok := s.value("as"); ok { // as: the present name of the account; admin: the account is in the admin group
		who.User = name
	}
	if s.has("admin") {
		who.Admin = true
	}
	s.feed(core.Command{Token: s.w.token, Who: who, What: c})
}
