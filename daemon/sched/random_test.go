package sched

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

const gib = int64(1) << 30

// noon is the present moment of the drawn states.
const noon = Instant(1_700_000_000_000_000_000)

// ago returns a moment before noon. Instant.Add gives only later moments.
func ago(d time.Duration) Instant { return noon - Instant(d) }

// randomMachine is a machine with a queue, both drawn at random. Values come from small sets, so
// that ties are frequent.
type randomMachine struct {
	*rand.Rand
	sharing  *rand.Rand // of the jobs that use MPS
	parking  *rand.Rand // of parked jobs, and of those that can be parked; nil: there are none
	s        Snapshot
	accounts []*Account
	waiting  []*Waiting
	q        *Queue
	most     int // the value of Planner.maxFailedShapes
	sift     int // the value of walk.siftAfter

	stoppable bool // a preemptible job was started
}

func draw(seed uint64) *randomMachine {
	d := &randomMachine{Rand: rand.New(rand.NewPCG(seed, 7)), sharing: rand.New(rand.NewPCG(seed, 8)), q: NewQueue(), most: maxFailedShapes}
	if seed%4 == 0 {
		d.most = 1
	}
	if seed%3 == 0 {
		d.parking = rand.New(rand.NewPCG(seed, 10))
	}
	d.s = Snapshot{Now: noon, Machine: seed + 1}
	d.s.ParkBytes = d.copy(3)
	d.policy()
	d.drawAccounts()
	for i := range 1 + d.IntN(8) {
		d.gpu(i)
	}
	d.links()
	for i := range d.IntN(6) {
		d.addRunning(job.ID(1000 + i))
	}
	d.host()
	for range max(0, d.IntN(6)-3) {
		d.reserved()
	}
	for len(d.s.Reserved) > 0 && seed%8 == 1 && len(d.s.Reserved) <= 64 { // more advance reservations than a word has bits
		d.s.Reserved = append(d.s.Reserved, d.s.Reserved...)
	}
	d.sift = pick(d, 0, 0, 8)
	d.drawQueue()
	d.drawEnd()
	return d
}

// drawing returns the number of seeds to try. With -short it returns fewer, since the tests then
// run once for each mutant.
func drawing(seeds uint64) uint64 {
	if testing.Short() {
		return max(1, seeds/5)
	}
	return seeds
}

func pick[T any](d *randomMachine, list ...T) T { return list[d.IntN(len(list))] }

// chance returns true in n of ten cases.
func (d *randomMachine) chance(n int) bool { return d.IntN(10) < n }

func (d *randomMachine) policy() {
	d.s.Policy = Policy{
		FIFO: d.chance(3), HalfLife: pick(d, 0, time.Hour, 168*time.Hour), GuardAfter: pick(d, 0, time.Hour),
		ReservationDepth: pick(d, 0, 1, 1, 1, 2, 3), Slice: pick(d, 0, 30*time.Minute),
		MaxLoadPercent: pick(d, 0, 0, 50), MaxUsedPercent: pick(d, 0, 0, 60), MinFreeBytes: pick(d, 0, 0, gib),
	}
	d.s.Policy.Patience = pick(d, 0, 1, 2, 50)
	d.s.GuardOpen = d.chance(5)
	d.s.Policy.RestartCost, d.s.ForStops = pick(d, 0, time.Minute), time.Hour
	if d.chance(1) {
		d.s.ForStops = pick(d, -time.Minute, 90*time.Second)
	}
}

func (d *randomMachine) drawAccounts() {
	group := &Account{UID: -1, Name: "lab", MaxJobs: pick(d, 0, 0, 3), MaxMilli: pick(d, 0, 0, 4000), Share: pick(d, 0, 0, 1, 3)}
	group.MaxMem, group.MaxCPUs = pick(d, 0, 0, 16*gib), pick(d, 0, 0, 8)
	group.Restore(pick(d, 0, 0, 10*time.Hour), ago(time.Hour))
	for i := range 1 + d.IntN(3) {
		a := &Account{
			UID: 1001 + i, Name: string(rune('a' + i)), Share: d.IntN(3),
			MaxJobs: pick(d, 0, 0, 0, 2), MaxMilli: pick(d, 0, 0, 0, 1500, 3000), MaxUsage: pick(d, 0, 0, 0, 2*time.Hour),
		}
		if d.chance(3) {
			a.Groups = []*Account{group}
		}
		if d.IntN(25) == 0 {
			a.Barred = "it has expired"
		}
		a.MaxMem, a.MaxCPUs = pick(d, 0, 0, 0, 12*gib), pick(d, 0, 0, 0, 6)
		a.Restore(pick(d, 0, 0, time.Hour, 5*time.Hour), ago(time.Hour))
		d.drawCapped(a)
		d.accounts = append(d.accounts, a)
	}
}

// drawCapped draws for how long, and for which sizes, the account was at its quotas.
func (d *randomMachine) drawCapped(a *Account) {
	if d.chance(6) {
		return
	}
	had := a.MaxMilli
	for _, at := range []Instant{ago(90 * time.Minute), ago(80 * time.Minute), ago(30 * time.Minute), ago(10 * time.Minute)} {
		a.MaxMilli = pick(d, 0, 1, 1000, 2500)
		a.CountCapped(at, false)
	}
	a.MaxMilli = had
}

func (d *randomMachine) gpu(i int) {
	g := GPU{
		Index: i, Model: pick(d, "NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB", "NVIDIA H100"), State: OK,
		MemTotalBytes: 80 * gib, MemFreeBytes: pick[int64](d, 80, 80, 80, 79, 40, 10) * gib, SlackBytes: pick(d, 0, gib),
		LoadPercent: pick(d, 0, 0, 0, 70),
	}
	if g.Foreign = d.chance(3); g.Foreign {
		g.ForeignBytes = min(pick(d, gib, 0, 30*gib), g.MemTotalBytes-g.MemFreeBytes)
		g.ForeignComputes, g.Occupied = d.chance(5), d.chance(5)
	}
	g.WholeOnly = d.chance(1)
	if d.sharing.IntN(10) == 0 {
		g.NoMPS = job.Text("for tests")
	}
	g.UsableBytes = g.MemTotalBytes - pick(d, 0, gib)
	if d.chance(2) {
		g.State = pick(d, Paused, Drained, Unknown, Lost, Cleaning, Suspect)
		g.CleaningAfter = 9
		if g.State == Cleaning || d.chance(3) {
			g.ReadyAt = noon.Add(pick(d, 0, time.Second, 10*time.Minute))
		}
	}
	d.s.GPUs = append(d.s.GPUs, g)
}

func (d *randomMachine) links() {
	n := len(d.s.GPUs)
	if d.chance(4) {
		return
	}
	d.s.Links = make([]int32, n*n)
	for a := range n {
		for b := range a {
			d.s.Links[a*n+b] = pick[int32](d, 0, 1, 8)
			d.s.Links[b*n+a] = d.s.Links[a*n+b]
		}
	}
}

// addRunning puts a running job on GPUs that have room.
func (d *randomMachine) addRunning(id job.ID) {
	r := Running{
		ID: id, MemBytes: pick(d, 0, 4*gib), CPUs: pick(d, 0, 0, 2, 4), End: noon.Add(time.Duration(d.IntN(8)) * 100 * time.Second), Stopping: d.chance(1),
		Preemptible: d.chance(4), Priority: d.priority(), Account: pick(d, d.accounts...), Expected: d.expected(),
		Served: pick(d, 0, 0, time.Hour), Guarded: d.chance(1),
	}
	r.Effort, r.Program, r.Untried = d.drawEffort()
	r.Start, r.Notice = ago(pick(d, 0, time.Minute, time.Hour)), pick(d, 0, 0, time.Minute, time.Hour)
	r.Since = r.Start - Instant(pick(d, 0, time.Minute, time.Hour))
	r.Late = r.End.Add(pick(d, -time.Hour, 0, time.Minute, 5*time.Minute, time.Hour))
	milli, left := pick(d, 250, 500, 1000, 1000), 1+d.IntN(3)
	r.Parks, r.ParkBytes = d.parks(5), d.copy(1)
	if r.Returned = ago(20 * time.Minute); !d.parks(3) {
		r.Returned = 0
	}
	if r.SuspendedTime = 10 * time.Minute; !d.parks(3) {
		r.SuspendedTime = 0
	}
	parked := d.parks(1)
	mates := d.mates(milli)
	asked := 0
	for i := range d.s.GPUs {
		g := &d.s.GPUs[i]
		joins := len(g.Held) == 0 || g.Held[0].Mates == mates && mates != job.NoMates
		if left == 0 || parked || g.share() < milli || !joins || d.chance(3) {
			continue
		}
		promise := pick(d, 0, int64(milli)*gib*8/1000)
		seen := min(pick(d, 0, gib, 4*gib), g.MemFreeBytes)
		g.MemFreeBytes -= seen
		g.Held = append(g.Held, Hold{Job: id, Milli: milli, PromiseBytes: promise, SeenBytes: seen, Mates: mates})
		r.Grants = append(r.Grants, Grant{GPU: i, Milli: milli, Bytes: max(promise, seen), Mates: mates})
		asked += milli
		if left--; milli < 1000 {
			left = 0
		}
	}
	if r.Quota = asked; parked {
		r.Quota, r.Parks = 1000, false
	}
	if asked == 0 {
		r.Parks = false
	}
	for _, a := range append([]*Account{r.Account}, r.Account.Groups...) {
		a.Start(asked, gpuRate(asked), noon, d.s.Policy.HalfLife)
		a.Promise(r.MemBytes, r.CPUs)
		a.Charge(gpuRate(asked), time.Duration(noon-r.Start), 0, noon, d.s.Policy.HalfLife)
	}
	d.s.Running = append(d.s.Running, r)
}

// parks returns true in n of ten cases, if any job can be parked.
func (d *randomMachine) parks(n int) bool { return d.parking != nil && d.parking.IntN(10) < n }

// copy draws the host memory for a few copies.
func (d *randomMachine) copy(n int) int64 {
	if d.parking == nil {
		return 0
	}
	return int64(d.parking.IntN(3*n)) * 4 * gib
}

// drawReturn turns a job into a parked job that waits for its GPUs, or into one that can be parked.
func (d *randomMachine) drawReturn(w *Waiting) {
	if w.Parks = d.parks(3); w.Request.GPUMilli == 0 || w.Request.Devices() > len(d.s.GPUs) || !d.parks(3) {
		return
	}
	r := *w.Request
	r.GPUIDs, r.GPUsFrom, r.ExcludeGPUs = d.parking.Perm(len(d.s.GPUs))[:r.Devices()], nil, nil
	w.Request, w.Returns = &r, true
	w.Count, w.Throttle = 1, nil
}

// mates draws the mates of a job with these GPUs.
func (d *randomMachine) mates(milli int) job.Mates {
	if milli <= 0 || milli >= job.WholeGPU {
		return 0
	}
	all := [...]job.Mates{0, 0, 0, job.MatesOf(1001), job.MatesOf(1001), job.MatesOf(1002), job.NoMates}
	return all[d.sharing.IntN(len(all))]
}

func (d *randomMachine) host() {
	d.s.Host = Host{MemBytes: pick(d, 0, 32*gib), Running: len(d.s.Running), MaxRunning: pick(d, 0, 0, 0, 4, 8), GPUsSeen: true}
	d.s.Host.NoGPUSlots, d.s.Host.NoGPUMem = pick(d, 0, 0, 1, 3), pick(d, 0, 0, 8*gib, 16*gib)
	d.s.Host.CPUs, d.s.Host.NoGPUCPUs = pick(d, 0, 8, 8, 4), pick(d, 0, 0, 6, 2)
	if d.s.Host.CPUs > 0 {
		d.s.Host.GPUCPUs = pick(d, 0, 6, 8)
	}
	for _, r := range d.s.Running {
		d.s.Host.PromisedMem += r.MemBytes
		d.s.Host.PromisedCPUs += r.CPUs
	}
}

func (d *randomMachine) reserved() {
	r := AdvanceReservation{From: noon + Instant(pick(d, -time.Hour, 5*time.Minute, time.Hour)), Detail: job.Text("for tests")}
	r.To = r.From.Add(pick(d, 30*time.Minute, 2*time.Hour))
	for range d.s.GPUs {
		r.GPUs = append(r.GPUs, d.chance(4))
	}
	if d.chance(3) {
		r.UIDs = []int{1001}
	}
	if d.chance(3) {
		r.Groups = []string{"lab"}
	}
	d.s.Reserved = append(d.s.Reserved, r)
}

// drawEnd draws a planned shutdown in a few of the states.
func (d *randomMachine) drawEnd() {
	if d.chance(2) {
		d.s.End = AdvanceReservation{From: noon + Instant(pick(d, -time.Minute, 5*time.Minute, 30*time.Minute, 7*time.Hour))}
		d.s.End.To = pick(d, d.s.End.From.Add(10*time.Minute), Never, noon-Instant(time.Second))
	}
}

func (d *randomMachine) priority() job.Priority {
	return job.Priority{Class: pick(d, job.Normal, job.Normal, job.Normal, job.High, job.Scavenger), Number: pick(d, 0, 0, 0, 5)}
}

func (d *randomMachine) expected() time.Duration {
	return pick(d, 30*time.Second, 100*time.Second, 128*time.Second, 500*time.Second, time.Hour)
}

// drawEffort draws the values that rank preemptible jobs.
func (d *randomMachine) drawEffort() (time.Duration, predict.Kind, bool) {
	effort := pick(d, 0, time.Second, 40*time.Second, time.Hour, 3*time.Hour)
	return effort, pick(d, predict.Kind{}, predict.Kind{}, predict.Kind{UID: 1}, predict.Kind{UID: 2}), d.chance(5)
}

// drawQueue draws the waiting jobs. Some of them are in lanes, with different limits.
func (d *randomMachine) drawQueue() {
	lanes := []*Lane{{Running: d.IntN(2)}, {}, {own: true}, {Running: d.IntN(3), own: true, since: ago(time.Hour)}}
	lanes[3].left = []Instant{ago(5 * time.Minute), ago(2 * time.Hour)}[:d.IntN(3)]
	for i := range d.IntN(14) {
		w := &Waiting{
			ID: job.ID(i + 1), Request: d.request(), Account: pick(d, d.accounts...), Count: 1, Expected: d.expected(),
			Late:  pick(d, 0, 200*time.Second, 900*time.Second, 3*time.Hour),
			Since: ago(time.Duration(d.IntN(10)) * 10 * time.Minute),
		}
		if w.Effort, w.Program, w.Untried = d.drawEffort(); i%3 == 0 {
			w.Served = w.Expected / 2
		}
		w.Capped = w.Account.Capped(w.Request.QuotaMilli(), w.Since)
		if d.chance(2) {
			w.Count = 1 + d.IntN(4)
		}
		for at := len(lanes) - 1; at >= 0; at-- { // at most one own lane, as an account has
			if d.chance(1) && (at < 2 || w.Throttle == nil) {
				w.Throttle = &Throttle{1 + d.IntN(3), lanes[at], w.Throttle}
			}
		}
		if i > 0 && d.chance(3) {
			last := d.waiting[i-1]
			w.Request, w.Account, w.Expected = last.Request, last.Account, last.Expected
			w.Effort, w.Program, w.Untried = last.Effort, last.Program, last.Untried
		}
		w.Owed = pick(d, false, false, false, true)
		w.Batch = pick(d, "", "", "a", "a", "b")
		w.Known = d.chance(5)
		d.drawReturn(w)
		d.waiting = append(d.waiting, w)
		d.q.Push(*w)
	}
}

func (d *randomMachine) request() *job.Request {
	r := &job.Request{
		GPUMilli: pick(d, 0, 250, 300, 500, 700, 1000, 1000, 1000, 1500, 2000, 2000, 2250, 3000, 4000, 8000),
		MemBytes: pick(d, 0, 0, 4*gib, 12*gib), CPUs: pick(d, 0, 0, 0, 1, 3, 8), Priority: d.priority(), TimeLimit: job.Span(pick(d, 0, 0, 90*time.Second, 10*time.Minute, 6*time.Hour)),
	}
	if r.GPUMilli == 0 {
		return r
	}
	r.GPUMemBytes = pick(d, 0, 0, 2*gib, 30*gib, 80*gib)
	r.GPUType = pick(d, "", "", "", "a100")
	if r.Spread, r.Preemptible = d.chance(3), d.chance(2); d.chance(5) {
		r.Requeue = new(true)
	}
	r.MaxLoadPercent, r.MaxUsedPercent = pick(d, 0, 0, 0, 30), pick(d, 0, 0, 0, 30)
	switch n := len(d.s.GPUs); {
	case d.chance(1) && r.Devices() <= n:
		for i := range r.Devices() {
			r.GPUIDs = append(r.GPUIDs, n-r.Devices()+i)
		}
	case d.chance(2):
		for i := range n {
			if d.chance(7) {
				r.GPUsFrom = append(r.GPUsFrom, i)
			}
		}
	}
	r.Mates = d.mates(r.GPUMilli)
	if len(r.GPUIDs) == 0 && d.chance(1) {
		r.ExcludeGPUs = []int{0}
	}
	return r
}
