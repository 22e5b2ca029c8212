package job

import (
	"reflect"
	"testing"
	"time"
)

// waitingJob has everything that a job may have and rest.
func waitingJob() Job {
	at := time.Date(2026, 1, 1, 8, 0, 0, 5, time.UTC)
	j := Job{
		ID: 7, Key: "key", Owner: Owner{UID: 1001, GID: 1002, User: "ann", Groups: []string{"lab", "vision"}},
		Label:       Label{Name: "train", Comment: "a comment", Tags: map[string]string{"lr": "0.1"}},
		SubmittedAt: at, State: Queued, ChangedAt: at.Add(time.Second),
		Life: Life{
			QueuedAt: at.Add(time.Minute), Capped: 3, AwayAt: at.Add(time.Hour), Pending: []Dependency{{AfterOK, 3}},
			Held: "root", HeldOver: true, Expected: time.Hour, Bytes: 4096, GIDs: GIDs{100, 1002},
		},
	}
	j.Request = Request{
		GPUMilli: 2000, GPUMemBytes: 1, GPUIDs: []int{1}, GPUsFrom: []int{0, 1}, ExcludeGPUs: []int{2}, GPUType: "a100",
		GPUVisible: "uuid", MemBytes: 2, CPUs: 3, TimeLimit: 4, Grace: 5, Priority: Priority{Class: High, Number: 6},
		MaxLoadPercent: 7, MaxUsedPercent: 8, Spread: true, Preemptible: true, Screen: true, Hold: true, Requeue: true,
		OnTimeout: TimeoutRequeue, WarnSignal: 9, WarnBefore: 10, WarnMain: true, SignalTo: SignalMain, Retries: 11, Backoff: 12, Begin: at.Add(time.Hour),
		After: []Dependency{{AfterOK, 3}}, MaxFailures: 13, Objective: Makespan, Batch: "sweep", Dedup: "hash",
		Notify:  []Notify{{}},
		Derived: Derived{DefaultedMem: true, ImpliedStop: true, Shape: "shape", Script: "script", AutoMem: true, MemMilli: 990},
	}
	return j
}

// starts are jobs with all that may rest, and with none of it.
var starts = []func() Job{waitingJob, func() Job { return Job{ID: 1, State: Queued} }}

// repacked is what a job is after it has rested; false: it can't.
func repacked(s *Interned, j *Job) (out Job, rests bool) {
	c, rests := s.Pack(j)
	if rests {
		c.Unpack(&out)
		s.Drop(&c)
	}
	return out, rests
}

// TestCompactMixesNothing: two jobs that differ in one field are on one interned at once, and each
// comes back as it was. A field that is added must be in alike, or be kept for each job.
func TestCompactMixesNothing(t *testing.T) {
	both := 0
	for _, start := range starts {
		leaves(reflect.TypeFor[Job](), nil, func(path []int) {
			s, pair := NewInterned(), [2]Job{start(), start()}
			alter(reflect.ValueOf(&pair[1]).Elem().FieldByIndex(path))
			first, rests := s.Pack(&pair[0])
			second, too := s.Pack(&pair[1])
			if !rests || !too {
				return
			}
			both++
			var back [2]Job
			first.Unpack(&back[0])
			second.Unpack(&back[1])
			if !reflect.DeepEqual(back, pair) {
				t.Errorf("two waiting jobs with another %s come back as one: %s", reflect.TypeFor[Job]().FieldByIndex(path).Name, howToKeep)
			}
		})
	}
	if both < 80 {
		t.Errorf("of pairs with one field that is another only %d rest", both)
	}
}

// howToKeep is what to do about a field that is not in Compact.
const howToKeep = "in daemon/job/compact.go either give it a field in rare (few waiting jobs have it) or alike (many have the same), " +
	"and read and write it in PackAs, alikeOf and Unpack, or have isPlain refuse the jobs that have it, which then keep their whole form"

// TestCompactLosesNothing: whatever field of a job is another, the job either comes back as it
// was or keeps its whole form. A field that is added must be in Compact, or known to isPlain.
func TestCompactLosesNothing(t *testing.T) {
	s := NewInterned()
	all := waitingJob()
	if back, rests := repacked(s, &all); !rests || !reflect.DeepEqual(back, all) {
		t.Fatalf("%t:\n%+v\nis\n%+v", rests, back, all)
	}
	kept := 0
	for _, start := range starts {
		whole := start()
		leaves(reflect.TypeOf(whole), nil, func(path []int) {
			j := start()
			field := reflect.ValueOf(&j).Elem().FieldByIndex(path)
			alter(field)
			name := reflect.TypeOf(j).FieldByIndex(path).Name
			back, rests := repacked(s, &j)
			if rests {
				kept++
			}
			if rests && !reflect.DeepEqual(back, j) {
				t.Errorf("%s of a waiting job is lost: %s", name, howToKeep)
			}
		})
	}
	if kept < 80 {
		t.Errorf("of jobs with one field that is another only %d rest", kept)
	}
	if len(s.byLike)+len(s.kinds) != 0 {
		t.Errorf("%d and %d entries are left of jobs that are not there any more", len(s.byLike), len(s.kinds))
	}
}

// leaves calls f with the way to each field that is no structure of this package.
func leaves(in reflect.Type, path []int, f func([]int)) {
	for i := range in.NumField() {
		at := append(append([]int(nil), path...), i)
		if sub := in.Field(i).Type; sub.Kind() == reflect.Struct && sub != reflect.TypeFor[time.Time]() && sub != reflect.TypeFor[Message]() {
			leaves(sub, at, f)
		} else {
			f(at)
		}
	}
}

// alter gives a field another value than it has.
func alter(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(v.Interface().(time.Time).Add(time.Hour + 1)))
		return
	case Message:
		v.Set(reflect.ValueOf(Text("why")))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"another": "tag"}))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	default:
		v.SetInt(v.Int() + 1)
	}
}

// TestCompactKeepsTheSteadyClock: a time that was read from it, too, is as it was, since what
// compares such times would find another order.
func TestCompactKeepsTheSteadyClock(t *testing.T) {
	now := time.Now()
	j := Job{ID: 1, State: Queued, SubmittedAt: now, ChangedAt: now, Life: Life{QueuedAt: now.Add(time.Second)}}
	if back, rests := repacked(NewInterned(), &j); !rests || back.QueuedAt != j.QueuedAt || back.ChangedAt != now {
		t.Errorf("%t: %v is %v", rests, j.QueuedAt, back.QueuedAt)
	}
	j.QueuedAt = now.Round(0).Add(time.Second)
	if back, rests := repacked(NewInterned(), &j); rests && back.QueuedAt != j.QueuedAt {
		t.Errorf("%v is %v", j.QueuedAt, back.QueuedAt)
	}
}

// TestInternedSharesWhatIsAlike: a thousand jobs that ask the same have it once.
func TestInternedSharesWhatIsAlike(t *testing.T) {
	s := NewInterned()
	var list []Compact
	for i := range 1000 {
		j := waitingJob()
		j.ID, j.Label.Name, j.Expected = ID(i+1), "another", time.Duration(i)
		c, rests := s.Pack(&j)
		if !rests {
			t.Fatal("a waiting job can't rest")
		}
		list = append(list, c)
	}
	if len(s.byLike) != 1 || len(s.kinds) != 1 || list[0].like.uses != 1000 || list[999].like != list[0].like {
		t.Errorf("%d and %d entries", len(s.byLike), len(s.kinds))
	}
	if size := reflect.TypeFor[Compact]().Size(); size > 136 {
		t.Errorf("a waiting job takes %d bytes", size)
	}
}

// TestPackAs: a job that was asked as another shares what that has, one with other groups does not, and each comes
// back as it was.
func TestPackAs(t *testing.T) {
	s, first := NewInterned(), waitingJob()
	last, _ := s.Pack(&first)
	for i, same := range []bool{true, false, true} {
		j := waitingJob()
		j.ID, j.Key, j.Label.Name = ID(i+10), "k", "n"
		j.Request.Derived.Shape, j.Request.Dedup = "s", ""
		if !same {
			j.GIDs = GIDs{5}
		}
		c, rests := s.PackAs(&j, &last)
		var back Job
		if c.Unpack(&back); !rests || (c.like == last.like) != same || !reflect.DeepEqual(back, j) {
			t.Errorf("%d: rests %v, shares %v, is %+v", i, rests, c.like == last.like, back)
		}
	}
	if last.like.uses != 3 {
		t.Errorf("%d have it", last.like.uses)
	}
}
