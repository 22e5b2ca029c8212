package gpus

import (
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

// onGPUs returns a running job that holds the given GPUs, and has the book know it.
func onGPUs(b *Book, id job.ID, uuids ...string) *tracked.Job {
	a := &job.Attempt{Number: 1, PlacedAt: midday, StartedAt: midday}
	for _, uuid := range uuids {
		a.GPUs = append(a.GPUs, job.Allocation{GPU: contract.GPU{UUID: uuid}})
	}
	j := &job.Job{ID: id, Owner: job.Owner{UID: 1001}, State: job.Running, Attempt: a}
	l := &tracked.Job{Job: j}
	b.jobs.Add(l)
	b.jobs.Sort(l)
	return l
}

// twoGPUs returns a sample of two GPUs. Process 5 of job 7 uses both, and process 4 the first one.
// Process 6 is nobody's.
func twoGPUs() *Sample {
	five := gpu.Process{PID: 5, Start: 50, UsedBytes: 100, UID: 1001, Kind: gpu.KindCompute, Age: time.Second}
	four, six := five, five
	four.PID, four.Start = 4, 40
	six.PID, six.UID = 6, 0
	return &Sample{
		Jobs: map[int]job.ID{5: 7, 4: 7},
		Snap: gpu.Snapshot{Devices: []gpu.Device{
			{Index: 0, UUID: "a", Health: gpu.HealthOK, Processes: []gpu.Process{five, four, six}},
			{Index: 1, UUID: "b", Health: gpu.HealthOK, Processes: []gpu.Process{five}},
		}},
	}
}

// A job can be parked only if all of its processes on its GPUs are known, each with its memory.
func TestGPUProcesses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(e *Sample)
		later  time.Duration
		known  bool
	}{
		"all known":        {func(*Sample) {}, time.Minute, true},
		"too old":          {func(*Sample) {}, time.Minute + 1, false},
		"a problem":        {func(e *Sample) { e.Snap.Problem = gpu.ProblemStale }, 0, false},
		"unlisted":         {func(e *Sample) { e.Snap.Devices[1].ProcessesUnknown = true }, 0, false},
		"lost":             {func(e *Sample) { e.Snap.Devices[1].Health = gpu.HealthLost }, 0, false},
		"gone":             {func(e *Sample) { e.Snap.Devices = e.Snap.Devices[:1] }, 0, false},
		"no start":         {func(e *Sample) { e.Snap.Devices[0].Processes[1].Start = 0 }, 0, false},
		"no use":           {func(e *Sample) { e.Snap.Devices[0].Processes[1].UsedBytes = -1 }, 0, false},
		"dead":             {func(e *Sample) { e.Snap.Devices[0].Processes[1].Dead = true }, 0, false},
		"outside its unit": {func(e *Sample) { delete(e.Jobs, 4) }, 0, false},
		"client of MPS":    {func(e *Sample) { e.Snap.Devices[0].Processes[1].Kind = "compute+mps" }, 0, false},
		"serves MPS": {func(e *Sample) {
			e.Snap.Devices[0].Processes[2].Unit = contract.MPSPrefix + "1001-0.service"
		}, 0, false},
	} {
		b := bookOf(site.Policy{StaleAfter: time.Minute, Strays: site.EndStrays})
		l := onGPUs(b, 7, "a", "b")
		e, at := twoGPUs(), midday.Add(time.Minute)
		b.Sampled(twoGPUs(), at) // while it ran, process 4 was in the unit
		c.change(e)
		b.Sampled(e, at)
		procs, bytes, known := b.GPUProcesses(l, at.Add(c.later))
		if known != c.known {
			t.Errorf("%s: known %t", name, known)
		}
		if want := []job.ParkedProcess{{PID: 4, Start: 40}, {PID: 5, Start: 50}}; known && (!slices.Equal(procs, want) || bytes != 300) {
			t.Errorf("%s: %v with %d bytes", name, procs, bytes)
		}
	}
}

// findingsOf returns the findings of one type since the last call.
func findingsOf[T any](b *Book) (list []T) {
	for _, f := range b.Findings() {
		if one, is := f.(T); is {
			list = append(list, one)
		}
	}
	return list
}

// A parked job has left its GPUs once. They are clean when its processes and their memory are gone.
func TestParkedJobLeavesItsGPUs(t *testing.T) {
	b := bookOf(site.Policy{StaleAfter: time.Minute, LostAfter: time.Minute, CleaningTimeout: 10 * time.Second, OnlyGPUs: []int{0, 1}})
	l, at := onGPUs(b, 7, "a", "b"), midday
	sample := func(number uint64, e *Sample) {
		at = at.Add(time.Minute)
		e.Number = number
		for i := range e.Snap.Devices {
			d := &e.Snap.Devices[i]
			d.MemTotalBytes = 1000
			for _, p := range d.Processes {
				d.MemUsedBytes += uint64(p.UsedBytes)
			}
		}
		b.Sampled(e, at)
	}
	sample(1, twoGPUs())
	b.Leave(l, 2, at)
	l.Park = job.IsParked
	if _, _, known := b.GPUProcesses(l, at); !known || MayPark(b.policy, l) {
		t.Error("a parked job can be parked")
	}
	sample(2, twoGPUs())
	for _, d := range b.devices {
		if state, why := b.state(d, at); state != sched.Suspect || why.Code != "detail/parked-use" {
			t.Errorf("GPU %d with a process of a parked job: state %v, %v", d.Index, state, why)
		}
	}
	if v := b.Views(at); len(v[0].Jobs) != 0 || v[0].Processes[0].Job != 7 {
		t.Errorf("its GPU shows the jobs %v and the processes %+v", v[0].Jobs, v[0].Processes)
	}
	if f := b.Findings(); len(f) == 0 || slices.ContainsFunc(f, func(f any) bool { return f.(UnparkFound).Job != 7 }) {
		t.Errorf("its GPUs are blocked: %+v", f)
	}
	clean := func() *Sample { // process 6 is nobody's
		e := twoGPUs()
		e.Snap.Devices[0].Processes, e.Snap.Devices[1].Processes = e.Snap.Devices[0].Processes[2:], nil
		return e
	}
	sample(3, clean())
	if b.devices[0].cleanup != nil || b.devices[1].cleanup != nil {
		t.Error("its GPUs are not clean after its processes have gone")
	}
	if b.Leave(l, 4, at); b.devices[0].cleanup != nil {
		t.Error("its end leaves the GPUs again")
	}
	for _, returns := range []bool{false, true} {
		l.ParkWants, l.Owed = returns, returns
		if sample(4, twoGPUs()); b.devices[0].cleanup == nil || !AreFree(b, l, at) {
			t.Errorf("it returns: %t, its GPU is clean: %t", returns, b.devices[0].cleanup == nil)
		}
	}
	lost := clean()
	lost.Snap.Devices = lost.Snap.Devices[:1]
	sample(5, lost)
	sample(6, lost)
	b.policy.OnlyGPUs = []int{0}
	b.Configured()
	if stops := findingsOf[StopFound](b); len(stops) != 0 || len(b.devices) != 2 {
		t.Errorf("a lost GPU stops it: %+v, of %d GPUs", stops, len(b.devices))
	}
	l.Park = job.ParkGives
	b.policy.OnlyGPUs = nil
	sample(7, lost)
	sample(8, lost)
	if stops := findingsOf[StopFound](b); len(stops) == 0 || stops[0].Cause != job.StopGPULost {
		t.Errorf("a lost GPU that it holds again does not stop it: %+v", stops)
	}
}

// A parked job that uses a GPU which another job has got since is stopped, as any other job is. If it
// had only a part of the GPU, it may never have stopped using it.
func TestParkedJobTrespasses(t *testing.T) {
	for _, milli := range []int{0, 500} {
		b := bookOf(site.Policy{Strays: site.EndStrays, CleaningTimeout: time.Second})
		l := onGPUs(b, 7, "a")
		l.Attempt.GPUs[0].Milli = milli
		l.Park, l.ParkWants, l.Owed = job.IsParked, true, true
		onGPUs(b, 8, "a")
		for n := range 2 {
			e := twoGPUs()
			e.Number, e.Snap.Devices = uint64(n), e.Snap.Devices[:1]
			b.Sampled(e, midday.Add(time.Duration(n+1)*time.Minute))
		}
		stops, unparks := 0, 0
		for _, f := range b.Findings() {
			switch f := f.(type) {
			case StopFound:
				if f.Job == 7 && f.Cause == job.StopTrespass {
					stops++
				}
			case UnparkFound:
				unparks++
			}
		}
		if (stops > 0) != (milli == 0) || (unparks > 0) == (milli == 0) || AreFree(b, l, midday.Add(2*time.Minute)) {
			t.Errorf("%d milli: %d stops, %d unparks, its GPU is free: %t", milli, stops, unparks, AreFree(b, l, midday.Add(2*time.Minute)))
		}
	}
}

// Processes of a parked job outside its unit are not ended while it lives.
func TestStraysOfAParkedJob(t *testing.T) {
	for park, want := range map[job.ParkState]int{job.IsParked: 0, "": 1} {
		b := bookOf(site.Policy{Strays: site.EndStrays, CleaningTimeout: time.Second})
		l := onGPUs(b, 7, "a")
		b.Sampled(&Sample{Number: 1, Snap: twoGPUs().Snap, Jobs: map[int]job.ID{4: 7}}, midday)
		b.Leave(l, 2, midday)
		if l.Park = park; park == "" {
			l.Attempt.GPUs = nil
		}
		b.Sampled(&Sample{Number: 2, Snap: twoGPUs().Snap}, midday.Add(time.Minute))
		if ends := findingsOf[StrayEnd](b); len(ends) != want {
			t.Errorf("%q: %+v", park, ends)
		}
	}
}

// An idle job is warned, and parked if it may be. Other idle jobs are only warned.
func TestIdleJobsAreParked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *site.Policy, l *tracked.Job)
		notice job.Code
		parked int
	}{
		"may be parked":    {func(*site.Policy, *tracked.Job) {}, "notice/idle-park", 1},
		"has no process":   {func(_ *site.Policy, l *tracked.Job) { l.Attempt.GPUs[0].UUID = "b" }, "notice/idle", 0},
		"not at this site": {func(p *site.Policy, _ *tracked.Job) { p.Park.Allow = false }, "notice/idle", 0},
		"not wanted":       {func(_ *site.Policy, l *tracked.Job) { l.Request.NoPark = true }, "notice/idle", 0},
		"shares by MPS":    {func(_ *site.Policy, l *tracked.Job) { l.Request.Mates = job.MatesOf(1001) }, "notice/idle", 0},
		"the driver can't": {func(_ *site.Policy, l *tracked.Job) { l.Unparkable = job.Text("no") }, "notice/idle", 0},
	} {
		p := site.Policy{Usage: site.UsagePolicy{Idle: site.WarnAndPark, IdleAfter: time.Minute, IdleGrace: time.Minute}}
		p.Park.Allow = true
		b := bookOf(p)
		l, at := onGPUs(b, 7, "a"), midday
		c.change(b.policy, l)
		sample := func() {
			at = at.Add(time.Minute)
			e := twoGPUs()
			e.Snap.Devices[1].Processes = nil
			b.Sampled(e, at)
			b.GatherUses()
			b.RecordUses(0, at)
			b.RecordUses(1, at)
			b.FindIdle(at)
		}
		sample()
		sample()
		notices := findingsOf[NoticeFound](b)
		if len(notices) != 1 || notices[0].Say.Code != c.notice {
			t.Errorf("%s: the notices are %+v", name, notices)
		}
		sample()
		if found := findingsOf[ParkFound](b); len(found) != c.parked {
			t.Errorf("%s: %d are parked", name, len(found))
		}
		busy := l.CurrentUses()[0].Seen
		b.Leave(l, 1, at)
		l.Park = job.IsParked
		sample()
		l.Park = job.NotParked
		if u := l.CurrentUses()[0]; u.IdleWarned != 0 || u.UsedBytes != tracked.Unsampled || u.Seen != busy {
			t.Errorf("%s: back on its GPUs its use is %+v", name, u)
		}
	}
}

// A parked job may return to GPUs of the model of its own, of those that it chose, unless its own are
// free.
func TestAlike(t *testing.T) {
	type scene struct {
		b    *Book
		j    *job.Job
		s    *Sample
		user *tracked.Job // of its GPU
	}
	for name, c := range map[string]struct {
		change func(*scene)
		want   []int
	}{
		"its GPU is in use": {func(*scene) {}, []int{0, 1, 2}},
		"it is free":        {func(s *scene) { s.user.Park = job.IsParked }, nil},
		"it is free and lost": {func(s *scene) {
			s.user.Park = job.IsParked
			s.s.Snap.Devices[0].Health = gpu.HealthLost
		}, []int{0, 1, 2}},
		"an older driver":        {func(s *scene) { s.s.Snap.Driver = "575.57.08" }, nil},
		"another is absent":      {func(s *scene) { s.s.Snap.Devices = slices.Delete(s.s.Snap.Devices, 1, 2) }, []int{0, 2}},
		"one is excluded":        {func(s *scene) { s.j.Request.ExcludeGPUs = []int{1} }, []int{0, 2}},
		"it chose among two":     {func(s *scene) { s.j.Request.GPUsFrom = []int{0, 2} }, []int{0, 2}},
		"it names its GPU":       {func(s *scene) { s.j.Request.GPUIDs = []int{0} }, nil},
		"it sees UUIDs":          {func(s *scene) { s.j.Request.GPUVisible = "uuid" }, nil},
		"it runs in a container": {func(s *scene) { s.j.Request.ContainerEngine = contract.Podman }, nil},
		"two processes":          {func(s *scene) { s.j.ParkProcs = make([]job.ParkedProcess, 2) }, nil},
		"a part of a GPU":        {func(s *scene) { s.j.Attempt.GPUs[0].Milli = 500 }, nil},
		"the driver can't":       {func(s *scene) { s.j.Unmovable = true }, nil},
		"known from its unit":    {func(s *scene) { s.j.Recovered = true }, nil},
		"its GPU is not there":   {func(s *scene) { s.j.Attempt.GPUs[0].UUID = "x" }, nil},
		"two GPUs of two models": {func(s *scene) {
			s.j.Attempt.GPUs = append(s.j.Attempt.GPUs, job.Allocation{GPU: contract.GPU{UUID: "d"}})
		}, nil},
		"two GPUs, one is in use": {func(s *scene) {
			s.j.Attempt.GPUs = append(s.j.Attempt.GPUs, job.Allocation{GPU: contract.GPU{UUID: "b"}})
		}, []int{0, 1, 2}},
	} {
		s := scene{b: bookOf(site.Policy{}), s: &Sample{Snap: gpu.Snapshot{Driver: "580.65.06"}}}
		for i, uuid := range []string{"a", "b", "c", "d"} {
			d := gpu.Device{Index: i, UUID: uuid, Health: gpu.HealthOK, Name: "H100", MemTotalBytes: 80 << 30}
			if i == 3 {
				d.MemTotalBytes = 94 << 30
			}
			s.s.Snap.Devices = append(s.s.Snap.Devices, d)
		}
		s.b.Sampled(s.s, midday)
		s.j = onGPUs(s.b, 7, "a").Job
		s.j.Park, s.j.ParkProcs = job.IsParked, make([]job.ParkedProcess, 1)
		s.user = onGPUs(s.b, 8, "a")
		c.change(&s)
		s.b.Sampled(s.s, midday.Add(time.Second))
		if got := Alike(s.b, s.j); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
