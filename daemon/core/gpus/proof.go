package gpus

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

// A GPU that the driver's library calls well may still fail with CUDA. So each GPU is tested with
// CUDA before its first job in a boot. It is tested again after a change of the driver, a reset, a
// loss, the end of a drain or of a rest (see failing.go), and after a job failed at once on it.
// Until the test has ended, the GPU takes no job. The failed job waits for the test. If the GPU is
// at fault, the job is queued again.
const (
	// excuseLasts is a time that begins when a job fails at once on a GPU that is then found well.
	// In this time, if a similar job of the same account fails at once, its GPU is tested only if
	// it seems to be at fault. So an array whose tasks all fail costs few tests.
	excuseLasts = time.Minute

	// proofLimit is the time after which a test without an answer says nothing about its GPU. The
	// shell answers sooner.
	proofLimit = 6 * time.Minute
)

// proof is the state of a GPU's tests with CUDA. Only the key of the last good test is stored.
type proof struct {
	wanted bool        // the GPU is to be tested before its next job
	check  bool        // the site's own check is part of the test
	begun  time.Time   // when the test that runs now began; zero: no test runs
	at     time.Time   // when the last test ended
	of     string      // the key that was valid when the last test ended
	silent job.Message // why the last test says nothing; zero: it says something
	jobs   []job.ID    // failed jobs that wait for the test
}

// proves reports whether GPUs are tested: the site must want tests, and the library must be
// installed.
func proves(b *inventory) bool { return b.policy.Prove && b.last.hasCUDA }

// untested returns the reason why jobs get a GPU without a test. If the GPU is tested, it is zero.
func (p *proof) untested(b *inventory) job.Message {
	if b.policy.Prove && b.seen && !b.last.hasCUDA {
		return job.Text(gpu.NoCUDA)
	}
	return p.silent
}

// isDue reports whether the GPU takes no job until a test has ended.
func (p *proof) isDue(b *inventory) bool {
	return proves(b) && (p.wanted || !p.begun.IsZero())
}

// wantProof asks for a test of a GPU, with the site's own check, whatever an earlier test said.
func (b *Book) wantProof(d *device) {
	d.proof.wanted, d.proof.check = true, true
	if g := b.controls[d.UUID]; g.Fault.Proved != "" {
		g.Fault.Proved = ""
		b.recordControl(g)
	}
}

// ProofWanted asks for a test of a GPU with CUDA.
type ProofWanted struct {
	contract.GPU
	Check bool // if CUDA works on the GPU, the site's own check follows
}

// ProofEnded is the end of a test. Text is for people.
type ProofEnded struct {
	UUID string
	Says gpu.Proof
	Text string
}

// proofKey returns the boot and the driver. A good test is valid as long as they do not change.
func (b *inventory) proofKey() string {
	return b.boot() + " " + cmp.Or(b.last.versions.Loaded, b.last.driver)
}

// checkProof asks for a test of a GPU that was lost. It also asks for a test if there was none in
// this boot, or none with the present driver.
func (b *Book) checkProof(d *device) {
	key := b.proofKey()
	isNew := proves(&b.inventory) && d.proof.of != key && b.controls[d.UUID].Fault.Proved != key
	if isNew || !d.lostSince.IsZero() {
		b.wantProof(d)
	}
}

// AwaitProof reports whether the end of a job that failed at once must wait for tests of its GPUs.
// If so, it asks for these tests.
func (b *Book) AwaitProof(l *tracked.Job, r *job.Result, over, now time.Time) (wait bool) {
	switch {
	case !b.policy.Prove || !failedAtOnce(l.Job, r, over):
		return false
	case !b.seen: // the daemon has just started
		return len(l.HeldGPUs()) > 0
	case !proves(&b.inventory):
		return false
	}
	culprit, _ := b.judge(l, r, over, b.doWell)
	excused := now.Sub(b.excuses[excuseOf(l)]) < excuseLasts
	for _, d := range b.gpusOf(l.Job) {
		tested := !d.proof.at.Before(over) || excused && d != culprit
		if state, _ := b.stateUnproved(d, now); state != sched.OK || tested && !d.proof.isDue(&b.inventory) {
			continue
		}
		d.proof.wanted, wait = true, true
		d.proof.jobs = append(d.proof.jobs, l.ID)
	}
	return wait
}

// excuse identifies jobs that are alike: those of one account with one command.
type excuse struct {
	account *sched.Account
	shape   string
}

// excuses contains, for jobs that are alike, when such a job last failed on a GPU that was then
// found well.
type excuses map[excuse]time.Time

func excuseOf(l *tracked.Job) excuse { return excuse{l.Account, l.Request.Shape} }

// Awaits reports whether a failed job still waits for a test. If its GPU can't be tested now, it
// does not wait.
func (b *Book) Awaits(id job.ID, now time.Time) bool {
	return !b.seen || slices.ContainsFunc(b.devices, func(d *device) bool {
		if !slices.Contains(d.proof.jobs, id) || !d.proof.isDue(&b.inventory) {
			return false
		}
		state, _ := b.stateUnproved(d, now)
		return !d.proof.begun.IsZero() || state == sched.OK
	})
}

// BeginProofs begins the tests that are due. If a GPU is out of service, or held as a whole by
// running jobs, its test begins later.
func (b *Book) BeginProofs(now time.Time) {
	for _, d := range b.devices {
		if !d.proof.isDue(&b.inventory) || !d.proof.begun.IsZero() || d.UUID == "" || b.byIndex(d.Index) != d {
			continue
		}
		busy := len(d.proof.jobs) == 0 && b.jobs.ShareHeld(d.UUID) >= job.WholeGPU
		if state, _ := b.stateUnproved(d, now); state != sched.OK || busy {
			continue
		}
		d.proof.begun = now
		b.addFinding(ProofWanted{GPU: d.contract(), Check: d.proof.check})
	}
}

// Proved handles the end of a test.
func (b *Book) Proved(e *ProofEnded, now time.Time) {
	at := slices.IndexFunc(b.devices, func(d *device) bool { return d.UUID == e.UUID && !d.proof.begun.IsZero() })
	if at < 0 {
		return
	}
	d := b.devices[at]
	for _, id := range d.proof.jobs {
		if l := b.jobs.Active(id); l != nil && e.Says == gpu.ProofWell {
			maps.DeleteFunc(b.excuses, func(_ excuse, at time.Time) bool { return now.Sub(at) >= excuseLasts })
			b.excuses[excuseOf(l)] = now
		}
	}
	d.proof = proof{at: now, of: b.proofKey()}
	g := b.controls[d.UUID]
	switch {
	case e.Says.Sick():
		b.faultOfThisBoot(&g, d)
		what := job.Say(job.FaultCUDA, e.Text)
		if e.Says == gpu.ProofCheck {
			what = job.Say("detail/site-check", e.Text)
		}
		if needs := e.Says.Needs(e.Text); heavier(needs, gpu.Recovery(g.Fault.Recovery)) {
			g.Fault = g.Fault.With(job.GPUFault{
				Boot: b.boot(), Seq: g.Fault.Seq, Recovery: string(needs), What: what, At: now,
			})
		}
		b.recordControl(g)
	case e.Says == gpu.ProofWell && g.Fault.Proved != d.proof.of:
		g.UUID, g.Fault.Proved = d.UUID, d.proof.of
		b.recordControl(g)
	case e.Says == gpu.ProofNoLibrary && e.Text == gpu.NoCUDA: // the library was removed after the last sample
		b.last.hasCUDA = false
	case e.Says != gpu.ProofWell:
		d.proof.silent = job.Text(e.Text)
	}
	if e.Says != gpu.ProofNoLibrary {
		b.addFinding(SampleWanted{b.NextSample()}) // the last sample may show the test's own process
	}
}

// cudaFails reports whether CUDA fails on a GPU.
func (b *inventory) cudaFails(d *device) bool {
	f := b.controls[d.UUID].Fault
	return f.Boot == b.boot() && f.OfCUDA()
}

// driverAgrees asks for new tests of the GPUs on which CUDA failed because an upgraded driver was
// not loaded. The driver is loaded now, or the upgrade was undone.
func driverAgrees(b *Book) {
	for _, d := range b.devices {
		g := b.controls[d.UUID]
		if !b.cudaFails(d) || g.Fault.Recovery != string(gpu.RecoverReboot) {
			continue
		}
		g.Fault = g.Fault.With(job.GPUFault{Boot: b.boot(), Seq: max(b.kernelSeq, g.Fault.Seq)})
		b.recordControl(g)
		b.wantProof(d)
	}
}
