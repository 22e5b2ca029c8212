package job

import (
	"fmt"
	"strings"
	"time"
)

// MaxPast is how many ended jobs one answer about them holds; the rest follows from its
// cursor.
const MaxPast = 1000

// PastQuery selects jobs that have ended. Zero fields select all of them.
type PastQuery struct {
	From, To time.Time // that ended from then, and before then
	IDs      []ID      // of these; nil: of all
	Array    ID        // tasks of this array
	UID      *int      // of this user
	User     string    // as Query.User
	States   []State
	Name     string // with exactly this name
	Tag      Tag    // with this tag

	Newest   bool   // the newest end first; else the oldest
	After    Cursor // what comes after it in that order
	Limit    int    // at most so many, which is at most MaxPast
	Attempts bool   // with all attempts of each
}

// Tag is one tag of a job; an empty Value with Any is any value of it.
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

// String is what ParseTag reads.
func (t Tag) String() string {
	if t.Any || t.Key == "" {
		return t.Key
	}
	return t.Key + "=" + t.Value
}

// Past is a part of the jobs that have ended.
type Past struct {
	Jobs     []Job
	Attempts map[ID][]Attempt // where they were asked for: all, in order
	Next     Cursor           // from where it goes on; zero: that is all
}

// Cursor is a place among the jobs that have ended, by their ends.
type Cursor struct {
	At time.Time
	ID ID
}

// IsZero reports whether it is the beginning.
func (c Cursor) IsZero() bool { return c.ID == 0 }

// String is the cursor in a request; "" is the beginning.
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
		return Cursor{}, fmt.Errorf("%q is not from an answer about ended jobs", s)
	}
	return c, nil
}
