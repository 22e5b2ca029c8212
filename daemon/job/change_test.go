package job

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestChangesAreCheckedInForm(t *testing.T) {
	for _, tt := range []struct {
		c    Change
		want string // "": the change is valid
	}{
		{Change{}, "usage/no-change"},
		{Change{Name: new("a"), Comment: new(""), GPUMilli: new(0), MemBytes: new(int64(0)), Preemptible: new(false)}, ""},
		{Change{GPUMilli: new(1), GPUMemBytes: new(int64(-2))}, "usage/gpus"},
		{Change{GPUMemBytes: new(int64(-2))}, "usage/size"},
		{Change{GPUMemBytes: new(int64(AutoGPUMem))}, ""},
		{Change{GPUMemBytes: new(int64(1) << 30)}, ""},
		{Change{TimeLimit: new(Span(-time.Second))}, "usage/duration"},
		{Change{Priority: &Priority{Class: 9}}, "usage/priority"},
		{Change{Retries: new(MaxRetries + 1)}, "usage/retries"},
		{Change{After: &[]Dependency{{Kind: "sometimes", Job: 1}}}, "usage/dependency"},
		{Change{After: &[]Dependency{}, Begin: &time.Time{}, ArrayLimit: new(0)}, ""},
		{Change{ArrayLimit: new(MaxTasks)}, ""},
		{Change{ArrayLimit: new(MaxTasks + 1)}, "usage/array-limit"},
		{Change{ArrayLimit: new(-1)}, "usage/array-limit"},
		{Change{MaxFailures: new(-1)}, "usage/failures"},
		{Change{MaxFailures: new(3)}, ""},
		{Change{Name: new(""), CPUs: new(-1)}, "usage/name"},
		{Change{Name: new(""), CPUs: new(-1)}, "usage/cpus"},
	} {
		err := tt.c.Err()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.c, err, tt.want)
		}
	}
}

// A change replaces the site's defaults in a submission, but nothing else.
func TestChangesAreApplied(t *testing.T) {
	defaulted := func() *Submission {
		return &Submission{Label: Label{Name: "a"}, Request: Request{GPUMilli: 1000, Derived: Derived{ImpliedStop: true, DefaultedMem: true}}}
	}
	for name, c := range map[string]struct {
		change Change
		want   func(s *Submission)
	}{
		"name":              {Change{Name: new("b")}, func(s *Submission) { s.Label.Name = "b" }},
		"memory":            {Change{MemBytes: new(int64(5))}, func(s *Submission) { s.Request.MemBytes, s.Request.DefaultedMem = 5, false }},
		"preemptible":       {Change{Preemptible: new(true)}, func(s *Submission) { s.Request.Preemptible, s.Request.ImpliedStop = true, false }},
		"limit of no array": {Change{ArrayLimit: new(3)}, func(*Submission) {}},
	} {
		got, want := defaulted(), defaulted()
		c.change.Apply(got)
		c.want(want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	s := Submission{Request: Request{Array: &Array{Limit: 1}}}
	(&Change{ArrayLimit: new(3)}).Apply(&s)
	if s.Request.Array.Limit != 3 {
		t.Errorf("the limit is %d", s.Request.Array.Limit)
	}
}
