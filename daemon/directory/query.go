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

// Kind is what a Query is about.
type Kind string

// The kinds of questions. The key is a name, or a number in decimal.
const (
	UserByName  Kind = "user"
	UserByID    Kind = "uid"
	GroupByName Kind = "group"
	GroupByID   Kind = "gid"
	GroupsOf    Kind = "groups" // of the account of a uid
)

// Query asks for one entry.
type Query struct {
	Kind Kind   `json:"kind"`
	Key  string `json:"key"`
}

// maxKey is the most bytes of a key: names of accounts have 256 at most.
const maxKey = 256

// Valid reports whether the question can be asked.
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

// isName reports whether a text can be the name of an account or a group: one that is a
// number, or begins as the C library lets numbers begin, would be taken for that, and one
// with a colon can be nobody's.
func isName(s string) bool {
	return s != "" && job.Printable(s) && !strings.Contains(s, ":") && !strings.ContainsAny(s[:1], "+- ") &&
		strings.Trim(s, "0123456789") != ""
}

// Answer is the entry: a name and its number, or the groups of an account.
type Answer struct {
	Found  bool   `json:"found"`
	Name   string `json:"name,omitempty"`
	ID     int    `json:"id,omitempty"`
	Groups []int  `json:"groups,omitempty"`
	Error  string `json:"error,omitempty"` // why it is not known whether there is one
}

// maxAnswer bounds an answer: 65536 groups, the most that Linux has, are less.
const maxAnswer = 1 << 20

// Socket asks the program that listens at path; nil without one.
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
	// Root and its group are the files'; a name that can't be shown, or looks like a number, is none.
	if a.Found && q.Kind != GroupsOf && (a.ID <= 0 || !isName(a.Name)) {
		return Answer{}, nil
	}
	return a, nil
}
