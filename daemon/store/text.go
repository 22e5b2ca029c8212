package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// timeLayout has a fixed width, so that the texts sort in the order of the times.
const timeLayout = "2006-01-02T15:04:05.000000000Z"

// lastTime is the last time that timeLayout can write. A later time, which only a broken clock can
// give, is stored as lastTime. If the later time itself were stored, it could not be read again,
// and the scheduler would not start.
var lastTime = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)

func formatTime(t time.Time) string {
	switch {
	case !t.After(time.Time{}):
		return ""
	case t.After(lastTime):
		t = lastTime
	}
	return t.UTC().Format(timeLayout)
}

// encoder turns values into texts of a row, and keeps the first error.
type encoder struct{ err error }

func (e *encoder) json(v any) string {
	b, err := json.Marshal(v)
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("%w: %w", job.ErrInvalid, err)
	}
	return string(b)
}

// listJSON writes an empty slice as [], even if it is nil.
func listJSON[T any](e *encoder, list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	return e.json(list)
}

func (e *encoder) result(r *job.Result) any {
	if r == nil {
		return nil
	}
	return e.json(r)
}

// decoder turns texts of a row into values, and keeps the first error.
type decoder struct{ err error }

func (d *decoder) time(dst *time.Time, s string) {
	if s == "" || d.err != nil {
		return
	}
	*dst, d.err = time.Parse(time.RFC3339Nano, s)
}

func (d *decoder) json(dst any, s string) {
	if d.err == nil && s != "{}" {
		d.err = json.Unmarshal([]byte(s), dst)
	}
}

// list leaves the slice nil for an empty list.
func (d *decoder) list(dst any, s string) {
	if s != "[]" {
		d.json(dst, s)
	}
}

func (d *decoder) result(dst **job.Result, s sql.NullString) {
	if s.Valid {
		*dst = &job.Result{}
		d.json(*dst, s.String)
	}
}

// errorAbout returns the decoder's error, with the name of the subject that was decoded.
func (d *decoder) errorAbout(format string, subject any) error {
	if d.err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", subject, d.err)
}
