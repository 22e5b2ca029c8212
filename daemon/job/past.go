package job

import (
	"fmt"
	"strings"
	"time"
)

// MaxPast is the largest number of ended jobs in one answer. A cursor leads to the rest.
const MaxPast = 1000

// PastQuery selects jobs that have ended. A zero field selects all.
type PastQuery struct {
	From, To time.Time // jobs that ended at From or later, and before To
	IDs      []ID      // only these jobs; nil: all
	Array    ID        // only tasks of this array
	UID      *int      // only jobs of this user
	User     string    // only jobs of the account with this name; see Query.User
	States   []State
	Name     string // only jobs with exactly this name
	Tag      Tag    // only jobs with this tag

	Newest   bool   // the latest end comes first; otherwise the earliest
	After    Cursor // only jobs that follow this position in that order
	Limit    int    // the largest number of jobs to return; at most MaxPast
	Attempts bool   // add all attempts of each job
}

// Tag is a tag of a job. If Any is set, any value matches.
type Tag struct {
	Key, Value string
	Any        bool
}

// ParseTag reads KEY=VALUE, or KEY for any value.
func ParseTag(s string) (Tag, error) {
	key, value, whole := strings.Cut(s, "=")
	if key == "" {
		return Tag{}, fmt.Errorf("%q is not a tag: use KEY or KEY=VALUE", s)
	}
	return Tag{Key: key, Value: value, Any: !whole}, nil
}

// String returns the form that ParseTag reads.
func (t Tag) String() string {
	if t.Any || t.Key == "" {
		return t.Key
	}
	return t.Key + "=" + t.Value
}

// Past is a page of the jobs that have ended.
type Past struct {
	Jobs     []Job
	Attempts map[ID][]Attempt // if asked for: all attempts of each job, in order
	Next     Cursor           // where the next page begins; zero: this is the last page
}

// Cursor is a position in the list of ended jobs, which is ordered by their ends.
type Cursor struct {
	At time.Time
	ID ID
}

// IsZero reports whether c is the beginning of the list.
func (c Cursor) IsZero() bool { return c.ID == 0 }

// String returns the form of the cursor in a request; "" is the beginning of the list.
func (c Cursor) String() string {
	if c.IsZero() {
		return ""
	}
	return c.At.UTC().Format(time.RFC3339Nano) + "~" + c.ID.String()
}

// ParseCursor reads what String writes.
func ParseCursor(s string) (c Cursor, err error) {
	if s == "" {
		return c, nil
	}
	at, id, _ := strings.Cut(s, "~")
	if c.At, err = time.Parse(time.RFC3339Nano, at); err == nil {
		c.ID, err = ParseID(id)
	}
	if err != nil || c.ID < 1 {
		return Cursor{}, fmt.Errorf("%q is not a cursor: use the one of an answer about ended jobs", s)
	}
	return c, nil
}
