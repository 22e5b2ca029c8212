package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// filter is the WHERE clause of a query.
type filter struct {
	where []string
	args  []any
}

func (f *filter) add(cond string, args ...any) {
	f.where, f.args = append(f.where, cond), append(f.args, args...)
}

// Past returns the page of ended jobs that the query asks for, in one snapshot. It reads an index
// that is sorted by the time of the end, so the jobs of earlier pages take no time.
func (s *Store) Past(ctx context.Context, q job.PastQuery) (past job.Past, err error) {
	defer s.reading(&err, "read the history")
	clause, args := pastClause(&q)
	tx, end, err := s.longRead(ctx)
	if err != nil {
		return past, err
	}
	defer end()
	if past.Jobs, err = jobsIn(ctx, tx, clause, args...); err != nil {
		return past, err
	}
	if n := len(past.Jobs); n == pageOf(&q) {
		last := &past.Jobs[n-1]
		past.Next = job.Cursor{At: last.ChangedAt, ID: last.ID}
	}
	if q.Attempts {
		past.Attempts, err = attemptsOf(ctx, tx, clause, args...)
	}
	return past, err
}

// pageOf returns the largest number of jobs on a page.
func pageOf(q *job.PastQuery) int {
	most := job.MaxPast
	if q.Attempts { // one job may have keepAttempts attempts, each as large as the job
		most /= 20
	}
	if q.Limit <= 0 || q.Limit > most {
		return most
	}
	return q.Limit
}

func pastClause(q *job.PastQuery) (string, []any) {
	f := filter{where: []string{"j.result IS NOT NULL"}}
	if !q.From.IsZero() {
		f.add("j.changed_at >= ?", formatTime(q.From))
	}
	if !q.To.IsZero() {
		f.add("j.changed_at < ?", formatTime(q.To))
	}
	order := ""
	if q.Newest {
		order = " DESC"
	}
	if !q.After.IsZero() {
		beyond := map[bool]string{false: ">", true: "<"}[q.Newest]
		f.add("(j.changed_at, j.id) "+beyond+" (?, ?)", formatTime(q.After.At), int64(q.After.ID))
	}
	if q.IDs != nil {
		f.add("j.id IN (SELECT value FROM json_each(?))", listOf(q.IDs))
	}
	if q.Array != 0 {
		f.add("j.array_id = ?", int64(q.Array))
	}
	choice := job.Choice{States: q.States, Name: q.Name}
	if t := q.Tag; t.Key != "" && t.Any {
		f.add("EXISTS (SELECT 1 FROM json_each(j.label, '$.tags') t WHERE t.key = ?)", t.Key)
	} else if t.Key != "" {
		choice.Tags = map[string]string{t.Key: t.Value}
	}
	f.ownedBy(q.UID, q.User)
	f.addChoice(choice)
	clause := "WHERE " + strings.Join(f.where, " AND ") + " ORDER BY j.changed_at" + order + ", j.id" + order
	return fmt.Sprintf("%s LIMIT %d", clause, pageOf(q)), f.args
}

// ownedBy adds a condition on the owner, by the rules of job.Query.Matches.
func (f *filter) ownedBy(uid *int, user string) {
	switch {
	case uid != nil && job.Nameless(*uid, user):
		f.add("j.uid = ?", *uid)
	case uid != nil:
		f.add("j.uid = ?", *uid)
		f.add("j.user IN (?, '', ?)", user, strconv.Itoa(*uid))
	case user != "":
		f.add("j.user = ?", user)
	}
}

// addChoice adds the conditions of a job.Choice, by the rules of job.Query.Matches.
func (f *filter) addChoice(c job.Choice) {
	if len(c.States) > 0 {
		f.add("j.state IN (SELECT value FROM json_each(?))", listOf(c.States))
	}
	if c.Name != "" {
		f.add("j.name = ?", c.Name)
	}
	if c.Like != "" {
		f.add("j.name GLOB ?", strings.ReplaceAll(c.Like, "[", "[[]")) // for GLOB, [ begins a set of characters
	}
	for key, value := range c.Tags {
		f.add("EXISTS (SELECT 1 FROM json_each(j.label, '$.tags') AS t WHERE t.key = ? AND t.value = ?)", key, value)
	}
	if !c.Since.IsZero() {
		f.add("j.changed_at >= ?", formatTime(c.Since))
	}
}

// listOf returns a list as an argument of json_each.
func listOf[T ~int | ~int64 | ~string](list []T) string { return listJSON(&encoder{}, list) }

// attemptsOf reads all attempts of the jobs that the clause selects, in order.
func attemptsOf(ctx context.Context, tx *sql.Tx, clause string, args ...any) (map[job.ID][]job.Attempt, error) {
	all := map[job.ID][]job.Attempt{}
	query := "SELECT " + attemptColumns + " FROM (SELECT j.id FROM jobs j " + clause + ") p" +
		" CROSS JOIN attempts a ON a.job_id = p.id ORDER BY a.job_id, a.number"
	err := eachRow(ctx, tx, query, func(rows *sql.Rows) error {
		a, err := scanAttempt(rows)
		all[a.job] = append(all[a.job], a.Attempt)
		return err
	}, args...)
	return all, err
}
