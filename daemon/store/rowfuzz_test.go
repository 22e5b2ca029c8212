package store

import (
	"database/sql"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// FuzzJobRow decodes arbitrary texts as a row. If this succeeds, encoding the result gives a row
// that decodes to the same result.
func FuzzJobRow(f *testing.F) {
	e := encoder{}
	for _, j := range []*job.Job{queuedJob(1), runningJob(2), endedJob(3, job.Failed), array(4, 1), taskOf(runningJob(5), 4, 3)} {
		f.Add(listJSON(&e, j.Owner.Groups), formatTime(j.SubmittedAt), e.json(&j.Label), e.json(&j.Request), e.json(&j.Life), e.json(j.Result), int64(1))
	}
	f.Add(`["lab"]`, "9999-12-31T23:59:59-12:00", `{"tags":{"k":"v"}}`, `{"begin":"9999-12-31T23:59:59-12:00"}`, `{"tasks":{}}`, "{}", int64(-1))
	f.Fuzz(func(t *testing.T, groups, at, label, request, life, result string, attempt int64) {
		text := jobText{groups: groups, submitted: at, changed: at, label: label, request: request, life: life,
			result: sql.NullString{String: result, Valid: result != "null"}, attempt: attempt}
		var j, again job.Job
		if text.decode(&j) != nil {
			return
		}
		e := encoder{}
		text = jobText{groups: listJSON(&e, j.Owner.Groups), submitted: formatTime(j.SubmittedAt), changed: formatTime(j.ChangedAt),
			label: e.json(&j.Label), request: e.json(&j.Request), life: e.json(&j.Life), attempt: attempt}
		if j.Result != nil {
			text.result = sql.NullString{String: e.json(j.Result), Valid: true}
		}
		if e.err != nil {
			return // only a broken file can have such a time
		}
		for _, at := range []*time.Time{&j.SubmittedAt, &j.ChangedAt} {
			switch *at = at.UTC(); {
			case at.After(lastTime):
				*at = lastTime
			case at.Before(time.Time{}):
				*at = time.Time{}
			}
		}
		if err := text.decode(&again); err != nil || !equalStored(&j, &again) {
			t.Fatalf("%+v\nis read again as %+v, %v", j, again, err)
		}
	})
}

// equalStored compares the stored values: an empty list equals no list.
func equalStored(a, b *job.Job) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// FuzzPayloadRow decodes arbitrary private columns. If this succeeds, encoding the result gives the
// same row byte for byte.
func FuzzPayloadRow(f *testing.F) {
	f.Add([]byte("python\x00train.py\x00"), []byte("A=\xff\x00"), "[]", "{}")
	f.Add([]byte("\x00"), []byte{}, `[{"name":"NOFILE","soft":1,"hard":18446744073709551615}]`, `{"venv":"/v","modules":["a"]}`)
	f.Add([]byte("x"), []byte("\x00\x00"), "[", "{")
	f.Fuzz(func(t *testing.T, argv, env []byte, limits, setup string) {
		p, err := scanPayload(row{job.ID(1), argv, env, limits, setup})
		if err != nil {
			return
		}
		values, err := payloadArgs(1, &p)
		if err != nil {
			t.Fatalf("%+v cannot be written: %v", p, err)
		}
		if got := values[1].([]byte); string(got) != string(argv) {
			t.Fatalf("%q becomes %q", argv, got)
		}
		if got := values[3].([]byte); string(got) != string(env) {
			t.Fatalf("%q becomes %q", env, got)
		}
		again, err := scanPayload(row{job.ID(1), argv, env, values[6].(string), values[7].(string)})
		if err != nil || !reflect.DeepEqual(again, p) && len(p.Limits) > 0 && len(p.Setup.Modules) > 0 {
			t.Fatalf("%+v is read again as %+v, %v", p, again, err)
		}
	})
}

// row imitates a row of the table payloads.
type row struct {
	id        job.ID
	argv, env []byte
	limits    string
	setup     string
}

func (r row) Scan(to ...any) error {
	*to[0].(*job.ID) = r.id
	*to[1].(*[]byte), *to[3].(*[]byte) = r.argv, r.env
	*to[6].(*string), *to[7].(*string) = r.limits, r.setup
	return nil
}
