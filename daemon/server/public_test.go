package server

import (
	"reflect"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// hidden are the fields of a request that strangers don't see, and why.
var hidden = map[string]string{
	"After": "the job has its own list", "Array": "the job has its own, without the parameters, which are of the command",
	"Dedup": "a hash of the command", "DefaultedMem": "the job says so", "ImpliedStop": "nobody asks",
	"Shape": "a hash of the command", "Script": "a hash of the command", "AutoMem": "the job says so", "MemMilli": "it follows from others",
}

// Invariant 3: each field of a request is shown to strangers or listed above, so that a new
// one is private until somebody decides that.
func TestWhatStrangersSeeIsAList(t *testing.T) {
	known := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[job.Request]()) {
		if f.Anonymous {
			continue
		}
		known[f.Name] = true
		var r job.Request
		give(t, f.Name, reflect.ValueOf(&r).Elem().FieldByIndex(f.Index))
		public := publicPart(r)
		shown := !reflect.ValueOf(public).FieldByIndex(f.Index).IsZero()
		if _, listed := hidden[f.Name]; shown == listed {
			t.Errorf("strangers see %s: %t; listed as hidden: %t", f.Name, shown, listed)
		}
	}
	for name := range hidden {
		if !known[name] {
			t.Errorf("a request has no field %s", name)
		}
	}
	who := []job.Notify{{Way: job.NotifyMail, To: "alice@example.org"}}
	if got := publicPart(job.Request{Notify: who}).Notify; len(got) != 1 || got[0].To != "" {
		t.Errorf("strangers see the address of %+v", got)
	}
}

// give gives a field a value that is not zero.
func give(t *testing.T, name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.String:
		v.SetString("x")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		give(t, name, v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		for i := range v.NumField() {
			give(t, name, v.Field(i))
		}
	default:
		t.Fatalf("no value for %s, a %s", name, v.Type())
	}
}
