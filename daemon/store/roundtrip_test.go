package store

import (
	"context"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"

	"pgregory.net/rapid"
)

// fillValue sets everything below v to different values that are not zero.
func fillValue(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(epoch.Add(time.Duration(*n) * 1_000_000_007)))
		return
	}
	if v.Type() == reflect.TypeFor[job.Message]() {
		v.Set(reflect.ValueOf(job.Say(job.Code("kind/case-"+strconv.Itoa(*n)), "text", job.Say("detail/part", "inner"))))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text-" + string(rune('a'+*n%26)))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64:
		v.SetUint(math.MaxUint64 - uint64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) / 7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(t, v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fillValue(t, v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillValue(t, v.Index(0), n)
		fillValue(t, v.Index(1), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillValue(t, key, n)
		fillValue(t, value, n)
		v.SetMapIndex(key, value)
	default:
		t.Fatalf("a stored value has a field of kind %s: teach this test and the store about it", v.Kind())
	}
}

// filled returns records with every field set, in the order in which they can be committed: an array
// with the payload, its task, and a record of everything else. No number is below n.
func filled(t *testing.T, n int) (parent, task, other job.Record) {
	t.Helper()
	var j job.Job
	var p job.Payload
	fillValue(t, reflect.ValueOf(&j).Elem(), &n)
	fillValue(t, reflect.ValueOf(&p).Elem(), &n)
	fillValue(t, reflect.ValueOf(&other).Elem(), &n)
	other.Job, other.Payload, other.Unreserve = nil, nil, 0
	other.Notification.Job, other.Directory.Gone = j.ID, false
	other.Reservation.To = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	j.State, j.Result.Outcome = job.Failed, job.Failed
	j.Request.Priority = job.Priority{Class: job.Low, Number: -7} // a class that exists
	whole := array(j.Task.Array, 1)
	whole.Request, j.Request.Array = j.Request, nil // the array shares these parameters with its task
	whole.Request.Dedup = ""
	return job.Record{Job: whole, Payload: &p}, job.Record{Job: &j}, other
}

// Every field of every stored value has the same value after a restart. This includes fields that
// are added in future.
func TestEveryFieldIsStored(t *testing.T) {
	first, second, other := filled(t, 0)
	parent, j, p := first.Job, *second.Job, *first.Payload
	path := filepath.Join(t.TempDir(), "state.db")
	s := openAt(t, path)
	commit(t, s, first, second, other)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	ctx := context.Background()

	gotJob, err := s.Job(ctx, j.ID)
	requireEqual(t, err, gotJob, j)
	gotParent, err := s.Job(ctx, parent.ID)
	requireEqual(t, err, gotParent, *parent)
	gotPayload, err := s.Payload(ctx, j.PayloadID())
	requireEqual(t, err, gotPayload, p)
	attempts, err := s.Attempts(ctx, j.ID)
	requireEqual(t, err, attempts, []job.Attempt{*j.Attempt})
	st, err := s.Load(ctx)
	requireEqual(t, err, st.GPUs, []job.GPUControl{*other.GPU})
	requireEqual(t, err, st.Usage, []job.Usage{*other.Usage})
	requireEqual(t, err, st.Predictions, []job.Prediction{*other.Prediction})
	requireEqual(t, err, st.Reservations, []job.Reservation{*other.Reservation})
	notified, err := s.Notifications(ctx, other.Notification.Job)
	requireEqual(t, err, notified, []job.Notification{*other.Notification})
	requireEqual(t, err, len(st.Owed), 0) // the message is closed, so it is not in Owed
	dirs, err := s.Directories(ctx, 2)
	requireEqual(t, err, dirs, []job.Directory{*other.Directory})
	list, err := s.Ended(ctx, job.Query{})
	requireEqual(t, err, list, []job.Job{j})

	j.State, j.Result = job.Queued, nil
	commit(t, s, job.Record{Job: &j})
	st, err = s.Load(ctx)
	requireEqual(t, err, st.Jobs, []job.Job{j, *parent})
}

func requireEqual[T any](t rapid.TB, err error, got, want T) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

// The private part is not text, and is kept byte for byte (invariant 4).
func TestPayloadIsByteExact(t *testing.T) {
	all := make([]byte, 255)
	for i := range all {
		all[i] = byte(i + 1)
	}
	s := openNew(t)
	for i, p := range []job.Payload{
		{},
		{Program: contract.Program{Argv: []string{"", "", ""}, Env: []string{""}}},
		{Program: contract.Program{Argv: []string{"printf", "%s\n", "$HOME ${X} $$ %n %%", "a\nb", "\xff\xfe", string(all), ""}, Dir: "/tmp/\xe4", EnvMode: contract.EnvLogin}},
	} {
		id := job.ID(i + 1)
		commit(t, s, job.Record{Job: queuedJob(id), Payload: &p})
		got, err := s.Payload(context.Background(), id)
		requireEqual(t, err, got, p)
	}
}
