package job

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// A job matches a query if it meets all conditions of the query.
func TestQueryMatches(t *testing.T) {
	alice, bob := 1001, 1002
	task := &Job{ID: 9, Owner: Owner{UID: alice}, State: Running, Label: Label{Name: "train"}, Life: Life{Task: &Task{Array: 7, Index: 2}}}
	plain := &Job{ID: 8, Owner: Owner{UID: alice}, State: Queued, Label: Label{Name: "train"}}
	for name, c := range map[string]struct {
		q           Query
		task, plain bool
	}{
		"everything":       {Query{}, true, true},
		"of its owner":     {Query{UID: &alice}, true, true},
		"of another":       {Query{UID: &bob}, false, false},
		"in a state":       {Query{Choice: Choice{States: []State{Running, Ending}}}, true, false},
		"of an array":      {Query{Array: 7}, true, false},
		"of another array": {Query{Array: 8}, false, false},
		"of a name":        {Query{Choice: Choice{Name: "train"}}, true, true},
		"of another name":  {Query{Choice: Choice{Name: "tr"}}, false, false},
		"of all these":     {Query{UID: &alice, Choice: Choice{States: []State{Queued}, Name: "train"}}, false, true},
	} {
		if got := c.q.Matches(task); got != c.task {
			t.Errorf("%s: %t of a running task", name, got)
		}
		if got := c.q.Matches(plain); got != c.plain {
			t.Errorf("%s: %t of a queued job", name, got)
		}
	}
}

// Users control their own jobs, and administrators control all jobs.
func TestOwnersAndAdminsMayControl(t *testing.T) {
	j := Job{Owner: Owner{UID: 1, User: "alice"}}
	if got := j.Person(); got != (Account{UID: 1, User: "alice"}) {
		t.Errorf("an own job is %+v's", got)
	}
	j.Principal = &Account{UID: 5, User: "bob"}
	if got := j.Person(); got != *j.Principal {
		t.Errorf("the job of a subordinate uid is %+v's", got)
	}
	for a, want := range map[Actor]bool{{UID: 1}: true, {UID: 2}: false, {UID: 2, Admin: true}: true} {
		if got := a.MayControl(&Job{Owner: Owner{UID: 1}}); got != want {
			t.Errorf("%+v: %t", a, got)
		}
	}
	j = Job{Owner: Owner{UID: 1, User: "kate"}}
	gone := j
	gone.Heir = &Account{UID: 1, User: "liam"}
	for a, want := range map[Actor][2]bool{
		{UID: 1, User: "kate"}: {true, true}, {UID: 1, User: "liam"}: {}, {UID: 1, User: "1"}: {true, false}, {UID: 9, User: "kate"}: {},
	} {
		if got := [2]bool{a.MayControl(&j), a.MayControl(&gone)}; got != want {
			t.Errorf("%+v: %t of kate's job, and after she is gone", a, got)
		}
	}
	// A container's uid has no name that would show to whom the uid belongs now.
	in := Job{Owner: Owner{UID: 100_005, User: "100005"}, Life: Life{Principal: &Account{UID: 1, User: "kate"}}}
	for heir, want := range map[*Account]bool{nil: true, {UID: 1, User: "liam"}: false, {UID: 100_005, User: "liam"}: false} {
		in.Heir = heir
		if got := (Actor{UID: 100_005, User: "100005"}).MayControl(&in); got != want {
			t.Errorf("a container's user of a job that waits for %+v: %t", heir, got)
		}
	}
	in.Heir = nil
	for person, want := range map[Account]bool{
		{UID: 1, User: "kate"}: true, {UID: 1, User: "1"}: true, {UID: 1, User: "liam"}: false, {UID: 2, User: "liam"}: false, {UID: 2, User: "2"}: true, {}: true,
	} {
		if got := (Actor{UID: 100_005, User: "100005", Person: person}).MayControl(&in); got != want {
			t.Errorf("a container of %+v has the number now: %t", person, got)
		}
	}
}

// A task is named after its array and uses the array's private part.
func TestTaskOfAnArray(t *testing.T) {
	plain, task := &Job{ID: 9}, &Job{ID: 9, Life: Life{Task: &Task{Array: 7, Index: 2}}}
	if plain.Called() != "9" || task.Called() != "7_2" {
		t.Errorf("they are called %s and %s", plain.Called(), task.Called())
	}
	if plain.PayloadID() != 9 || task.PayloadID() != 7 {
		t.Errorf("their payloads are those of %d and %d", plain.PayloadID(), task.PayloadID())
	}
}

// Requests and allocations measure the share of a GPU in the same unit.
func TestSharesUseOneUnit(t *testing.T) {
	for milli, want := range map[int]int{0: 0, 250: 1, 1000: 1, 1500: 2, 3000: 3} {
		if got := (&Request{GPUMilli: milli}).Devices(); got != want {
			t.Errorf("%d thousandths are on %d GPUs, want %d", milli, got, want)
		}
	}
	whole, part := Allocation{GPU: contract.GPU{PromiseBytes: 5}}, Allocation{GPU: contract.GPU{Milli: 250, PromiseBytes: 5}}
	if whole.Share() != WholeGPU || part.Share() != 250 || whole.Budget() != 0 || part.Budget() != 5 {
		t.Errorf("%d of one, %d of the other; %d and %d bytes", whole.Share(), part.Share(), whole.Budget(), part.Budget())
	}
	j := Job{}
	if j.GPUIndexes() != nil {
		t.Error("a job that never started has GPUs")
	}
	j.Attempt = &Attempt{GPUs: []Allocation{{GPU: contract.GPU{Index: 3}}, {GPU: contract.GPU{Index: 5}}}}
	if got := j.GPUIndexes(); len(got) != 2 || got[0] != 3 || got[1] != 5 {
		t.Errorf("it holds %v", got)
	}
}

// A name pattern may contain * and ?. All tags must match, and the end must not be before Since.
func TestChoice(t *testing.T) {
	for pattern, names := range map[string]map[string]bool{
		"foo*":  {"foo": true, "foobar": true, "fo": false, "afoo": false},
		"*a*b":  {"ab": true, "xaxb": true, "xabab": true, "xaba": false, "b": false},
		"?":     {"ß": true, "": false, "ab": false},
		"*":     {"": true, "x": true},
		"[a]*":  {"[a]b": true, "ab": false},
		"a*?c*": {"abc": true, "ac": false, "axxcyy": true},
	} {
		for name, want := range names {
			q := Query{Choice: Choice{Like: pattern}}
			if got := q.Matches(&Job{Label: Label{Name: name}}); got != want {
				t.Errorf("%q and %q: %t", pattern, name, got)
			}
		}
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ended := &Job{State: Failed, ChangedAt: at, Label: Label{Tags: map[string]string{"a": "1", "b": ""}}}
	for want, list := range map[bool][]Choice{
		true:  {{Since: at}, {Tags: map[string]string{"a": "1"}}, {Tags: map[string]string{"a": "1", "b": ""}}},
		false: {{Since: at.Add(1)}, {Tags: map[string]string{"a": "2"}}, {Tags: map[string]string{"a": "1", "c": ""}}},
	} {
		for _, c := range list {
			q := Query{Choice: c}
			if got := q.Matches(ended); got != want || c.IsAll() {
				t.Errorf("%+v: %t", c, got)
			}
		}
	}
	q := Query{Choice: Choice{Since: at.Add(1)}}
	if !q.Matches(&Job{State: Running, ChangedAt: at}) {
		t.Error("a job that has not ended is chosen by when it would have")
	}
}
