package job

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestTaskListsRoundTrip(t *testing.T) {
	for want, list := range map[string][]int{
		"": nil, "7": {7}, "0-1": {0, 1}, "0,2": {0, 2}, "0-4:2": {0, 2, 4}, "0-2,7,10-20:5": {0, 1, 2, 7, 10, 15, 20},
		"1-3,5-9:2": {1, 2, 3, 5, 7, 9},
	} {
		if got := FormatTasks(list); got != want {
			t.Errorf("%v is %q, want %q", list, got, want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var list []int
		for i := range 60 {
			if r.IntN(3) > 0 {
				list = append(list, i)
			}
		}
		a, err := ParseArray(FormatTasks(list))
		back, err2 := ParseTasks(FormatTasks(list))
		if err != nil || err2 != nil || !slices.Equal(back, list) || a.Size() != len(list) {
			t.Fatalf("%v is written %q: %v, %v", list, FormatTasks(list), err, err2)
		}
		for i := range a.Size() {
			if a.At(i) != list[i] {
				t.Fatalf("%v is written %q", list, FormatTasks(list))
			}
		}
	}
}

func TestInvalidTaskListsAreRefused(t *testing.T) {
	for _, bad := range []string{",", "1,", "2-1", "x", "-1", "1-2000000", "1-3:0", "0-99999999999999999999"} {
		if list, err := ParseTasks(bad); err == nil {
			t.Errorf("%q is %v", bad, list)
		}
	}
}

func TestResultsAreGroupedByKind(t *testing.T) {
	var r Results
	r.Add(0, &Result{Outcome: Completed}, time.Minute)
	r.Add(1, &Result{Outcome: Failed, ExitCode: 1, By: "first"}, time.Second)
	r.Add(2, &Result{Outcome: Failed, ExitCode: 2}, time.Second)
	r.Add(3, &Result{Outcome: Failed, ExitCode: 1}, time.Second)
	r.Add(4, &Result{Outcome: Completed}, time.Hour)
	r.Add(5, &Result{Outcome: Failed, Signal: 9}, time.Second)
	r.Add(6, &Result{Outcome: OutOfMemory}, time.Second)
	r.Add(7, &Result{Outcome: Failed, ExitCode: 137}, time.Second)
	r.Add(8, &Result{Outcome: Failed, Signal: 9}, time.Second)
	r.Add(9, &Result{Outcome: OutOfMemory, Signal: 9}, time.Second)
	var kinds [][]int
	for _, e := range r.Ends {
		kinds = append(kinds, e.Tasks)
	}
	want := [][]int{{0, 4}, {1, 3}, {2}, {5, 8}, {6, 9}, {7}}
	if !reflect.DeepEqual(kinds, want) || r.Ends[1].Result.By != "first" {
		t.Errorf("%+v", r.Ends)
	}
	if !slices.Equal(r.Runs, []time.Duration{time.Minute, time.Hour}) {
		t.Errorf("%v", r.Runs)
	}
}
