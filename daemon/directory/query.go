package directory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// Kind is the kind of a Query.
type Kind string

// The kinds of queries. The key of a query is a name, or a decimal number.
const (
	UserByName  Kind = "user"
	UserByID    Kind = "uid"
	GroupByName Kind = "group"
	GroupByID   Kind = "gid"
	GroupsOf    Kind = "groups" // groups of the account with a uid
)

// Query is a question about one account or group.
type Query struct {
	Kind Kind   `json:"kind"`
	Key  string `json:"key"`
}

// maxKey is the maximum length of a key in bytes. Account names are not longer.
const maxKey = 256

// Valid reports whether the query may be sent.
func (q Query) Valid() bool {
	if len(q.Key) > maxKey {
		return false
	}
	switch q.Kind {
	case UserByName, GroupByName:
		return isName(q.Key)
	case UserByID, GroupByID, GroupsOf:
		return q.Key != "" && strings.Trim(q.Key, "0123456789") == ""
	}
	return false
}

// isName reports whether a text can be the name of an account or a group.
// The C library reads a text that begins like a number as a uid. No name can have a colon.
func isName(s string) bool {
	return s != "" && job.Printable(s) && !strings.Contains(s, ":") && !strings.ContainsAny(s[:1], "+- ") &&
		strings.Trim(s, "0123456789") != ""
}

// Answer is the answer to a Query: a name with its number, or the groups of an account.
type Answer struct {
	Found  bool   `json:"found"`
	Name   string `json:"name,omitempty"`
	ID     int    `json:"id,omitempty"`
	Groups []int  `json:"groups,omitempty"`
	Error  string `json:"error,omitempty"` // why it is unknown whether there is such an entry
}

// maxAnswer is the maximum length of an answer in bytes.
// The 65536 groups that Linux allows need less.
const maxAnswer = 1 << 20

// Socket returns a function that asks the program that listens at a path. If path is "", it returns
// nil.
func Socket(path string) func(context.Context, Query) (Answer, error) {
	if path == "" {
		return nil
	}
	return func(ctx context.Context, q Query) (Answer, error) {
		a, err := ask(ctx, path, q)
		if err != nil {
			return Answer{}, fmt.Errorf("ask %s: %w", path, err)
		}
		return a, nil
	}
}

func ask(ctx context.Context, path string, q Query) (Answer, error) {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return Answer{}, err
	}
	defer c.Close()
	if end, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(end); err != nil {
			return Answer{}, err
		}
	}
	if err := json.NewEncoder(c).Encode(q); err != nil {
		return Answer{}, err
	}
	var a Answer
	if err := json.NewDecoder(io.LimitReader(c, maxAnswer)).Decode(&a); err != nil {
		return Answer{}, err
	}
	if a.Error != "" {
		return Answer{}, errors.New(a.Error)
	}
	// Only the files may define root and its group. A name must be printable and must not look like
	// a number.
	if a.Found && q.Kind != GroupsOf && (a.ID <= 0 || !isName(a.Name)) {
		return Answer{}, nil
	}
	return a, nil
}
