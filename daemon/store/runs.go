package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// runColumns are what a run is made of. An array, which runs nothing, is none.
const runColumns = `SELECT j.id, j.uid, j.gid, j.user, j.owner_groups, j.name, j.state, j.attempt, j.label, j.request,
 j.result IS NOT NULL, j.changed_at, coalesce(a.number, 0), coalesce(a.gpus, '[]'), coalesce(a.placed_at, ''),
 coalesce(a.started_at, ''), coalesce(a.ended_at, ''), coalesce(a.eligible_at, ''), coalesce(a.peak_mem_bytes, 0),
 coalesce(a.cpu_time_ns, 0) FROM jobs j LEFT JOIN attempts a ON a.job_id = j.id
 WHERE (j.attempt > 0 OR j.result IS NOT NULL AND json_extract(j.life, '$.tasks') IS NULL) AND `

// Runs calls f for every attempt on record that may have been under way at q.From or later,
// and for every job that ended without one since; the attempts of one job follow each
// other. It reads one snapshot, and stops at the first error. A run is good until f returns.
func (s *Store) Runs(ctx context.Context, q job.RunQuery, f func(*job.Run) error) error {
	who, args := "", []any{}
	if q.UID != nil {
		who, args = " AND j.uid = ?", append(args, *q.UID)
	}
	ended := "j.result IS NOT NULL AND j.changed_at >= '" + formatTime(q.From) + "'" // '' is before all
	var stopped error                                                                // by f
	scan := func(rows *sql.Rows) error {
		var t runText
		if err := t.scan(rows); err != nil {
			return err
		}
		r, err := t.run(q.Tags)
		if err == nil {
			stopped = f(r)
			err = stopped
		}
		return err
	}
	query := runColumns + ended + who + " UNION ALL " + runColumns + "j.result IS NULL" + who
	err := each(ctx, s.reports, query, scan, append(args, args...)...)
	if err != nil && stopped == nil {
		return fmt.Errorf("read what ran: %w", s.readError(err))
	}
	return err
}

// runText is a row of runColumns.
type runText struct {
	job.Run
	job.Attempt
	state                                 job.State
	last                                  int
	over                                  bool
	groups, label, request, changed, gpus string
	placed, started, ended, eligible      string
}

func (t *runText) scan(rows *sql.Rows) error {
	return rows.Scan(&t.Job, &t.Owner.UID, &t.Owner.GID, &t.Owner.User, &t.groups, &t.Name, &t.state, &t.last, &t.label,
		&t.request, &t.over, &t.changed, &t.Number, &t.gpus, &t.placed, &t.started, &t.ended, &t.eligible,
		&t.PeakMemBytes, &t.CPUTime)
}

// run decodes the row; tags only where they are wanted.
func (t *runText) run(tags bool) (*job.Run, error) {
	d, a := decoder{}, &t.Attempt
	d.list(&t.Owner.Groups, t.groups)
	var request job.Request
	document(&d, &request, t.request, flatRequest)
	if tags && strings.Contains(t.label, `"tags"`) {
		var label job.Label
		document(&d, &label, t.label, flatLabel)
		t.Tags = label.Tags
	}
	if t.gpus != "[]" && !flatGPUs(&a.GPUs, t.gpus) {
		a.GPUs = nil
		d.list(&a.GPUs, t.gpus)
	}
	d.time(&a.PlacedAt, t.placed)
	d.time(&a.StartedAt, t.started)
	d.time(&a.EndedAt, t.ended)
	d.time(&a.EligibleAt, t.eligible)
	if t.Number == 0 {
		d.time(&a.EndedAt, t.changed)
	}
	t.Run.Attempt = *a
	r := &t.Run
	r.Class, r.Limit = request.Priority.Class, request.TimeLimit.Duration()
	r.Mem, r.GPUMem, r.CPUs = request.MemBytes, request.GPUMemBytes, request.CPUs
	if t.over && t.last == t.Number {
		r.End = t.state
	}
	return r, d.in("job %d", t.Job)
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
