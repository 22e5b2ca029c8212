package units

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units/contract"
)

// The method Spec returns the Spec from which a unit was made.
func TestOriginGivesTheSpecBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Spec{
			ID: rapid.Int64Range(1, 1<<40).Draw(t, "id"), Attempt: rapid.IntRange(1, 9).Draw(t, "attempt"),
			Placed: time.UnixMicro(rapid.Int64Range(1, 1<<60).Draw(t, "placed")),
			UID:    rapid.IntRange(0, 1<<31).Draw(t, "uid"), GID: rapid.IntRange(0, 1<<31).Draw(t, "gid"), User: "alice",
			JobName:   rapid.StringMatching(`[a-z() ]{0,20}`).Draw(t, "name"),
			Limits:    cgroup.Limits{MemBytes: rapid.Int64Range(0, 1<<40).Draw(t, "memory"), CPUs: rapid.IntRange(0, 64).Draw(t, "cpus")},
			TimeLimit: time.Duration(rapid.IntRange(0, 1<<30).Draw(t, "limit")) * time.Second,
			Grace:     leastContainerGrace + time.Duration(rapid.IntRange(0, 1<<20).Draw(t, "grace"))*time.Millisecond,
			Engine:    rapid.SampledFrom([]contract.Engine{"", contract.Podman, contract.Docker}).Draw(t, "engine"),
		}
		if s.Array = rapid.Int64Range(0, 3).Draw(t, "array"); s.Array > 0 {
			s.Task = rapid.IntRange(0, 1<<20).Draw(t, "task")
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "gpus") {
			s.GPUs = append(s.GPUs, contract.GPU{
				Index: i, Minor: rapid.IntRange(0, 255).Draw(t, "minor"), UUID: rapid.StringMatching(`GPU-[0-9a-f]{8}`).Draw(t, "uuid"),
				Milli: rapid.SampledFrom([]int{0, 250, 500}).Draw(t, "milli"), PromiseBytes: rapid.Int64Range(0, 1<<40).Draw(t, "promise"),
			})
		}
		got, err := OriginOf(Properties(s)).Spec(Name(s.ID))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, s) {
			t.Fatalf("got  %+v\nwant %+v", got, s)
		}
	})
}

// A unit whose field names no valid task of an array belongs to an ordinary job.
func TestOriginOfATask(t *testing.T) {
	for text, want := range map[string][2]int64{"40_3": {40, 3}, "40": {}, "40_": {}, "40_x": {}, "_3": {}, "": {}} {
		o := OriginOf(Properties(fullSpec()))
		o.LogFields = append(o.LogFields, []byte(taskField+text))
		if s, err := o.Spec(Name(42)); err != nil || [2]int64{s.Array, int64(s.Task)} != want {
			t.Errorf("%q: task %d of array %d, %v", text, s.Task, s.Array, err)
		}
	}
}

// Root's group is a group like any other.
func TestOriginOfRootsGroup(t *testing.T) {
	for group, good := range map[string]bool{"0": true, "-1": false, "lab": false} {
		o := OriginOf(Properties(fullSpec()))
		o.Group = group
		if s, err := o.Spec(Name(42)); (err == nil) != good || good && s.GID != 0 {
			t.Errorf("group %q: %d, %v", group, s.GID, err)
		}
	}
}

// If somebody else made a unit and gave it the name of a job's unit, it is not a job.
func TestOriginOfAStranger(t *testing.T) {
	for name, change := range map[string]func(*Origin){
		"another description": func(o *Origin) { o.Description = "/usr/bin/sleep 1000" },
		"another job's":       func(o *Origin) { o.Description = "gpusched job 43 (train) of alice" },
		"no fields":           func(o *Origin) { o.LogFields = nil },
		"another job's field": func(o *Origin) { o.LogFields[0] = []byte(jobField + "43") },
		"a user's name":       func(o *Origin) { o.User = "alice" },
		"a group's name":      func(o *Origin) { o.Group = "lab" },
		"more GPUs held":      func(o *Origin) { o.LogFields[len(o.LogFields)-1] = []byte(holdsField + "0:0:0:0,1:1:0:0,2:2:0:0") },
		"nothing held":        func(o *Origin) { o.LogFields = o.LogFields[:len(o.LogFields)-1] },
		"nonsense held":       func(o *Origin) { o.LogFields[len(o.LogFields)-1] = []byte(holdsField + "0:x:0:0,1:1:0:0") },
	} {
		o := OriginOf(Properties(fullSpec()))
		change(&o)
		if s, err := o.Spec(Name(42)); !errors.Is(err, ErrOrigin) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	if _, err := OriginOf(Properties(fullSpec())).Spec("ssh.service"); !errors.Is(err, ErrOrigin) {
		t.Errorf("%v", err)
	}
}

// Attempt finds the attempt even if a drop-in of the site has changed properties that the method
// Spec reads.
func TestAttemptOfAUnit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Origin)
		ours   bool
	}{
		"as it was made":         {func(*Origin) {}, true},
		"a group":                {func(o *Origin) { o.Group = "lab" }, true},
		"a description":          {func(o *Origin) { o.Description = "a job" }, true},
		"no fields":              {func(o *Origin) { o.LogFields = nil }, true},
		"a field of the site's":  {func(o *Origin) { o.LogFields = [][]byte{[]byte("SITE=x")} }, true},
		"all of them":            {func(o *Origin) { o.Group, o.Description, o.LogFields = "lab", "a job", nil }, true},
		"nonsense held":          {func(o *Origin) { o.LogFields = append(o.LogFields, []byte(holdsField+"x")) }, true},
		"another user":           {func(o *Origin) { o.User = "1002" }, false},
		"no user":                {func(o *Origin) { o.User = "" }, false},
		"another job's field":    {func(o *Origin) { o.LogFields[0] = []byte(jobField + "43") }, false},
		"no attempt":             {func(o *Origin) { o.LogFields = [][]byte{[]byte(jobField + "42")} }, false},
		"another command":        {func(o *Origin) { o.LogFields, o.SpecPath = nil, "1000" }, false},
		"another job's command":  {func(o *Origin) { o.LogFields, o.SpecPath = nil, "/run/gpusched/specs/43.2" }, false},
		"no command":             {func(o *Origin) { o.LogFields, o.SpecPath = nil, "" }, false},
		"a spec without attempt": {func(o *Origin) { o.LogFields, o.SpecPath = nil, "/run/gpusched/specs/42" }, false},
	} {
		o := OriginOf(Properties(fullSpec()))
		c.change(&o)
		if attempt, ours := o.Attempt(Name(42), 1001); ours != c.ours || ours && attempt != 2 {
			t.Errorf("%s: attempt %d, %t", name, attempt, ours)
		}
	}
}
