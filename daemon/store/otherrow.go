package store

import (
	"database/sql"
	"fmt"

	"github.com/gpusched/gpusched/daemon/job"
)

// Columns of the tables that are not about jobs. For each of these tables, one function returns the
// values of a row and another reads them.
const (
	gpuColumns          = "uuid, paused, drain, reason, actor, at, until, fault"
	usageColumns        = "account, micro, at, counts"
	predictionColumns   = "key, typical_ns, runs, at, spread, weight, lengths, peak_bytes"
	reservationColumns  = "id, gpus, from_at, to_at, allowed_users, allowed_groups, reason, actor, at"
	notificationColumns = "job_id, event, which, closed, data"
	directoryColumns    = "job_id, attempt, uid, due, data"
)

// controlDocument is the JSON in the column "fault" of a control's row.
type controlDocument struct {
	job.GPUFault
	Reboot *job.Reboot `json:"reboot,omitempty"`
}

func gpuArgs(g *job.GPUControl) ([]any, error) {
	e := encoder{}
	fault := e.json(controlDocument{g.Fault, g.Reboot})
	return []any{g.UUID, g.Paused, g.Drain, g.Reason, g.By, formatTime(g.At), formatTime(g.Until), fault}, e.err
}

func scanGPU(rows *sql.Rows) (g job.GPUControl, err error) {
	var at, until, fault string
	if err := rows.Scan(&g.UUID, &g.Paused, &g.Drain, &g.Reason, &g.By, &at, &until, &fault); err != nil {
		return g, err
	}
	d := decoder{}
	d.time(&g.At, at)
	d.time(&g.Until, until)
	var doc controlDocument
	d.json(&doc, fault)
	g.Fault, g.Reboot = doc.GPUFault, doc.Reboot
	return g, d.errorAbout("control of GPU %q", g.UUID)
}

func usageArgs(u *job.Usage) ([]any, error) {
	e := encoder{}
	counts := e.json(u.Counts)
	return []any{u.Account, u.Micro, formatTime(u.At), counts}, e.err
}

func scanUsage(rows *sql.Rows) (u job.Usage, err error) {
	var at, counts string
	if err := rows.Scan(&u.Account, &u.Micro, &at, &counts); err != nil {
		return u, err
	}
	d := decoder{}
	d.time(&u.At, at)
	d.json(&u.Counts, counts)
	return u, d.errorAbout("usage of account %q", u.Account)
}

func predictionArgs(p *job.Prediction) ([]any, error) {
	e := encoder{}
	lengths := "{}"
	if len(p.Lengths) > 0 {
		lengths = e.json(p.Lengths)
	}
	return []any{p.Key, int64(p.Typical), p.Runs, formatTime(p.At), p.Spread, p.Weight, lengths, p.PeakBytes}, e.err
}

func scanPrediction(rows *sql.Rows) (p job.Prediction, err error) {
	var at, lengths string
	if err := rows.Scan(&p.Key, &p.Typical, &p.Runs, &at, &p.Spread, &p.Weight, &lengths, &p.PeakBytes); err != nil {
		return p, err
	}
	d := decoder{}
	d.time(&p.At, at)
	d.json(&p.Lengths, lengths)
	return p, d.errorAbout("prediction %q", p.Key)
}

func reservationArgs(r *job.Reservation) ([]any, error) {
	if r.ID < 1 {
		return nil, fmt.Errorf("%w: id %d of a reservation", job.ErrInvalid, r.ID)
	}
	e := encoder{}
	gpus, users, groups := listJSON(&e, r.GPUs), listJSON(&e, r.Users), listJSON(&e, r.Groups)
	return []any{r.ID, gpus, formatTime(r.From), formatTime(r.To), users, groups, r.Reason, r.By, formatTime(r.At)}, e.err
}

func scanReservation(rows *sql.Rows) (r job.Reservation, err error) {
	var gpus, from, to, users, groups, at string
	if err := rows.Scan(&r.ID, &gpus, &from, &to, &users, &groups, &r.Reason, &r.By, &at); err != nil {
		return r, err
	}
	d := decoder{}
	d.list(&r.GPUs, gpus)
	d.time(&r.From, from)
	d.time(&r.To, to)
	d.list(&r.Users, users)
	d.list(&r.Groups, groups)
	d.time(&r.At, at)
	return r, d.errorAbout("reservation %d", r.ID)
}

func notificationArgs(n *job.Notification) ([]any, error) {
	e := encoder{}
	data := e.json(n)
	return []any{int64(n.Job), string(n.Event), n.Which, formatTime(n.Closed), data}, e.err
}

func scanNotification(rows *sql.Rows) (n job.Notification, err error) {
	var id job.ID
	var event, closed, data string
	var which int
	if err := rows.Scan(&id, &event, &which, &closed, &data); err != nil {
		return n, err
	}
	d := decoder{}
	d.json(&n, data)
	return n, d.errorAbout("message about job %d", id)
}

func directoryArgs(d *job.Directory) ([]any, error) {
	e := encoder{}
	data := e.json(d)
	return []any{int64(d.Job), d.Attempt, d.UID, formatTime(d.Due), data}, e.err
}

func scanDirectory(rows *sql.Rows) (d job.Directory, err error) {
	var due, data string
	if err := rows.Scan(&d.Job, &d.Attempt, &d.UID, &due, &data); err != nil {
		return d, err
	}
	dec := decoder{}
	dec.json(&d, data)
	dec.time(&d.Due, due)
	return d, dec.errorAbout("directory of job %d", d.Job)
}

func scanDone(rows *sql.Rows) (d job.Done, err error) {
	return d, rows.Scan(&d.UID, &d.Dedup, &d.Job)
}
