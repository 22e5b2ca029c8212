package server

import (
	"reflect"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// This table lists the fields of a request that strangers do not see, with the reasons.
var hidden = map[string]string{
	"After": "the job has its own list", "Array": "the job has its own, without the parameters, which are of the command",
	"Dedup": "a hash of the command", "DefaultedMem": "the job says so", "ImpliedStop": "nobody asks",
	"Shape": "a hash of the command", "Script": "a hash of the command", "AutoMem": "the job says so", "ContainerEngine": "it is part of the command", "MemMilli": "it follows from others", "Mates": "it follows from others",
}

// Invariant 3: each field of a request or a result is either shown to strangers or listed as
// hidden. A new field therefore stays private until somebody decides to show it.
func TestStrangersSeeListedFields(t *testing.T) {
	checkShown(t, publicPart, hidden)
	checkShown(t, func(r job.Result) job.Result { return renderResult(&r).Result },
		map[string]string{"Unfiltered": "the site knows, and nobody else needs it"})
	who := []job.Notify{{Way: job.NotifyMail, To: "alice@example.org"}}
	if got := publicPart(job.Request{Notify: who}).Notify; len(got) != 1 || got[0].To != "" {
		t.Errorf("strangers see the address of %+v", got)
	}
}

// checkShown checks that each field of a T is either shown by the function public or listed in the
// map hidden, but not both.
func checkShown[T any](t *testing.T, public func(T) T, hidden map[string]string) {
	t.Helper()
	known, typ := map[string]bool{}, reflect.TypeFor[T]()
	for _, f := range reflect.VisibleFields(typ) {
		if f.Anonymous {
			continue
		}
		known[f.Name] = true
		var v T
		setNonzero(t, f.Name, reflect.ValueOf(&v).Elem().FieldByIndex(f.Index))
		shown := !reflect.ValueOf(public(v)).FieldByIndex(f.Index).IsZero()
		if _, listed := hidden[f.Name]; shown == listed {
			t.Errorf("strangers see %s of a %s: %t; listed as hidden: %t", f.Name, typ, shown, listed)
		}
	}
	for name := range hidden {
		if !known[name] {
			t.Errorf("a %s has no field %s", typ, name)
		}
	}
}

// setNonzero sets a field to a value that is not zero.
func setNonzero(t *testing.T, name string, v reflect.Value) {
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
		setNonzero(t, name, v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		for i := range v.NumField() {
			setNonzero(t, name, v.Field(i))
		}
	default:
		t.Fatalf("no value for %s, a %s", name, v.Type())
	}
}
