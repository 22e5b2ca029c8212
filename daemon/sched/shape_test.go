package sched

import (
	"reflect"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// notRead has the fields of a request that placement does not read, with the reasons.
var notRead = map[string]string{
	"GPUVisible": "names the GPUs to the job", "Grace": "a part of the running job's notice",
	"Priority": "of the bucket, beside the shape", "Notify": "messages", "Screen": "of the unit", "Hold": "held jobs do not wait here", "Requeue": "after an end, and of preemptible jobs when the machine ends",
	"OnTimeout": "after an end", "WarnSignal": "of the running job", "WarnBefore": "a part of the running job's notice",
	"WarnMain": "of the running job", "SignalTo": "of the unit",
	"Retries": "after an end", "Backoff": "after an end", "Begin": "until then it does not wait here",
	"After": "until then it does not wait here", "Array": "the throttle, beside the shape", "Dedup": "before it is queued",
	"Objective": "of the batch, beside the shape", "Batch": "of the bucket, beside the shape", "Lane": "the throttle, beside the shape",
	"MaxFailures": "an array with too many does not wait here",
	"MPS":         "Mates follows from it", "MPSFair": "a variable of the job",
	"NoPark": "of the running job",
}

// If two requests differ in a field that placement reads, their needs differ. All other fields are
// listed in notRead.
func TestNeeds(t *testing.T) {
	request := reflect.TypeFor[job.Request]()
	for i := range request.NumField() {
		var r job.Request
		f := request.Field(i)
		fill(t, reflect.ValueOf(&r).Elem().Field(i))
		read := needsOf(&r) != needsOf(&job.Request{})
		if _, listed := notRead[f.Name]; read == listed {
			t.Errorf("%s changes the needs: %t; listed as not read: %t", f.Name, read, listed)
		}
	}
	for name := range notRead {
		if _, known := request.FieldByName(name); !known {
			t.Errorf("a request has no %s", name)
		}
	}
}

// fill sets v to a value that is not zero.
func fill(t *testing.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(7)
	case reflect.String:
		v.SetString("x")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(t, v.Field(i))
			}
		}
	default:
		t.Fatalf("no value for %s", v.Type())
	}
}

func TestGPUSet(t *testing.T) {
	if job.GPUSetOf(nil) != "" || job.GPUSetOf([]int{}) != "" || job.GPUSetOf([]int{-1, job.MaxGPUs}) == "" {
		t.Error("a list and no list are alike")
	}
	s := job.GPUSetOf([]int{0, 9, job.MaxGPUs - 1})
	for i := range job.MaxGPUs + 8 {
		if want := i == 0 || i == 9 || i == job.MaxGPUs-1; s.Has(i) != want {
			t.Errorf("%d is in the set: %t", i, s.Has(i))
		}
	}
}
