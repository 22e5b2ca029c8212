package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/units/contract"
)

// execFile runs a script on the file as another program would.
func execFile(t *testing.T, path, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
}

// restore makes a state file from a dump in testdata.
func restore(t *testing.T, dump string) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", dump))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "state.db")
	execFile(t, path, string(script))
	return path
}

// A file of every schema ever released opens, with everything in it.
func TestReleasedSchemasOpen(t *testing.T) {
	for _, dump := range dumps {
		t.Run(dump, func(t *testing.T) {
			s := openAt(t, restore(t, dump))
			ctx := context.Background()
			mustCheck(t, s)
			st, err := s.Load(ctx)
			requireEqual(t, err, st.NextID, 5)
			at := func(s string) time.Time { return mustTime(t, s) }
			requireEqual(t, err, st.GPUs, []job.GPUControl{{UUID: "GPU-aa", Paused: true, Reason: "fan", By: "root", At: at("2026-01-02T03:04:05Z")}})
			requireEqual(t, err, len(st.Every()), 1)
			requireEqual(t, err, st.Every()[0].Request.GPUMilli, 2000)
			requireEqual(t, err, st.Every()[0].QueuedAt, st.Every()[0].SubmittedAt)
			j, err := s.Job(ctx, 2)
			requireEqual(t, err, words.Result(j.Result), "failed: exit code 3")
			requireEqual(t, err, j.Attempt.GPUs, []job.Allocation{{GPU: contract.GPU{UUID: "GPU-bb", Index: 1, Minor: 3}}})
			requireEqual(t, err, j.Attempt.EndedAt, at("2026-01-02T04:00:00.5Z"))
			p, err := s.Payload(ctx, 2)
			requireEqual(t, err, p.Argv, []string{"python", "\xff", ""})
		})
	}
}

func mustTime(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// dumps are state files of every schema, in order.
var dumps = []string{"schema-1.sql", "schema-2.sql", "schema-3.sql", "schema-4.sql", "schema-5.sql", "schema-6.sql", "schema-7.sql", "schema-8.sql", "schema-9.sql", "schema-10.sql",
	"schema-11.sql"}

// Schema 3 writes the request in another way, and says the same.
func TestRequestsOfSchema2(t *testing.T) {
	path := restore(t, "schema-2.sql")
	execFile(t, path, `UPDATE jobs SET request = '{"gpu_milli":500,"gpu_ids":[1],"time_limit":7200000000000,"grace":500000000,'
		|| '"priority":{"class":1,"number":0},"requeue":true,"defaulted_mem":true,"implied_stop":true,"on_timeout":"requeue",'
		|| '"warn_signal":10,"warn_before":60000000000,"backoff":5000000000,"shape":"ab","script":"cd"}' WHERE id = 2`)
	s := openAt(t, path)
	j, err := s.Job(context.Background(), 2)
	requireEqual(t, err, j.Request, job.Request{
		GPUMilli: 500, GPUIDs: []int{1}, TimeLimit: job.Span(2 * time.Hour), Grace: job.Span(time.Second / 2),
		Priority: job.Priority{Class: job.High}, Requeue: true, OnTimeout: job.TimeoutRequeue,
		WarnSignal: 10, WarnBefore: job.Span(time.Minute), Backoff: job.Span(5 * time.Second),
		Derived: job.Derived{DefaultedMem: true, ImpliedStop: true, Shape: "ab", Script: "cd"},
	})
	j, err = s.Job(context.Background(), 3)
	requireEqual(t, err, j.Request.Priority, job.Priority{Class: job.Low})
	damaged := restore(t, "schema-2.sql")
	execFile(t, damaged, `UPDATE jobs SET request = '{' WHERE id = 2`)
	s = openAt(t, damaged) // one row that can't be read is no reason to refuse the others
	if j, err = s.Job(context.Background(), 3); err != nil || j.Request.GPUMilli != 500 {
		t.Errorf("beside a damaged row: %+v, %v", j.Request, err)
	}
}

// Schema 3 has on record what has begun: who waits for the start of an array would
// wait for its end else, and be cancelled with it.
func TestWhatBeganBeforeSchema3(t *testing.T) {
	path := restore(t, "schema-2.sql")
	execFile(t, path, `UPDATE jobs SET result = NULL, state = 'running' WHERE id IN (2, 4);
		UPDATE jobs SET result = NULL, state = 'queued' WHERE id = 3;
		INSERT INTO attempts SELECT 4, 1, gpus, boot_id, invocation_id, placed_at, started_at, '', NULL, 0, 0 FROM attempts WHERE job_id = 3;
		UPDATE attempts SET started_at = '' WHERE job_id = 3`)
	s := openAt(t, path)
	st, err := s.Load(context.Background())
	began := map[job.ID]bool{}
	for _, j := range st.Every() {
		began[j.ID] = j.Began
	}
	requireEqual(t, err, began, map[job.ID]bool{1: true, 2: true, 3: false, 4: true}) // 4 is a task of 1
}

// What only schema 2 can hold is there, too.
func TestSchema2Opens(t *testing.T) {
	s := openAt(t, restore(t, "schema-2.sql"))
	ctx := context.Background()
	st, err := s.Load(ctx)
	requireEqual(t, err, st.Every()[0].Tasks, &job.Tasks{Next: 2, Failed: 1})
	requireEqual(t, err, st.Every()[0].Owner.Groups, []string{"lab"})
	requireEqual(t, err, st.NextReservation, 4)
	requireEqual(t, err, st.Done, []job.Done{{UID: 1002, Dedup: "d4", Job: 3}})
	requireEqual(t, err, st.Usage, []job.Usage{{Account: "u1001", Micro: 7, At: mustTime(t, "2026-01-02T03:04:05Z")}})
	requireEqual(t, err, st.Predictions, []job.Prediction{{Key: "k", Typical: 5, Runs: 6, At: mustTime(t, "2026-01-02T03:04:05Z")}})
	requireEqual(t, err, st.Reservations, []job.Reservation{{
		ID: 2, GPUs: []job.Allocation{{GPU: contract.GPU{UUID: "GPU-aa"}}}, From: mustTime(t, "2200-01-02T03:04:05Z"), To: mustTime(t, "2200-01-02T03:04:06Z"),
		Users: []job.Account{{UID: 1001, User: "alice"}}, Groups: []job.Group{{Name: "lab", GID: -1}}, Reason: "course", By: "root", At: mustTime(t, "2026-01-02T03:04:05Z"),
	}})
	id, err := s.Task(ctx, 1, 5)
	requireEqual(t, err, id, 4)
}

// Schema 4 has more of an account than its GPU time.
func TestSchema4Opens(t *testing.T) {
	st, err := openAt(t, restore(t, "schema-4.sql")).Load(context.Background())
	requireEqual(t, err, st.Usage, []job.Usage{{
		Account: "u1001", Micro: 7, At: mustTime(t, "2026-01-02T03:04:05Z"),
		Counts: job.UsageCounts{Capped: []time.Duration{5, 6}, Sizes: 3},
	}})
}

// Schema 5 has more of run times than their mean.
func TestSchema5Opens(t *testing.T) {
	st, err := openAt(t, restore(t, "schema-5.sql")).Load(context.Background())
	requireEqual(t, err, st.Predictions, []job.Prediction{{
		Key: "k", Typical: 5, Runs: 6, At: mustTime(t, "2026-01-02T03:04:05Z"),
		Spread: 0.5, Weight: 6.5, Lengths: []job.LengthShare{{Bin: 3, Part: 1}},
	}})
}

// Schema 6 has what a job does before its command.
func TestSchema6Opens(t *testing.T) {
	p, err := openAt(t, restore(t, "schema-6.sql")).Payload(context.Background(), 2)
	requireEqual(t, err, p.Setup, contract.Setup{Modules: []string{"cuda/12"}, Venv: "/srv/v", Command: "true"})
}

// Schema 7 has the GPU memory that commands take.
func TestSchema7Opens(t *testing.T) {
	st, err := openAt(t, restore(t, "schema-7.sql")).Load(context.Background())
	want := job.Prediction{Key: "1001 memory 0 ab", At: mustTime(t, "2026-01-02T03:04:05Z"), PeakBytes: 1 << 30}
	requireEqual(t, err, st.Predictions[0], want)
}

// Schema 8 has the messages about jobs.
func TestSchema8Opens(t *testing.T) {
	s := openAt(t, restore(t, "schema-8.sql"))
	st, err := s.Load(context.Background())
	owed := job.Notification{Job: 2, Event: job.NotifyEnd, UID: 1002, Way: job.NotifyMail, At: mustTime(t, "2026-01-02T04:00:01Z")}
	requireEqual(t, err, st.Owed, []job.Notification{owed})
	sent, err := s.Notifications(context.Background(), 3)
	requireEqual(t, err, len(sent) == 1 && sent[0].Sent(), true)
}

// A released script is history: the schema that the scripts up to it make is
// the one in the dump of its time.
func TestReleasedSchemaIsNotRewritten(t *testing.T) {
	schema := func(path string) (text string) {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRow("SELECT group_concat(sql, ';' ORDER BY name) FROM sqlite_schema").Scan(&text); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(text), " ")
	}
	requireEqual(t, nil, len(migrations()), len(dumps))
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	for i, dump := range dumps {
		execFile(t, fresh, migrations()[i])
		if got, want := schema(fresh), schema(restore(t, dump)); got != want {
			t.Errorf("schema %d is\n%s\nreleased was\n%s", i+1, got, want)
		}
	}
}

// openWith opens the file as a release with these migrations would.
func openWith(path string, known []string) error {
	s := &Store{path: path}
	err := s.open(context.Background(), known)
	return errors.Join(err, s.release())
}

const nextSchema = "ALTER TABLE jobs ADD COLUMN project TEXT NOT NULL DEFAULT ''"

// An older file is copied before it is changed (invariant 6).
func TestMigrationCopiesFirst(t *testing.T) {
	path := restore(t, "schema-1.sql")
	execFile(t, path, "PRAGMA journal_mode=WAL")
	if err := openWith(path, append(migrations(), nextSchema)); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(BackupPath(path, 1))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("copy: %v, %v", st, err)
	}
	old := openAt(t, BackupPath(path, 1))
	mustCheck(t, old)
	if _, err := old.Job(context.Background(), 2); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), path, Options{}); !errors.Is(err, ErrNewer) {
		t.Fatalf("the release before opens it: %v", err)
	}
}

// A migration that fails leaves the old schema and can be tried again.
func TestFailedMigrationChangesNothing(t *testing.T) {
	path := restore(t, "schema-1.sql")
	for range 2 {
		if err := openWith(path, append(migrations(), nextSchema, "CREATE TABLE broken (")); err == nil {
			t.Fatal("the broken migration went through")
		}
	}
	if err := openWith(path, append(migrations(), nextSchema)); err != nil {
		t.Fatal(err)
	}
}

// A file of a newer release is refused, with what to do, and not one byte of
// it changes (invariant 6).
func TestNewerFileIsLeftAlone(t *testing.T) {
	path := restore(t, "schema-1.sql")
	execFile(t, path, "PRAGMA user_version=99")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, opts := range []Options{{}, {ReadOnly: true}} {
		_, err = Open(context.Background(), path, opts)
		if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "schema 99") {
			t.Fatalf("error %v", err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Fatalf("the file changed (%v)", err)
	}
}
