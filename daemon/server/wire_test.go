package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"hash/crc32"
	"os"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

var update = flag.Bool("update", false, "write testdata/wire.json anew; keys may be added to it, none may go or mean another thing")

// setDistinct sets every exported field below v to a value that depends only on the field's name,
// so that the order of the fields does not matter.
func setDistinct(v reflect.Value, name string) {
	n := int64(crc32.ChecksumIEEE([]byte(name)) % 100_000)
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		setDistinct(v.Elem(), name)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(noon.Add(time.Duration(n) * time.Second).In(time.FixedZone("far", 3600))))
			return
		}
		if v.Type() == reflect.TypeFor[job.Message]() {
			v.Set(reflect.ValueOf(job.Text("a " + name)))
			return
		}
		for i := range v.NumField() {
			setDistinct(v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		setDistinct(v.Index(0), name)
		setDistinct(v.Index(1), name+" again")
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k"), reflect.ValueOf("v"))
	case reflect.String:
		v.SetString("a " + name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(n * int64(time.Second))
	case reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Float64:
		v.SetFloat(float64(n) / 1000)
	default:
		v.SetInt(n)
	}
}

// sorted returns a document with its keys sorted.
func sorted(t *testing.T, doc any) []byte {
	t.Helper()
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&plain); err != nil {
		t.Fatal(err)
	}
	text, err = json.MarshalIndent(plain, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	return append(sentences.ReplaceAll(text, []byte(`"$1": "…"`)), '\n')
}

// matches sentences, which other tests check
var sentences = regexp.MustCompile(`"(sentence|why)": ".*"`)

// The test compares the daemon's JSON with a golden file. The file has a job, a task, an array and
// a GPU with every field set, and a GPU and a job with no field set.
func TestTheWireMatchesItsGolden(t *testing.T) {
	var v job.JobView
	setDistinct(reflect.ValueOf(&v).Elem(), "")
	v.State, v.Request.Priority = job.Running, job.Priority{Class: job.High}
	v.Request.Array.Ranges = []job.Range{{First: 1, Last: 9, Step: 2}}
	task := v
	v.Task = nil
	ended := v
	ended.State, ended.Request.Array = job.Failed, nil
	var views [2]job.GPUView
	setDistinct(reflect.ValueOf(&views[0]).Elem(), "")
	var reserved job.Reservation
	setDistinct(reflect.ValueOf(&reserved).Elem(), "")
	course := job.Course{At: noon, Until: noon.Add(100 * time.Hour)}
	setDistinct(reflect.ValueOf(&course.GPUs).Elem(), "")
	var explained job.Explained
	setDistinct(reflect.ValueOf(&explained).Elem(), "")
	for i := range explained.Sooner {
		explained.Sooner[i].Change = job.Change{GPUMilli: &v.Request.GPUMilli}
	}
	s := testServer(queue(), nil)
	got := sorted(t, map[string]any{
		"array": renderJob(&v), "task": renderJob(&task), "ended": renderJob(&ended), "empty": renderJob(&job.JobView{}),
		"gpus for an administrator": s.accounts.renderGPUs(views[:], job.Actor{Admin: true}),
		"gpus for another":          s.accounts.renderGPUs(views[:1], job.Actor{UID: -2}),
		"attempts":                  renderAttempts(append(v.Attempts, job.Attempt{})),
		"reservations":              renderReservations([]job.Reservation{reserved, {}}),
		"queue":                     renderExplained(&explained, &v.Job),
		"plan":                      renderPlan(course, 7*24*time.Hour),
		"unit":                      api.SubmitReply{Unit: []job.Property{{Name: "n", Value: "v"}}},
	})
	const golden = "testdata/wire.json"
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the wire is not %s (%v), which -update writes anew:\n%s", golden, err, got)
	}
}
