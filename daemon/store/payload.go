package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

const (
	payloadColumns = "job_id, argv, env_mode, env, dir, umask, limits, setup"
	payloadQuery   = "SELECT " + payloadColumns + " FROM payloads WHERE job_id = ?"
)

// When a job has ended, the store keeps only a part of its private data: the directory, the
// beginning of the command and of its set-up (for people to read), the place of a snapshot, and the
// destinations of messages. It removes the environment, which may contain secrets. The payload of
// an array stays until the array ends, which is after the ends of its tasks.
const (
	keepCommand   = "4096" // bytes
	redactPayload = "UPDATE payloads SET env = x'', limits = '[]', argv = CASE WHEN octet_length(argv) > " + keepCommand +
		" THEN CAST(substr(argv, 1, " + keepCommand + ") || x'E280A600' AS BLOB) ELSE argv END, " + // appends …
		"setup = CASE WHEN octet_length(setup) <= " + keepCommand + " THEN setup ELSE json_patch('{\"cut\":true}', " + // drops what is null
		"json_object('notify_to', setup -> '$.notify_to', 'snapshot', setup -> '$.snapshot')) END WHERE job_id = ?"
)

// payloadArgs returns the values of payloadColumns.
func payloadArgs(id job.ID, p *job.Payload) ([]any, error) {
	argv, err := joinNUL(p.Argv)
	if err != nil {
		return nil, err
	}
	env, err := joinNUL(p.Env)
	if err != nil {
		return nil, err
	}
	e := encoder{}
	limits, setup := listJSON(&e, p.Limits), "{}"
	if o := p.Options(); !o.IsZero() {
		setup = e.json(o)
	}
	return []any{int64(id), argv, string(p.EnvMode), env, []byte(p.Dir), p.Umask, limits, setup}, e.err
}

// Payload returns the private part that is stored under the id. For a task this must be the id of
// its array (job.PayloadID). If the part is missing or damaged, the error is job.ErrNoPayload.
func (s *Store) Payload(ctx context.Context, id job.ID) (job.Payload, error) {
	p, err := scanPayload(s.payload.QueryRowContext(ctx, int64(id)))
	if err == nil {
		return p, nil
	}
	if err = classify(s.path, err); errors.Is(err, sql.ErrNoRows) || errors.Is(err, job.ErrDamaged) {
		err = fmt.Errorf("%w: %w", job.ErrNoPayload, err)
	}
	return job.Payload{}, fmt.Errorf("read the payload of job %d: %w", id, err)
}

func scanPayload(row interface{ Scan(...any) error }) (job.Payload, error) {
	var id job.ID
	var p job.Payload
	var argv, env, dir []byte
	var limits, setup string
	err := row.Scan(&id, &argv, &p.EnvMode, &env, &dir, &p.Umask, &limits, &setup)
	if err != nil {
		return p, err
	}
	p.Dir = string(dir)
	if p.Argv, err = splitNUL(argv); err != nil {
		return p, err
	}
	if p.Env, err = splitNUL(env); err != nil {
		return p, err
	}
	var o job.Options
	d := decoder{}
	d.list(&p.Limits, limits)
	d.json(&o, setup)
	p.Setup, p.Container = o.Setup, o.Container
	p.Log, p.TTY, p.Snapshot = o.Log, o.TTY, o.Snapshot
	p.SetupCut = o.Cut
	p.NotifyTo = o.NotifyTo
	return p, d.err
}

// joinNUL ends each string with a NUL byte, as the kernel stores arguments and environments. JSON
// could not represent strings that are not UTF-8.
func joinNUL(list []string) ([]byte, error) {
	n := 0
	for _, s := range list {
		if strings.IndexByte(s, 0) >= 0 {
			return nil, fmt.Errorf("%w: an argument or variable contains a NUL byte", job.ErrInvalid)
		}
		n += len(s) + 1
	}
	b := make([]byte, 0, n)
	for _, s := range list {
		b = append(append(b, s...), 0)
	}
	return b, nil
}

func splitNUL(b []byte) ([]string, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if b[len(b)-1] != 0 {
		return nil, errors.New("a list of strings does not end in NUL")
	}
	return strings.Split(string(bytes.TrimSuffix(b, []byte{0})), "\x00"), nil
}
