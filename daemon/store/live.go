package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gpusched/gpusched/daemon/job"
)

// What follows reads a long queue in one pass. Most of its jobs differ in little from the one
// before, so what is alike is a column of its own, decoded once for all who have the same text; a
// column costs more than what is in it; and a job that waits is not made whole and kept so, as
// touching the memory costs most of all.

const (
	// sep is between the columns that are read as one; no document has it in it: JSON writes
	// it as an escape.
	sep      = "\x1f"
	sepQuery = "||char(31)||"
)

// alikeColumns and ownColumns are jobQuery's, but for the key, which a client chose, and the
// result, which no job has that has not ended.
var (
	alikeColumns = []string{
		"j.uid", "j.gid", "j.user", "j.owner_groups", "j.state", "j.stop", "j.stop_by", "j.attempt", "j.request",
	}
	ownColumns = []string{"j.id", "j.submitted_at", "j.changed_at", "j.label", "j.life"}

	liveQuery = "SELECT j.key, " + strings.Join(alikeColumns, sepQuery) + ", " + strings.Join(ownColumns, sepQuery) +
		" FROM jobs j " + liveClause
)

// liveRow is a row of liveQuery.
type liveRow struct{ key, alike, own string }

// liveBatch is some rows in order, and what they say.
type liveBatch struct {
	rows    []liveRow
	waiting []job.Compact
	others  []job.Job // that can't be compact
	odd     []job.ID  // that must be read in full
	err     error
}

// liveReader decodes batches, as many at once as there are processors.
type liveReader struct {
	batches []*liveBatch
	now     *liveBatch // being filled
	slots   chan *liveDecoder
	group   sync.WaitGroup

	mu       sync.Mutex
	interned *job.Interned
}

// liveJobs reads the jobs that have not ended, with their current attempts: those that are
// compact, and the others.
func liveJobs(ctx context.Context, tx *sql.Tx) ([]job.Compact, *job.Interned, []job.Job, error) {
	n := runtime.GOMAXPROCS(0)
	r := &liveReader{now: &liveBatch{}, slots: make(chan *liveDecoder, n), interned: job.NewInterned()}
	for range n {
		r.slots <- &liveDecoder{known: map[string]int{}, likes: make([]like, knownMost)}
	}
	err := each(ctx, tx, liveQuery, r.add)
	r.hand()
	r.group.Wait()
	if err != nil {
		return nil, nil, nil, err
	}
	var waiting []job.Compact
	var others []job.Job
	var odd []job.ID
	for _, b := range r.batches {
		if b.err != nil {
			return nil, nil, nil, b.err
		}
		waiting, others, odd = append(waiting, b.waiting...), append(others, b.others...), append(odd, b.odd...)
	}
	if err := fillAttempts(ctx, tx, others, liveClause); err != nil {
		return nil, nil, nil, err
	}
	for _, id := range odd {
		list, err := jobsIn(ctx, tx, "WHERE j.id = ?", int64(id))
		if err != nil {
			return nil, nil, nil, err
		}
		others = append(others, list...)
	}
	slices.SortFunc(others, func(a, b job.Job) int { return cmp.Compare(a.ID, b.ID) })
	return waiting, r.interned, others, nil
}

// add reads one row.
func (r *liveReader) add(rows *sql.Rows) error {
	var row liveRow
	if err := rows.Scan(&row.key, &row.alike, &row.own); err != nil {
		return err
	}
	if r.now.rows = append(r.now.rows, row); len(r.now.rows) == batchRows {
		r.hand()
	}
	return nil
}

// hand gives the batch to a goroutine, once there is a processor for it.
func (r *liveReader) hand() {
	b := r.now
	r.batches, r.now = append(r.batches, b), &liveBatch{rows: make([]liveRow, 0, batchRows)}
	d := <-r.slots
	r.group.Go(func() {
		d.decode(b, r)
		r.slots <- d
	})
}

// pack has a job be compact, if it can, as the last one like it.
func (r *liveReader) pack(j *job.Job, as *job.Compact) (c job.Compact, rests bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c, rests = r.interned.PackAs(j, as); rests {
		*as = c
	}
	return c, rests
}

// liveDecoder remembers what it has decoded of jobs that are alike.
type liveDecoder struct {
	known map[string]int // where they are, by the text
	likes []like         // the last ones
	next  int            // to be written over
	fill  job.Job        // the present one
	as    *job.Compact   // the last one like it
}

// like is a decoded text.
type like struct {
	text string
	job  job.Job
	last job.Compact // nothing: none
}

// knownMost is how many texts are remembered.
const knownMost = 512

func (d *liveDecoder) decode(b *liveBatch, r *liveReader) {
	for i := range b.rows {
		j := &d.fill
		whole, err := d.job(&b.rows[i], j)
		if err != nil {
			id, _, _ := strings.Cut(b.rows[i].own, sep)
			b.err = fmt.Errorf("job %s: %w", id, err)
			return
		}
		if !whole {
			b.odd = append(b.odd, j.ID)
			continue
		}
		c, rests := r.pack(j, d.as)
		switch {
		case rests && b.waiting == nil:
			b.waiting = make([]job.Compact, 0, len(b.rows))
			fallthrough
		case rests:
			b.waiting = append(b.waiting, c)
		default:
			b.others = append(b.others, *j)
		}
	}
	b.rows = nil
}

// job decodes one row. It reports false where a column has a separator in it, of which only the
// id is sure then.
func (d *liveDecoder) job(row *liveRow, j *job.Job) (whole bool, err error) {
	own := strings.Split(row.own, sep)
	id, err := strconv.ParseInt(own[0], 10, 64)
	if err != nil {
		return false, err
	}
	text, derived := cutDerived(row.alike)
	like, err := d.alike(text, derived != "")
	if err != nil {
		return false, err
	}
	whole = like != nil && len(own) == len(ownColumns)
	if whole {
		*j, d.as = like.job, &like.last
		whole = derived == "" || flatDerived(&j.Request.Derived, derived)
	}
	if !whole {
		*j = job.Job{ID: job.ID(id)}
		return false, nil
	}
	j.ID, j.Key = job.ID(id), row.key
	x := decoder{}
	x.time(&j.SubmittedAt, own[1])
	x.time(&j.ChangedAt, own[2])
	document(&x, &j.Label, own[3], flatLabel)
	document(&x, &j.Life, own[4], flatLife)
	j.Stop, j.StopBy = like.job.Stop, like.job.StopBy
	j.Label.Name = strings.Clone(j.Label.Name) // or it would keep the row in memory
	if a := like.job.Attempt; a != nil {
		j.Attempt = &job.Attempt{Number: a.Number}
	}
	return x.err == nil, x.err
}

// derivedKey is what is before what the daemon derived, the last of a request.
const derivedKey = `,"derived":`

// cutDerived returns what comes before what the daemon derived in the text of alikeColumns, and
// that: jobs that are alike otherwise run as many commands. Without it the text is whole.
func cutDerived(text string) (before, derived string) {
	at := strings.LastIndex(text, derivedKey)
	if at < 0 || text[len(text)-1] != '}' {
		return text, ""
	}
	derived = text[at+len(derivedKey) : len(text)-1]
	if strings.Contains(derived, sep) { // it is of another column
		return text, ""
	}
	return text[:at], derived
}

// alike decodes what a job shares with others, nil where a column has a separator in it. From one
// that is cut what was derived is missing, and the brace at the end.
func (d *liveDecoder) alike(text string, cut bool) (*like, error) {
	if at, known := d.known[text]; known {
		return &d.likes[at], nil
	}
	part := strings.Split(text, sep)
	if len(part) != len(alikeColumns) {
		return nil, nil
	}
	if cut {
		part[len(part)-1] += "}"
	}
	at := &d.likes[d.next]
	delete(d.known, at.text)
	*at = like{text: text}
	j, x := &at.job, decoder{}
	x.number(&j.Owner.UID, part[0])
	x.number(&j.Owner.GID, part[1])
	x.list(&j.Owner.Groups, part[3])
	document(&x, &j.Request, part[8], flatRequest)
	var attempt int
	x.number(&attempt, part[7])
	if x.err != nil {
		return nil, x.err
	}
	j.Owner.User, j.State = part[2], job.State(part[4])
	j.Stop, j.StopBy = job.StopCause(part[5]), part[6]
	if attempt != 0 {
		j.Attempt = &job.Attempt{Number: attempt}
	}
	d.known[text] = d.next
	d.next = (d.next + 1) % knownMost
	return at, nil
}
