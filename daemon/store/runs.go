package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// Runs calls f for every attempt on record that may have been under way at q.From or later,
// and for every job that ended without one since, but for arrays, which run nothing: in the
// order of their ends, then those that go on. It reads one snapshot, and stops at the first
// error. A run is good until f returns.
func (s *Store) Runs(ctx context.Context, q job.RunQuery, f func(*job.Run) error) error {
	who, args := "", []any{formatTime(q.From)} // '' is before all
	if q.UID != nil {
		who, args = " AND uid = ?2", append(args, *q.UID)
	}
	query := "SELECT text FROM runs WHERE ended_at >= ?1" + who + " UNION ALL " +
		"SELECT text FROM run_source WHERE job_id IN (SELECT id FROM jobs WHERE result IS NULL) AND ended_at = ''" + who
	r, err := s.reporter(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	var stopped error // by f
	var text string
	var run job.Run
	err = each(ctx, r, query, func(rows *sql.Rows) error {
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if err := readRun(&run, text, q.Tags); err != nil || !q.Wants(&run.Owner) {
			return err
		}
		stopped = f(&run)
		return stopped
	}, args...)
	if err != nil && stopped == nil {
		return fmt.Errorf("read what ran: %w", s.readError(err))
	}
	return err
}

// runFields are the fields of a row of runs, as the schema has them.
const (
	runJob = iota
	runNumber
	runUID
	runGID
	runEnd
	runAsked
	runPeak
	runCPU
	runPlaced
	runStarted
	runEnded
	runEligible
	runGroups
	runTags
	runGPUs
	runUser
	runName
	runFields
)

// readRun decodes a row of runs; tags only where they are wanted.
func readRun(r *job.Run, text string, tags bool) error {
	var field [runFields]string
	rest, ok := text, true
	for i := range runName {
		if field[i], rest, ok = strings.Cut(rest, "\x1f"); !ok {
			return fmt.Errorf("%w: %q is no run", job.ErrInvalid, text)
		}
	}
	gpus := r.Attempt.GPUs[:0]
	*r = job.Run{Name: rest, End: job.State(field[runEnd])}
	d, a := decoder{}, &r.Attempt
	number(&d, &r.Job, field[runJob])
	number(&d, &a.Number, field[runNumber])
	number(&d, &r.Owner.UID, field[runUID])
	number(&d, &r.Owner.GID, field[runGID])
	number(&d, &a.PeakMemBytes, field[runPeak])
	number(&d, &a.CPUTime, field[runCPU])
	r.Owner.User = field[runUser]
	d.asked(r, field[runAsked])
	d.list(&r.Owner.Groups, field[runGroups])
	d.time(&a.PlacedAt, field[runPlaced])
	d.time(&a.StartedAt, field[runStarted])
	d.time(&a.EndedAt, field[runEnded])
	d.time(&a.EligibleAt, field[runEligible])
	if tags && field[runTags] != "" {
		d.json(&r.Tags, field[runTags])
	}
	if list := field[runGPUs]; list != "[]" && flatGPUs(&gpus, list) {
		a.GPUs = gpus
	} else {
		d.list(&a.GPUs, list)
	}
	return d.in("job %d", r.Job)
}

// number reads a number of a row.
func number[T ~int | ~int64](d *decoder, dst *T, s string) {
	if d.err == nil && !integer(dst, s) {
		d.err = fmt.Errorf("%w: %q is no number", job.ErrInvalid, s)
	}
}

// asked reads what was asked: a list of memory, GPU memory, CPUs, time limit and class, with
// null for what was not.
func (d *decoder) asked(r *job.Run, s string) {
	limit, class := job.Span(0), job.Priority{}
	rest := strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	for _, read := range []func(string) bool{
		func(v string) bool { return integer(&r.Mem, v) },
		func(v string) bool { return integer(&r.GPUMem, v) },
		func(v string) bool { return integer(&r.CPUs, v) },
		func(v string) bool { return span(&limit, v) },
		func(v string) bool { return priority(&class, v) },
	} {
		var value string
		value, rest, _ = strings.Cut(rest, ",")
		if value != "" && value != "null" && !read(value) && d.err == nil {
			d.err = fmt.Errorf("%w: %q is not what was asked", job.ErrInvalid, s)
		}
	}
	r.Class, r.Limit = class.Class, limit.Duration()
}

// flatGPUs reads the GPUs of an attempt as encoding/json would, where they are as the
// scheduler writes them: see flat.
func flatGPUs(list *[]job.Allocation, s string) bool {
	if len(s) < 2 || s[0] != '[' || s[len(s)-1] != ']' {
		return false
	}
	for s = s[1 : len(s)-1]; s != ""; {
		depth, end := 0, 0
		for end < len(s) {
			switch s[end] {
			case '{':
				depth++
			case '}':
				depth--
			}
			if end++; depth == 0 {
				break
			}
		}
		var g job.Allocation
		if !flatGPU(&g, s[:end]) {
			return false
		}
		*list = append(*list, g)
		if s = s[end:]; s != "" && (s[0] != ',' || s == ",") {
			return false
		}
		s = strings.TrimPrefix(s, ",")
	}
	return true
}

func flatGPU(g *job.Allocation, s string) bool {
	return flat(s, func(key, value string) bool {
		switch key {
		case "uuid":
			return text(&g.UUID, value)
		case "index":
			return integer(&g.Index, value)
		case "minor":
			return integer(&g.Minor, value)
		case "milli":
			return integer(&g.Milli, value)
		case "promise_bytes":
			return integer(&g.PromiseBytes, value)
		case "charge_milli":
			return integer(&g.ChargeMilli, value)
		case "cpus":
			return text(&g.CPUs, value)
		case "promised_cpus":
			return integer(&g.PromisedCPUs, value)
		case "use":
			return flatUse(&g.Use, value)
		}
		return false
	})
}

func flatUse(u *job.GPUUse, s string) bool {
	return flat(s, func(key, value string) bool {
		switch key {
		case "peak_bytes":
			return integer(&u.PeakBytes, value)
		case "seen":
			return integer(&u.Seen, value)
		case "busy":
			return integer(&u.Busy, value)
		case "peak_busy":
			return integer(&u.PeakBusy, value)
		case "mem_seen":
			return integer(&u.MemSeen, value)
		case "mem_mib_ms":
			return integer(&u.MemMiBMS, value)
		case "metered":
			return integer(&u.Metered, value)
		case "milli_j":
			return integer(&u.MilliJ, value)
		case "idle":
			return integer(&u.Idle, value)
		}
		return false
	})
}
