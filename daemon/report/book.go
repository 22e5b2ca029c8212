package report

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// maxRows is the maximum number of rows of a report (invariant 5).
const maxRows = 5000

// maxValues is the maximum number of run times and waits that a book keeps to compute medians. Each
// takes 8 bytes.
const maxValues = 10_000_000

// ErrTooMany means that the report would be too large.
var ErrTooMany = fmt.Errorf("the report would have more than %d rows", maxRows)

// A Dim is a way to group runs: a report has a row for each of its values.
type Dim struct {
	Kind string // one of Kinds
	Key  string // key of a tag; "": all tags, with a row for each key and value
}

// Kinds returns the kinds of groupings.
func Kinds() []string {
	return []string{"user", "group", "gpu", "tag", "day", "week", "month", "class", "name"}
}

// ParseDims parses up to two groupings, such as "user,week" or "tag=project".
func ParseDims(text string) (dims []Dim, err error) {
	if text == "" {
		return nil, nil
	}
	periods := 0
	for word := range strings.SplitSeq(text, ",") {
		kind, key, keyed := strings.Cut(word, "=")
		if keyed && (kind != "tag" || key == "") || !slices.Contains(Kinds(), kind) {
			return nil, fmt.Errorf("%q is not a grouping for reports: use %s or tag=KEY", word, strings.Join(Kinds(), ", "))
		}
		if kind == "day" || kind == "week" || kind == "month" {
			periods++
		}
		dims = append(dims, Dim{kind, key})
	}
	if len(dims) > 2 || periods > 1 || len(dims) == 2 && dims[0] == dims[1] {
		return nil, errors.New("a report can have two different groupings at most, and only one of them a period")
	}
	return dims, nil
}

// String returns the text that ParseDims reads.
func (d Dim) String() string {
	if d.Key != "" {
		return d.Kind + "=" + d.Key
	}
	return d.Kind
}

// A Query defines a report: its window of time, the current time, and how runs are grouped into
// rows.
type Query struct {
	From, To time.Time
	Now      time.Time
	Zone     Zone
	By       []Dim
}

// A Book sums up runs.
type Book struct {
	q      Query
	spans  []span // the periods, or the whole window
	rows   map[string]*Row
	values int // number of run times and waits that the rows keep
	Total  *Row
}

// NewBook returns an empty book. If the query's window ends in the future, the book's window ends
// now.
func NewBook(q Query) *Book {
	if q.To.IsZero() || q.To.After(q.Now) {
		q.To = q.Now
	}
	b := &Book{q: q, rows: map[string]*Row{}, Total: &Row{}, spans: []span{{q.From, q.To, ""}}}
	for _, d := range q.By {
		if d.Kind == "day" || d.Kind == "week" || d.Kind == "month" {
			b.spans = q.Zone.cut(q.From, q.To, Period(d.Kind))
		}
	}
	return b
}

// Window returns the period that the report is about.
func (b *Book) Window() (from, to time.Time) { return b.q.From, b.q.To }

// Add adds a run. Runs may come in any order.
func (b *Book) Add(r *job.Run) error {
	whole := span{from: b.q.From, to: b.q.To}
	if !whole.touches(r, b.q.Now) {
		return nil
	}
	b.Total.add(r, whole, nil, b.q.Now)
	if len(b.q.By) == 0 {
		return nil
	}
	_, end := period(r, b.q.Now)
	first := sort.Search(len(b.spans), func(i int) bool { return b.spans[i].to.After(begin(r)) })
	for _, s := range b.spans[first:] {
		if s.from.After(end) {
			break
		}
		if s.touches(r, b.q.Now) {
			if err := b.addSpan(r, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// addSpan adds the part of a run that lies in a span. It adds the part to each row to which the run
// belongs.
func (b *Book) addSpan(r *job.Run, s span) error {
	gpus := []int{-1} // all GPUs
	if slices.ContainsFunc(b.q.By, func(d Dim) bool { return d.Kind == "gpu" }) && len(r.Attempt.GPUs) > 0 {
		gpus = gpus[:0]
		for i := range r.Attempt.GPUs {
			gpus = append(gpus, i)
		}
	}
	for _, at := range gpus {
		var only *job.Allocation
		if at >= 0 {
			only = &r.Attempt.GPUs[at]
		}
		for _, first := range values(b.q.By[0], r, s, only) {
			if len(b.q.By) == 1 {
				if err := b.addTo(r, s, only, first); err != nil {
					return err
				}
				continue
			}
			for _, second := range values(b.q.By[1], r, s, only) {
				if err := b.addTo(r, s, only, first, second); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *Book) addTo(r *job.Run, s span, only *job.Allocation, keys ...string) error {
	name := strings.Join(keys, "\x00")
	row := b.rows[name]
	if row == nil {
		if len(b.rows) == maxRows {
			return ErrTooMany
		}
		row = &Row{Keys: keys}
		b.rows[name] = row
	}
	had := row.values()
	row.add(r, s, only, b.q.Now)
	if b.values += row.values() - had; b.values > maxValues {
		return fmt.Errorf("%w, or the run times of more than %d jobs", ErrTooMany, maxValues)
	}
	return nil
}

// values returns the values of a run in a grouping. Each value is the name of a row.
func values(d Dim, r *job.Run, s span, only *job.Allocation) []string {
	switch d.Kind {
	case "user":
		return []string{r.Owner.User}
	case "group":
		if len(r.Owner.Groups) > 0 {
			return r.Owner.Groups
		}
		return []string{"gid " + strconv.Itoa(r.Owner.GID)}
	case "gpu":
		if only == nil {
			return []string{"none"}
		}
		return []string{strconv.Itoa(only.Index) + " " + only.UUID}
	case "class":
		return []string{r.Class.String()}
	case "name":
		return []string{r.Name}
	case "tag":
		return tagValues(d.Key, r.Tags)
	}
	return []string{s.label}
}

func tagValues(key string, tags map[string]string) (list []string) {
	if v, ok := tags[key]; ok && key != "" {
		return []string{v}
	}
	if key == "" {
		for k, v := range tags {
			list = append(list, k+"="+v)
		}
		slices.Sort(list)
	}
	if len(list) == 0 {
		list = []string{"none"}
	}
	return list
}

// Rows returns the rows. Periods and GPUs are in their natural order; all others are ordered by GPU
// time, largest first.
func (b *Book) Rows() []*Row {
	list := slices.SortedFunc(maps.Values(b.rows), func(x, y *Row) int { return slices.Compare(x.Keys, y.Keys) })
	weights := map[string]float64{}
	for _, r := range list {
		weights[r.Keys[0]] += r.GPUSeconds
	}
	slices.SortStableFunc(list, func(x, y *Row) int {
		for i, d := range b.q.By {
			wx, wy := x.GPUSeconds, y.GPUSeconds
			if i == 0 && len(b.q.By) > 1 {
				wx, wy = weights[x.Keys[0]], weights[y.Keys[0]]
			}
			if c := compare(d, x.Keys[i], y.Keys[i], wx, wy); c != 0 {
				return c
			}
		}
		return 0
	})
	return list
}

func compare(d Dim, x, y string, wx, wy float64) int {
	switch d.Kind {
	case "day", "week", "month":
		return strings.Compare(x, y)
	case "gpu":
		nx, _ := strconv.Atoi(strings.Fields(x + " ")[0])
		ny, _ := strconv.Atoi(strings.Fields(y + " ")[0])
		if (x == "none") != (y == "none") {
			return map[bool]int{true: 1, false: -1}[x == "none"]
		}
		if nx != ny {
			return nx - ny
		}
		return strings.Compare(x, y)
	}
	switch {
	case wx > wy:
		return -1
	case wx < wy:
		return 1
	}
	return strings.Compare(x, y)
}
