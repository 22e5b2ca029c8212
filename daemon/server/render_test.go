package server

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// fill sets every exported field below v to a value that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(noon))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k"), reflect.ValueOf("v"))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.Set(reflect.ValueOf(int64(time.Second)).Convert(v.Type()))
	}
}

// zeroFields returns the names of a struct's zero fields.
func zeroFields(v any) []string {
	var names []string
	for s, i := reflect.ValueOf(v), 0; i < s.NumField(); i++ {
		if s.Field(i).IsZero() {
			names = append(names, s.Type().Field(i).Name)
		}
	}
	return names
}

// After conversion, no field of the wire type is empty.
func TestNoFieldOfAJobIsForgotten(t *testing.T) {
	var v job.JobView
	fill(reflect.ValueOf(&v).Elem())
	v.State, v.Request.Priority = job.Failed, job.Priority{Class: job.High}
	v.Request.Array.Ranges = []job.Range{{First: 1, Last: 2, Step: 1}}
	task := renderJob(&v)
	v.Task = nil
	array := renderJob(&v)
	all := ownership{own: true, unlimited: []string{"cpu", "memory", "pids"}}
	all.render(&task)
	all.render(&array)
	if got := strings.Join(zeroFields(task), " "); got != "Host Engine UIDNow Array Parked Private Params MainPID Command Together Alike Older" {
		t.Errorf("empty in a task: %s", got)
	}
	if got := strings.Join(zeroFields(array), " "); got != "Host Engine Unit UIDNow Task Parked Private Params MainPID Command Together Alike Older" {
		t.Errorf("empty in an array: %s", got)
	}
	// these fields show the command, or have another form in a reply
	if got := strings.Join(zeroFields(task.Request), " "); got != "After Array Dedup Derived" {
		t.Errorf("empty in a public request: %s", got)
	}
	task.Result.Said = job.Text("another scheduler's")
	v.State = job.Queued // only a live array can have too many failed tasks as a reason
	for _, part := range []any{*renderJob(&v).Array, *task.Task, task.GPUs[0], *task.Result, task.After[0], renderAttempts(v.Attempts)[0], renderReservations([]job.Reservation{{ID: 1, GPUs: task0(v), From: noon, To: noon, Users: []job.Account{{User: "u"}}, Groups: []job.Group{{Name: "g"}}, Reason: "r", By: "b", At: noon}})[0]} {
		if got := zeroFields(part); got != nil {
			t.Errorf("empty in a %T: %v", part, got)
		}
	}
}

// A job that is queued again has no allocation.
func TestAJobBackInTheQueueHasNoGPUs(t *testing.T) {
	v := queue().View.Jobs[0]
	v.Attempt.InvocationID = "i"
	if j := renderJob(&v); len(j.GPUs) != 1 || j.InvocationID == "" || j.PlacedAt.IsZero() {
		t.Errorf("running: %+v", j)
	}
	v.State = job.Queued
	if j := renderJob(&v); len(j.GPUs) != 0 || j.InvocationID != "" || !j.PlacedAt.IsZero() || j.Attempt != 1 {
		t.Errorf("queued again: %+v", j)
	}
}

func task0(v job.JobView) []job.Allocation { return v.Job.Attempt.GPUs }

func TestNoFieldOfAGPUIsForgotten(t *testing.T) {
	var v job.GPUView
	fill(reflect.ValueOf(&v).Elem())
	g := testServer(queue(), nil).accounts.renderGPUs([]job.GPUView{v}, job.Actor{Admin: true})[0]
	g.Host, g.Engine = "a", "b" // only the command line sets these
	for _, part := range []any{g, g.Processes[0], g.Shares[0]} {
		if got := zeroFields(part); got != nil {
			t.Errorf("empty in a %T: %v", part, got)
		}
	}
}

// An array is shown as people type it.
func TestArraysAreSpelledAsTheyAreTyped(t *testing.T) {
	for _, spec := range []string{"0-9", "3", "0-9%2", "1,4,8-20:4", "0-7%1"} {
		a, err := job.ParseArray(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Spec(); got != spec {
			t.Errorf("%q is shown as %q", spec, got)
		}
	}
	var many []string
	for i := range 1000 {
		many = append(many, job.ID(2*i+1).String())
	}
	a, err := job.ParseArray(strings.Join(many, ",") + "%5")
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Spec(); got != strings.Join(many, ",")+"%5" {
		t.Errorf("a long array is shown as %q", got)
	}
	if got := a.ShortSpec(); len(got) > 200 || !strings.HasSuffix(got, ",…%5") {
		t.Errorf("a long array is logged as %q", got)
	}
}

func TestArraysAreRead(t *testing.T) {
	params := []job.Param{{Name: "lr", Values: []string{"1", "2"}}, {Name: "s", Values: []string{"a", "b"}}}
	for _, tt := range []struct {
		in    job.Array
		size  int
		limit int
		bad   string
	}{
		{job.Array{Written: "0-9%2"}, 10, 2, ""},
		{job.Array{Params: params}, 4, 0, ""},
		{job.Array{Written: "%3", Params: params}, 4, 3, ""},
		{job.Array{Written: "0-3%3", Params: params}, 4, 3, ""},
		{job.Array{Written: "%0", Params: params}, 0, 0, "limit of tasks"},
		{job.Array{Written: "%", Params: params}, 0, 0, "limit of tasks"},
		{job.Array{Written: "%2"}, 0, 0, "is not an array"},
		{job.Array{}, 0, 0, "is not an array"},
		{job.Array{Written: "0-9", Limit: 2}, 0, 0, "leave ranges and limit out"},
		{job.Array{Written: "0-9", Ranges: []job.Range{{Step: 1}}}, 0, 0, "leave ranges and limit out"},
	} {
		a, err := api.Tasks(&tt.in)
		switch {
		case tt.bad != "":
			if err == nil || !strings.Contains(err.Error(), tt.bad) {
				t.Errorf("%+v: %v", tt.in, err)
			}
		case err != nil || a.Size() != tt.size || a.Limit != tt.limit || len(a.Params) != len(tt.in.Params):
			t.Errorf("%+v: %+v %v", tt.in, a, err)
		}
	}
}
