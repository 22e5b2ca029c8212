package remote

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
)

// Question is what the other side is asked before it connects.
type Question struct {
	Paths [][]byte `json:"paths,omitempty"` // values of PATH
	Needs []Need   `json:"needs,omitempty"`

	known map[string]int // in Needs from 0
	paths map[string]int // in Paths from 1
	bytes int            // of Needs and Paths, as they are sent
}

// Need is a directory and a program that are looked for there. What many jobs need is one.
type Need struct {
	Dir   []byte   `json:"dir"`
	Argv  [][]byte `json:"argv"`            // the program, and the script that it is to run
	Path  int      `json:"path,omitempty"`  // the PATH that has the program, in Paths from 1; 0: none is known
	Setup bool     `json:"setup,omitempty"` // a command goes first, which may go to another directory
}

// Bounds on what is asked: all of it fits into a question, and an answer into a greeting.
const (
	maxNeeds = 100_000
	maxAsked = maxQuestion - 1<<20
)

// Unasked is the number of a need for which there is no room.
const Unasked = -1

// Add is the number of a need, whose program is looked for in a PATH if that is not nil.
func (q *Question) Add(n Need, path []byte) int {
	if q.known == nil {
		q.known, q.paths = map[string]int{}, map[string]int{}
	}
	if path != nil {
		if n.Path = q.numberOf(path); n.Path == 0 {
			return Unasked
		}
	}
	text, err := json.Marshal(n)
	if err != nil {
		return Unasked
	}
	if i, known := q.known[string(text)]; known {
		return i
	}
	if len(q.Needs) == maxNeeds || !q.hasRoom(len(text)) {
		return Unasked
	}
	q.known[string(text)] = len(q.Needs)
	q.Needs = append(q.Needs, n)
	return len(q.Needs) - 1
}

// numberOf is that of a PATH in Paths, from 1; 0: there is no room for it.
func (q *Question) numberOf(path []byte) int {
	if number := q.paths[string(path)]; number > 0 {
		return number
	}
	if !q.hasRoom(base64.StdEncoding.EncodedLen(len(path))) {
		return 0
	}
	q.Paths = append(q.Paths, path)
	q.paths[string(path)] = len(q.Paths)
	return len(q.Paths)
}

// hasRoom takes the room for an entry of a list, if there is any left.
func (q *Question) hasRoom(size int) bool {
	size += len(`"",`)
	if q.bytes+size > maxAsked {
		return false
	}
	q.bytes += size
	return true
}

// Looked is what came of the needs in a question.
type Looked struct {
	// Found has a letter for each need, of those from 0 that were looked at: isThere, or any other.
	Found string `json:"found,omitempty"`
	// Lacks says of the first that are not there what is missing.
	Lacks map[int]*api.Error `json:"lacks,omitempty"`
}

// What Found has of a need.
const (
	isThere    = '+'
	isNotThere = '-'
)

// maxLacks bounds of how many needs it is said what is missing, and maxText how long that is.
const (
	maxLacks = 20
	maxText  = 600
)

// Look looks for what is needed, by lacks, as long as more says that there is time.
func (q *Question) Look(more func() bool, lacks func(Need, []byte) *api.Error) (l Looked) {
	var found strings.Builder
	l.Lacks = map[int]*api.Error{}
	for i, n := range q.Needs {
		if i == maxNeeds || n.Path < 0 || n.Path > len(q.Paths) || !more() {
			break
		}
		var path []byte
		if n.Path > 0 {
			path = q.Paths[n.Path-1]
		}
		e := lacks(n, path)
		if e == nil {
			found.WriteByte(isThere)
			continue
		}
		found.WriteByte(isNotThere)
		if len(l.Lacks) < maxLacks {
			l.Lacks[i] = &api.Error{Code: e.Code, Message: short(e.Message), Hint: short(e.Hint)}
		}
	}
	l.Found = found.String()
	return l
}

// short is a text that is not longer than maxText.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// Lack is what is missing of a need, nil if nothing is. What nobody has looked for counts as missing.
func (l Looked) Lack(i int) error {
	switch {
	case i >= 0 && i < len(l.Found) && l.Found[i] == isThere:
		return nil
	case l.Lacks[i] != nil:
		return l.Lacks[i]
	case i >= 0 && i < len(l.Found):
		return &api.Error{Code: api.CodeUsage, Message: "its directory, program or script is not there either"}
	}
	return &api.Error{Code: api.CodeUsage,
		Message: "its directory and program were not looked for: there are too many, or it takes too long there",
		Hint:    "queue fewer at once, or all the same with --force"}
}
