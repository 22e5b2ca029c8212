package core_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

var update = flag.Bool("update", false, "write what the scripts print into testdata; read the difference before committing it")

// TestScripts runs the scripts testdata/*.txt. Each block has commands, a line "----" and then
// everything that results from the commands. Actions are answered at once unless a command says
// otherwise.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runScript(t, file) })
	}
}

func runScript(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimRight(string(data), "\n"), "\n\n") {
		head, _, isCommand := strings.Cut(block, "\n----")
		if !isCommand {
			out.WriteString(block + "\n\n")
			continue
		}
		s.out.Reset()
		for line := range strings.SplitSeq(head, "\n") {
			if !strings.HasPrefix(line, "#") {
				s.run(line)
			}
		}
		out.WriteString(head + "\n----\n" + s.out.String() + "\n")
	}
	got := strings.TrimRight(out.String(), "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != string(data) {
		t.Errorf("%s: the log differs (-update writes it); got:\n%s", file, got)
	}
	s.judge()
}

// script is the state of a script that runs.
type script struct {
	t    *testing.T
	w    *world
	out  strings.Builder
	args map[string]string
	read map[string]bool // those words of the line that the command has used
}

// judge fails the test if the world has seen a breach.
func (s *script) judge() {
	if s.w == nil {
		return
	}
	for _, f := range s.w.faults {
		s.t.Error(f)
	}
	s.w.faults = nil
}

func (s *script) log(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

// defaultMem reads default-mem=SIZE, the host memory for each GPU.
func (s *script) defaultMem() {
	if per := s.size("default-mem"); per > 0 {
		s.w.policy.DefaultMem = func(milli, _ int) int64 { return per * int64(milli) / job.WholeGPU }
	}
}

func (s *script) id() job.ID { return job.ID(s.num("job", 0)) }

// run executes one command line: a verb and key=value words.
func (s *script) run(line string) {
	words := strings.Fields(line)
	s.args, s.read = map[string]string{}, map[string]bool{}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		s.args[k] = v
	}
	verb, ok := verbs[words[0]]
	if !ok {
		s.t.Fatalf("unknown command %q", line)
	}
	verb(s)
	for key := range s.args {
		if !s.read[key] {
			s.t.Errorf("%q: %s reads no word %q here", line, words[0], key)
		}
	}
}

// feed gives an event to the core. Unless the line has the word "hold", feed also answers all
// actions that follow.
func (s *script) feed(ev core.Event) {
	s.w.step(ev, s.num("die", -1))
	if !s.has("hold") {
		s.w.settle()
	}
}

var verbs = map[string]func(*script){
	// machine gpus=N: a machine whose units are listed and whose GPUs are sampled. Without
	// max-foreign=SIZE, jobs start without a check, even on GPUs with foreign processes.
	"machine": func(s *script) {
		s.judge()
		s.w = newWorld(s.num("gpus", 1), func(string, ...any) {})
		s.w.policy.HostMemBytes = s.size("mem")
		s.w.policy.HostCPUs, s.w.policy.GPUCPUs = s.num("cpus", 0), s.num("gpu-cpus", 0)
		s.w.policy.MaxRunning, s.w.policy.NoGPUShare = s.num("max-running", 0), s.num("no-gpu-share", 0)
		s.w.policy.Quotas.Default = job.Quota{
			Queued: s.num("max-queued-per-user", 0), GPUMilli: s.num("quota-gpus", 0) * job.WholeGPU, Running: s.num("quota-jobs", 0), GPUHours: s.num("quota-hours", 0),
			Mem: job.Part{Percent: s.num("quota-mem", 0)}, CPUs: job.Part{Percent: s.num("quota-cpus", 0)},
		}
		s.w.policy.Quotas.Users = map[string]job.Quota{"carol": {Running: s.num("carol-jobs", 0)}}
		s.w.policy.Quotas.Groups = map[string]job.Quota{"lab": {GPUMilli: s.num("lab-gpus", 0) * job.WholeGPU, Share: s.num("lab-share", 0)}}
		s.w.policy.Sched.FIFO, s.w.policy.Lanes = s.has("fifo"), s.siteLanes()
		if slice := s.duration("slice"); slice > 0 {
			s.w.policy.Sched.Slice = slice
		}
		s.w.policy.MaxGrace, s.w.policy.StartsInFlight = s.duration("max-grace"), s.num("starts", 0)
		s.w.policy.MaxSuspend, s.w.policy.Sched.ReservationDepth = s.duration("max-suspend"), s.num("depth", s.w.policy.Sched.ReservationDepth)
		s.w.policy.MemReturn = site.MemReturn{Percent: s.num("mem-return", 0), After: s.duration("mem-after")}
		s.w.policy.Park = site.ParkPolicy{Allow: s.has("park"), Preempt: s.has("preempt"), MaxBytes: s.size("park-max")}
		s.w.policy.MaxTime, s.w.policy.MaxMemBytes = s.duration("max-time"), s.size("max-mem")
		s.defaultMem()
		if rows, ok := s.value("rows"); ok {
			s.w.policy.DrainPending, s.w.policy.DrainFailed = rows == "pending", rows != "never"
		}
		s.w.policy.MaxForeignBytes, s.w.policy.Prove = s.size("max-foreign"), s.has("prove")
		if s.has("unified") {
			for i := range s.w.gpus {
				s.w.gpus[i].MemTotalBytes, s.w.gpus[i].MemFreeBytes, s.w.gpus[i].MemReservedBytes = 0, 0, 0
			}
		}
		if size := s.size("reserved"); size > 0 {
			s.w.keepMemory(uint64(size) >> 20)
		}
		if part, ok := s.value("smallest-part"); ok {
			s.w.policy.SmallestPart = mustParse(s, job.ParseGPUs, part)
		}
		if at, ok := s.value("parts-on"); ok {
			s.w.policy.PartsOn = mustParse(s, job.ParseGPUList, at)
		}
		s.w.revive()
		s.w.step(s.w.listed(), -1)
		s.w.step(s.w.sample(0), -1)
		s.w.log = s.log
	},
	"submit": (*script).submit,
	// cancel job=N task=INDEX: cancel job N, or this task of array N; unawaited: only if no job
	// waits for it.
	"cancel": func(s *script) {
		what := job.Command{Kind: job.CommandCancel, Job: s.id()}
		if s.has("task") {
			what.Task = new(s.num("task", 0))
		}
		if s.has("grace") {
			what.Grace = new(job.Span(s.duration("grace")))
		}
		what.Unawaited = s.has("unawaited")
		s.command(what)
	},
	"signal": func(s *script) {
		s.command(job.Command{Kind: job.CommandSignal, Job: s.id(), Signal: s.num("signal", 10)})
	},
	"pause": func(s *script) {
		s.command(job.Command{Kind: job.CommandPauseGPU, GPU: s.num("gpu", 0), Reason: s.text("reason"), Until: s.pauseEnd()})
	},
	"resume": func(s *script) { s.command(job.Command{Kind: job.CommandResumeGPU, GPU: s.num("gpu", 0)}) },
	"drain": func(s *script) {
		s.command(job.Command{Kind: job.CommandDrainGPU, GPU: s.num("gpu", 0), Reason: s.text("reason"), Until: s.pauseEnd()})
	},
	"close": func(s *script) {
		c := job.Command{Kind: job.CommandDrain, Reason: s.text("reason"), Until: s.pauseEnd()}
		if s.has("reboot") {
			if c.Reboot = (&job.Reboot{Force: s.has("force")}); s.has("latest") {
				c.Reboot.By = s.w.now.Add(s.duration("latest"))
			}
		}
		s.command(c)
	},
	// no-reboot why=TEXT: the reboot was refused.
	"no-reboot": func(s *script) { s.feed(core.RebootRefused{Why: s.text("why")}) },
	// holders: print the jobs for which the reboot waits.
	"holders": func(s *script) {
		p := s.w.core.PlannedReboot(s.w.now)
		if p == nil {
			s.log("no reboot")
			return
		}
		var names []string
		for _, n := range p.Jobs {
			names = append(names, string(n.Append(nil)))
		}
		s.log("due=%t, held up by %v, refused %q", p.Order.Reboot.Due, names, p.Refused)
	},
	"open":    func(s *script) { s.command(job.Command{Kind: job.CommandUndrain}) },
	"hold":    func(s *script) { s.command(job.Command{Kind: job.CommandHold, Job: s.id()}) },
	"release": func(s *script) { s.command(job.Command{Kind: job.CommandRelease, Job: s.id()}) },
	"suspend": func(s *script) { s.command(job.Command{Kind: job.CommandSuspend, Job: s.id()}) },
	"go-on":   func(s *script) { s.command(job.Command{Kind: job.CommandResume, Job: s.id()}) },
	"park":    func(s *script) { s.command(job.Command{Kind: job.CommandPark, Job: s.id()}) },
	"unpark":  func(s *script) { s.command(job.Command{Kind: job.CommandUnpark, Job: s.id()}) },
	"copies":  (*script).copies,
	"requeue": func(s *script) { s.command(job.Command{Kind: job.CommandRequeue, Job: s.id()}) },
	"update":  (*script).update,
	"stand":   (*script).stand, "limits": (*script).limits,
	// lanes matlab=N: the site's lane has another limit from now on; N is 0: there is none.
	"lanes": func(s *script) {
		s.w.policy.Lanes = s.siteLanes()
		s.feed(core.Configured{Policy: s.w.policy})
	},
	"lower": (*script).lower, "never": (*script).never,
	"reserve": (*script).reserve,
	"unreserve": func(s *script) {
		s.command(job.Command{Kind: job.CommandUnreserve, Reservation: &job.Reservation{ID: int64(s.num("id", 1))}})
	},
	// exit job=N code= signal= oom stopped launch= peak=: the command ends; stopped: it ends while
	// its unit is being stopped; spent: no process is left; quiet: systemd's signal does not
	// arrive.
	"exit": (*script).exit,
	// vanish job=N: somebody else has stopped the unit.
	"vanish": func(s *script) {
		s.w.sweep(s.id())
		s.feed(core.Changed{Job: s.id()})
	},
	// "stuck job=N": from now on the job's processes survive SIGKILL. "stuck job=N no": they no
	// longer do.
	"stuck": func(s *script) {
		no := s.has("no")
		s.w.stuck[s.id()] = !no
	},
	// hangs job=N: the job's unit remains in phase Activating. It neither becomes active nor ends.
	"hangs": func(s *script) { s.w.units[s.id()].Phase = core.Activating },
	// stray job=N: somebody else makes a unit with the name of the job's unit; spent: that unit has
	// ended.
	"stray": func(s *script) {
		s.w.units[s.id()] = &unit{Unit: core.Unit{Job: s.id(), Phase: core.Active, Invocation: "stray"}}
		if s.has("spent") {
			s.w.units[s.id()].Phase, s.w.units[s.id()].Spent = core.Exited, true
		}
	},
	// uses job=N gpu=N mem=SIZE: a process of the job uses this much GPU memory. pid=N: the process
	// is a foreign one; dead: the process has ended; start=N: the tick at which the process began;
	// mem=unknown: its use is unknown; mem=none: the process is gone.
	"uses": func(s *script) {
		pid, unit := 1000+int(s.id()), fmt.Sprintf("gpujob-%d.service", s.id())
		if s.has("pid") {
			pid, unit = s.num("pid", 0), ""
		}
		s.w.hold(s.num("gpu", 0), pid, unit, s.readMemory())
		if list := s.w.gpus[s.num("gpu", 0)].Processes; s.text("mem") != "none" {
			p := &list[len(list)-1]
			p.Dead = s.has("dead")
			p.UID, p.Start, p.Age = s.num("uid", p.UID), uint64(s.num("start", 0)), s.duration("age")
			p.Kind, p.Comm = s.text("kind"), s.text("comm")
		}
	},
	"computes": func(s *script) { s.w.gpus[s.num("gpu", 0)].UtilGPUPercent = s.num("util", 0) },
	// samples n=N every=TIME: feed the core N samples at this interval, as the daemon does.
	"samples": func(s *script) {
		for range s.num("n", 1) {
			s.w.now = s.w.now.Add(s.duration("every"))
			s.feed(s.w.sample(0))
		}
	},
	// watch memory=warn|stop tolerance= patience= idle=warn|stop|park after= idle-patience=: set the
	// policy about the use of GPUs; down: the policy is in force only after the next start of the
	// daemon.
	"watch": func(s *script) {
		words := map[string]site.Response{"": site.Ignore, "warn": site.Warn, "stop": site.WarnAndStop, "park": site.WarnAndPark}
		s.w.policy.Usage = site.UsagePolicy{
			Memory: words[s.text("memory")], Tolerance: s.size("tolerance"), MemoryGrace: s.duration("patience"),
			Idle: words[s.text("idle")], IdleAfter: s.duration("after"), IdleGrace: s.duration("idle-patience"),
		}
		if !s.has("down") {
			s.feed(core.Configured{Policy: s.w.policy})
		}
	},
	// gpumem job=N: print the GPU memory that the job asks for, and the memory known from earlier
	// runs.
	"gpumem": func(s *script) {
		for _, v := range s.w.core.View(job.Query{IDs: []job.ID{s.id()}}, s.w.now).Jobs {
			s.log("job %d asks %s of GPU memory, %s is known", v.ID, job.FormatSize(v.Request.GPUMemBytes), job.FormatSize(v.MemKnown))
		}
	},
	"use": func(s *script) {
		for i, u := range s.w.core.View(job.Query{IDs: []job.ID{s.id()}}, s.w.now).Jobs[0].Uses {
			s.log("GPU %d of job %d: uses %s, peak %s, busy %d %%, over for %s, idle for %s, on record %s", i, s.id(), job.FormatSize(u.UsedBytes),
				job.FormatSize(u.PeakBytes), u.BusyPercent(), job.FormatDuration(u.Over), job.FormatDuration(u.Idle), job.FormatSize(s.w.jobs[s.id()].Attempt.GPUs[i].Use.PeakBytes))
		}
	},
	// needs job=N mem=SIZE after=TIME: after this time, a sample shows that the job uses this much host memory.
	"needs": func(s *script) {
		s.w.now = s.w.now.Add(s.duration("after"))
		s.feed(core.Measured{Usage: []core.Usage{{Job: s.id(), MemUsed: s.size("mem")}}})
	},
	// cpu job=N used=TIME after=TIME: after this time, the job has used this much CPU time.
	"cpu": func(s *script) {
		s.w.now = s.w.now.Add(s.duration("after"))
		s.feed(core.Measured{Usage: []core.Usage{{Job: s.id(), HostUse: job.HostUse{CPUTime: job.Span(s.duration("used"))}}}})
	},
	// no-lending: jobs no longer lend host memory.
	"no-lending": func(s *script) {
		s.w.policy.MemReturn = site.MemReturn{}
		s.feed(core.Configured{Policy: s.w.policy})
	},
	// sent job=N event=start|end which=N: the message was sent; why=WORD: it was not sent, for this
	// reason; again: another try may succeed.
	"sent": func(s *script) {
		e := core.Delivered{Job: s.id(), Event: job.NotifyEnd, Which: s.num("which", 0), Sent: s.text("why") == "", Why: job.Text(s.text("why"))}
		if s.has("event") {
			e.Event = job.NotifyEvent(s.text("event"))
		}
		e.Again = s.has("again")
		s.w.endDelivery(e)
		s.feed(e)
	},
	// answer job=N: answer this job's pending start. Without job=, answer the first pending action.
	"answer": func(s *script) {
		at := slices.IndexFunc(s.w.pending, func(a core.Action) bool {
			start, is := a.(core.Start)
			return s.id() == 0 || is && start.Job.ID == s.id()
		})
		s.feed(s.w.answer(at))
	},
	// slow job=N why=WORD: the job's start is slow for this reason.
	"slow": func(s *script) {
		s.feed(core.StartSlow{Job: s.id(), Attempt: s.w.jobs[s.id()].Attempt.Number, Why: s.text("why")})
		if slow := s.w.core.SlowStart(s.w.now); slow != nil {
			s.log("the start of job %d is long: %s", slow.Job.ID, slow.Why)
		}
	},
	// sample late=TIME: feed a sample that was read this long ago.
	"sample": func(s *script) {
		ev := s.w.sample(^uint64(0)).(core.Sampled)
		if late := s.duration("late"); late > 0 {
			ev.Snap.TakenUnixNano = s.w.now.Add(-late).UnixNano()
		}
		s.feed(ev)
	},
	"list":  func(s *script) { s.feed(s.w.listed()) },
	"retry": func(s *script) { s.feed(core.Tick{Retry: true}) },
	"wait": func(s *script) {
		s.w.now = s.w.now.Add(s.duration("for"))
		s.feed(core.Tick{})
	},
	// clock by=TIME: somebody sets the clock forward or back; down: while no daemon runs.
	"clock": func(s *script) {
		s.w.now, s.w.set = s.w.now.Add(s.duration("by")), s.w.set+s.duration("by")
		if !s.has("down") {
			s.feed(core.Tick{Clock: s.duration("by")})
		}
	},
	// began job=N: print how long ago the job began, by the clock as it is set now.
	"began": func(s *script) {
		j := s.w.core.View(job.Query{IDs: []job.ID{s.id()}}, s.w.now).Jobs[0]
		s.log("job %d began %s ago", s.id(), job.FormatDuration(s.w.now.Sub(j.Attempt.StartedAt)))
	},
	"bus": func(s *script) { s.w.busDown = s.text("is") == "down" },
	// driver problem=WORD: the driver has a problem; installed=VERSION loaded=VERSION: those
	// versions of the driver that are known.
	"driver": func(s *script) {
		s.w.problem = gpu.Problem(s.text("problem"))
		s.w.driver = gpu.DriverVersions{Installed: s.text("installed"), Loaded: s.text("loaded")}
		s.feed(s.w.sample(0))
	},
	// cuda gpu=N says=WORD text=WORD: from now on, tests of the GPU with CUDA give this answer;
	// says=none: no answer.
	"cuda": func(s *script) {
		if s.w.cuda == nil {
			s.w.cuda = map[string]core.Proved{}
		}
		s.w.cuda[s.w.gpus[s.num("gpu", 0)].UUID] = core.Proved{Says: gpu.Proof(s.text("says")), Text: strings.ReplaceAll(s.text("text"), "_", " ")}
	},
	"gpu": (*script).changeGPU,
	// pull gpu=N: the GPU disappears, and the GPUs after it get other indexes; push: the GPU is
	// back.
	"pull": func(s *script) {
		s.w.gpus, s.w.pulled = slices.Delete(slices.Clone(s.w.gpus), s.num("gpu", 0), s.num("gpu", 0)+1), s.w.gpus
		s.w.renumber()
		s.feed(s.w.sample(0))
	},
	"push": func(s *script) {
		s.w.gpus = s.w.pulled
		s.w.renumber()
		s.feed(s.w.sample(0))
	},
	// slices gpu=N of=LIST: from now on the GPU in MIG mode has slices of these types; "of=" alone:
	// none.
	"slices": (*script).slices,
	// silent gpu=N name=WORD: the driver lists the GPU, but can read only this name of it, or
	// nothing; answers: the driver can read the GPU again.
	"silent": func(s *script) {
		g := gpu.Device{Index: s.num("gpu", 0), Minor: -1, Health: gpu.HealthLost, HealthDetail: "it does not answer"}
		if g.Name = s.text("name"); g.Name != "" {
			g.UUID, g.Minor = fmt.Sprintf("GPU-%d", g.Index), g.Index
		}
		s.w.gpus = []gpu.Device{g}
	},
	"answers": func(s *script) { s.w.gpus = newWorld(s.num("gpu", 0)+1, s.w.log).gpus },
	// xid gpu=N code=N pid=N text=WORD: the driver reports an error of this process; job=N: the
	// process is in that job's control group.
	"xid": func(s *script) {
		rest := s.text("code")
		if pid, ok := s.value("pid"); ok {
			rest += ", pid=" + pid
		}
		ev := s.w.xid(s.num("gpu", 0), rest+", "+strings.ReplaceAll(s.text("text"), "_", " "))
		ev.Job = s.id()
		s.feed(ev)
	},
	// plug cpus=N: from now on, jobs may use N CPUs.
	"plug": func(s *script) {
		s.w.policy.HostCPUs = s.num("cpus", 0)
		s.feed(core.Configured{Policy: s.w.policy})
	},
	// strays are=end|keep|tell: set the policy about strays.
	"strays": func(s *script) {
		s.w.policy.Strays = map[string]site.Strays{"end": site.EndStrays, "keep": site.KeepStrays, "tell": site.TellStrays}[s.text("are")]
		s.feed(core.Configured{Policy: s.w.policy})
	},
	// strangers are=show|tell|end after=TIME: set the policy about strangers.
	"strangers": func(s *script) {
		s.w.policy.Strangers = map[string]site.Strangers{"show": site.ShowStrangers, "tell": site.TellStrangers, "end": site.EndStrangers}[s.text("are")]
		s.w.policy.StrangersAfter, s.w.policy.FirstUID = s.duration("after"), 1000
		s.feed(core.Configured{Policy: s.w.policy})
	},
	// troubles: print the reasons why jobs are not started.
	"troubles": func(s *script) {
		for _, t := range s.w.core.StartTroubles(s.w.now) {
			s.log("%d starts of %q failed: %v, next %s, nobody's since: %t", t.Starts, t.User, t.Why, t.Next.Format("15:04:05"), t.All)
		}
	},
	// person uid=N of=N: from now on the first account (uid) belongs to the second (of); unsure:
	// nobody knows that for certain.
	"person": func(s *script) {
		unsure := s.has("unsure")
		s.w.persons[s.num("uid", 0)] = gpus.Person{UID: s.num("of", 0), Unsure: unsure}
	},
	// whose gpu=N: print the job of each process on the GPU.
	"whose": func(s *script) {
		for _, p := range s.w.core.View(job.Query{}, s.w.now).GPUs[s.num("gpu", 0)].Processes {
			s.log("process %d: job %d, stray %t", p.PID, p.Job, p.Stray)
		}
	},
	// die after=TIME: the daemon is killed, and is started again after this time.
	"die": func(s *script) {
		s.w.now = s.w.now.Add(s.duration("after"))
		s.w.revive()
		s.log("the daemon starts again")
		if due := s.w.core.Deadline(); !due.IsZero() && !due.After(s.w.now) { // a back-off has ended
			s.w.core.Step(core.Tick{}, s.w.now)
		}
		if due := s.w.core.Deadline(); !due.IsZero() && !due.After(s.w.now) {
			s.t.Errorf("before the units are listed a tick is due that does nothing")
		}
		for _, ev := range s.w.kernel {
			s.feed(ev)
		}
		s.feed(s.w.listed())
		if !s.has("unsampled") { // the driver does not answer yet
			s.feed(s.w.sample(0))
		}
	},
	"reboot": func(s *script) {
		s.w.reboot()
		s.log("the machine starts again")
		s.feed(s.w.listed())
		s.feed(s.w.sample(0))
	},
	// soft-reboot: systemd is started anew under the same kernel.
	"soft-reboot": func(s *script) {
		s.w.soft++
		s.w.userspace()
		s.log("systemd starts again")
		for _, ev := range s.w.kernel {
			s.feed(ev)
		}
		s.feed(s.w.listed())
		s.feed(s.w.sample(0))
	},
	// "leaving": from now on systemd stops everything. "leaving no": it no longer does.
	"leaving": func(s *script) {
		no := s.has("no")
		s.w.leaving = !no
		s.feed(core.Leaving{Not: no})
	},
	// planned in=TIME how=HOW: logind has scheduled a shutdown or reboot; none: it is called off.
	"planned": func(s *script) {
		if s.has("none") {
			s.feed(core.Planned{})
			return
		}
		how := s.text("how")
		s.feed(core.Planned{End: job.Shutdown{At: s.w.now.Add(s.duration("in")), How: cmp.Or(how, "reboot")}})
	},
	// "unable": systemd can't start any unit from now on. "unable no": it can again.
	"unable": func(s *script) {
		no := s.has("no")
		s.w.unable = !no
	},
	// "expired uid=N": the account can't run anything from now on. "expired uid=N no": it can again.
	"expired": func(s *script) {
		no := s.has("no")
		s.w.expired[s.num("uid", 1001)] = !no
	},
	// heir uid=N user=NAME: from now on another account has the number; ?: its name is unknown;
	// none: the account on record has the number again.
	"heir": func(s *script) { s.w.heirs[s.num("uid", 1001)] = s.text("user") },
	// find-renamed: the daemon looks up the present names of the accounts of waiting jobs, as at a
	// release of jobs.
	"find-renamed": func(s *script) {
		for _, a := range s.w.core.WaitingAccounts(job.Query{}, s.w.now) {
			if name := s.w.heirs[a.UID]; name != "" && name != a.User {
				s.feed(core.AccountGone{Was: a.User, Heir: job.Account{UID: a.UID, User: name}})
			}
		}
	},
	"group": (*script).group,
	// slurm minors=LIST: reload the settings, with these GPUs assigned to Slurm; every: all GPUs.
	"slurm": func(s *script) {
		s.w.policy.SlurmGPUs.Every = s.has("every")
		s.w.policy.SlurmGPUs.Minors = mustParse(s, job.ParseGPUList, s.text("minors"))
		s.feed(core.Configured{Policy: s.w.policy})
	},
	// reload default-mem=SIZE: reload the settings; from now on a job gets that much host memory
	// for each GPU by default.
	"reload": func(s *script) {
		s.defaultMem()
		s.feed(core.Configured{Policy: s.w.policy})
	},
	"why": func(s *script) {
		v := s.w.core.View(job.Query{IDs: []job.ID{s.id()}, Reasons: true}, s.w.now)
		start := ""
		if at := v.Jobs[0].Start.At; !at.IsZero() {
			start = "; expected to start in " + job.FormatDuration(at.Sub(s.w.now))
		}
		s.log("job %d %s%s%s", s.id(), v.Jobs[0].State, reasonText(v.Jobs[0].Reasons), start)
	},
	// asks job=N: print the derived parts of the job's request.
	"asks": func(s *script) {
		r := s.w.core.View(job.Query{IDs: []job.ID{s.id()}}, s.w.now).Jobs[0].Request
		s.log("job %d asks %s of host memory, preemptible %t, the first retry after %s", s.id(), job.FormatSize(r.MemBytes), r.Preemptible, r.Backoff)
	},
	// count job=N: print the part of the machine as which the job counts.
	"count": func(s *script) {
		j := s.w.core.View(job.Query{IDs: []job.ID{s.id()}}, s.w.now).Jobs[0].Job
		s.log("job %d counts for %s", s.id(), job.CPUs(j.CPUs()))
	},
	"gpus": func(s *script) {
		for _, g := range s.w.core.View(job.Query{}, s.w.now).GPUs {
			s.log("GPU %d %s %s%s %v", g.Index, g.State, g.StateDetail, g.Doubt, g.Jobs)
		}
	},
}
