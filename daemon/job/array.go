package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Array asks for many tasks that differ in a number or in parameters. Tasks that wait share one
// entry of the queue. A task becomes a job of its own when it starts.
type Array struct {
	// Written is the list of tasks as a submission has it: "0-9", "1,4,8-20:4", "0-9%2". With
	// Params, whose combinations are the tasks, it may be "" or only the limit, "%2". The server
	// parses it into the other fields, and does not store it.
	Written string `json:"spec,omitempty"`

	Ranges []Range `json:"ranges,omitempty"` // the tasks' numbers: ascending, and not overlapping
	Limit  int     `json:"limit,omitempty"`  // number of tasks that may run at once; 0: no limit
	Params []Param `json:"params,omitempty"` // each combination is a task; the last parameter changes fastest
}

// Range is the numbers First, First+Step, … up to Last.
type Range struct {
	First int `json:"first"`
	Last  int `json:"last"`
	Step  int `json:"step"`
}

// Param is a parameter of a sweep. In each task's command, one of the values replaces "{name}".
type Param struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// Task says which task of which array a job is.
type Task struct {
	Array ID  `json:"array"`
	Index int `json:"index"`
}

// String returns the task's name, such as "7_3".
func (t Task) String() string { return t.Array.String() + "_" + strconv.Itoa(t.Index) }

// Called returns the job's name for people: its id or, for a task, a name such as 7_3.
func (j *Job) Called() string {
	if j.Task != nil {
		return j.Task.String()
	}
	return j.ID.String()
}

// Bounds of one array.
const (
	MaxTasks     = 100_000
	MaxTaskIndex = 1_000_000
	MaxRanges    = 1000 // limited because each change of the array records all ranges
)

// Size returns the number of tasks.
func (a *Array) Size() int {
	n := 0
	for _, r := range a.Ranges {
		n += r.size()
	}
	return n
}

func (r Range) size() int { return (r.Last-r.First)/r.Step + 1 }

// At returns the number of the task at a position, which counts from 0.
func (a *Array) At(position int) int {
	for _, r := range a.Ranges {
		if position < r.size() {
			return r.First + position*r.Step
		}
		position -= r.size()
	}
	return -1
}

// From returns an array that consists of the tasks from a position on. It keeps the limit, but not
// the parameters.
func (a *Array) From(position int) *Array {
	rest := &Array{Limit: a.Limit}
	for _, r := range a.Ranges {
		skipped := min(max(position, 0), r.size())
		position -= skipped
		if skipped < r.size() {
			rest.Ranges = append(rest.Ranges, Range{r.First + skipped*r.Step, r.Last, r.Step})
		}
	}
	return rest
}

// Position returns the position, from 0, of the task with this number, or -1 if the array has no
// such task.
func (a *Array) Position(index int) int {
	before := 0
	for _, r := range a.Ranges {
		if index >= r.First && index <= r.Last && (index-r.First)%r.Step == 0 {
			return before + (index-r.First)/r.Step
		}
		before += r.size()
	}
	return -1
}

// Has reports whether the array has a task with this number.
func (a *Array) Has(index int) bool { return a.Position(index) >= 0 }

// ParamValues returns a task's value of each parameter, in the order of Params.
func (a *Array) ParamValues(index int) []string {
	values := make([]string, len(a.Params))
	for i := len(a.Params) - 1; i >= 0; i-- {
		n := len(a.Params[i].Values)
		values[i] = a.Params[i].Values[index%n]
		index /= n
	}
	return values
}

// Expand returns the arguments with each {name} replaced by the task's value of that parameter.
func (a *Array) Expand(argv []string, index int) []string {
	if len(a.Params) == 0 {
		return argv
	}
	pairs := make([]string, 0, 2*len(a.Params))
	for i, v := range a.ParamValues(index) {
		pairs = append(pairs, "{"+a.Params[i].Name+"}", v)
	}
	return Each(argv, strings.NewReplacer(pairs...).Replace)
}

// checkExpansion reports a command that becomes too large when a task's parameters are filled in.
// The limit is the same as for the command of any other job. checkExpansion assumes the longest
// value of each parameter. It takes no longer than reading the command.
func (a *Array) checkExpansion(argv []string, p *Problems) {
	longest := map[string]int{}
	for _, param := range a.Params {
		for _, v := range param.Values {
			longest[param.Name] = max(longest[param.Name], len(v))
		}
	}
	total := 0
	for _, arg := range argv {
		n := len(arg)
		for rest := arg; len(longest) > 0; {
			at := strings.IndexAny(rest, "{}")
			if at < 0 {
				break
			}
			opened := rest[at] == '{'
			rest = rest[at+1:]
			if end := strings.IndexAny(rest, "{}"); opened && end >= 0 && rest[end] == '}' {
				if most, named := longest[rest[:end]]; named {
					n += most - end - len("{}")
				}
			}
		}
		if n > MaxArgBytes {
			p.add("usage/expanded-arg", n, MaxArgBytes)
			return
		}
		total += n + 1
	}
	if total > MaxPayloadBytes {
		p.add("usage/expanded-command", total, MaxPayloadBytes)
	}
}

// ParseArray reads forms such as "0-9" and "1,4,8-20:4", also with a limit as in "0-9%2".
func ParseArray(s string) (*Array, error) {
	bad := fmt.Errorf("%q is not an array: use 0-9, 1,4,8-20:4, or 0-9%%2 for two at a time", s)
	list, limit, hasLimit := strings.Cut(s, "%")
	a := &Array{}
	if hasLimit {
		n, err := strconv.ParseUint(limit, 10, 31)
		if err != nil || n == 0 {
			return nil, bad
		}
		a.Limit = int(n)
	}
	for part := range strings.SplitSeq(list, ",") {
		r, ok := parseRange(part)
		if !ok {
			return nil, bad
		}
		a.Ranges = append(a.Ranges, r)
	}
	slices.SortFunc(a.Ranges, func(x, y Range) int { return x.First - y.First })
	var p Problems
	a.check(&p)
	return a, p.Err()
}

func parseRange(s string) (Range, bool) {
	span, step, hasStep := strings.Cut(s, ":")
	first, last, hasLast := strings.Cut(span, "-")
	if !hasLast {
		last = first
	}
	f, err1 := strconv.ParseUint(first, 10, 31)
	l, err2 := strconv.ParseUint(last, 10, 31)
	n := uint64(1)
	var err3 error
	if hasStep {
		n, err3 = strconv.ParseUint(step, 10, 31)
	}
	return Range{int(f), int(l), int(n)}, err1 == nil && err2 == nil && err3 == nil && n > 0 && l >= f
}

// SweepArray returns the array whose tasks are all combinations of the parameters.
func SweepArray(params []Param, limit int) (*Array, error) {
	n := 1
	for _, p := range params {
		if n *= max(len(p.Values), 1); n > MaxTasks {
			return nil, Problems{Say("usage/sweep-size", MaxTasks)}
		}
	}
	a := &Array{Ranges: []Range{{0, n - 1, 1}}, Limit: limit, Params: params}
	var p Problems
	a.check(&p)
	return a, p.Err()
}

// ParseParam reads a parameter such as "lr=1e-3,1e-4".
func ParseParam(s string) (Param, error) {
	name, values, ok := strings.Cut(s, "=")
	if !ok || name == "" || values == "" {
		return Param{}, fmt.Errorf("%q is not a parameter: use NAME=VALUE,VALUE,… such as lr=1e-3,1e-4", s)
	}
	return Param{Name: name, Values: splitValues(values)}, nil
}

// splitValues cuts a list at its commas. It does not cut at a comma within brackets or quotation
// marks, as in [64,64],"a, b", or after a backslash, which it removes. It also removes quotation
// marks around a whole value. Unclosed brackets and marks, and marks after a letter or a digit
// (don't, 5"), are ordinary characters.
func splitValues(list string) (values []string) {
	for more := true; more; {
		value, rest, found := cutValue(list)
		values, list, more = append(values, value), rest, found
	}
	return values
}

// cutValue returns the first value of a list, and the text after the comma that ends the value.
func cutValue(list string) (value, rest string, more bool) {
	var b strings.Builder
	for i := 0; i < len(list); i++ {
		end := 0
		if mayBegin(list, i) {
			end = closingOffset(list[i:])
		}
		switch {
		case list[i] == '\\' && i+1 < len(list) && list[i+1] == ',':
			i++
			b.WriteByte(',')
		case list[i] == ',':
			return b.String(), list[i+1:], true
		case end > 0 && strings.IndexByte(marks, list[i]) >= 0 && i == 0 && (i+end+1 == len(list) || list[i+end+1] == ','):
			b.WriteString(list[i+1 : i+end])
			i += end
		case end > 0:
			b.WriteString(list[i : i+end+1])
			i += end
		default:
			b.WriteByte(list[i])
		}
	}
	return b.String(), "", false
}

const marks = `"'`

// mayBegin reports whether a quotation or a bracket can begin at an offset of s. A quotation mark
// after a letter or a digit is an apostrophe or a unit of length.
func mayBegin(s string, offset int) bool {
	if offset == 0 || strings.IndexByte(marks, s[offset]) < 0 {
		return true
	}
	r, _ := utf8.DecodeLastRuneInString(s[:offset])
	return !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// closingOffset returns the offset at which the bracket or quotation mark at the beginning of s is
// closed. It returns 0 if s does not begin with such a mark, or if nothing closes the mark.
func closingOffset(s string) int {
	if strings.IndexByte(marks, s[0]) >= 0 {
		return strings.IndexByte(s[1:], s[0]) + 1
	}
	var open []byte
	for i := 0; i < len(s); i++ {
		end := strings.IndexByte(s[i+1:], s[i])
		if len(open) > 0 && strings.IndexByte(marks, s[i]) >= 0 && mayBegin(s, i) && end >= 0 {
			i += end + 1
			continue
		}
		switch at := strings.IndexByte("([{)]}", s[i]); {
		case at >= 3 && (len(open) == 0 || open[len(open)-1] != "([{"[at-3]):
			return 0
		case at >= 3:
			open = open[:len(open)-1]
		case at >= 0:
			open = append(open, s[i])
		}
		if len(open) == 0 {
			return i
		}
	}
	return 0
}

func (a *Array) check(p *Problems) {
	n, last := 0, -1
	if len(a.Ranges) > MaxRanges {
		p.add("usage/array-runs", len(a.Ranges), MaxRanges)
		return
	}
	for _, r := range a.Ranges {
		if r.Step < 1 || r.First <= last || r.Last < r.First || r.Last > MaxTaskIndex {
			p.add("usage/array-order", MaxTaskIndex)
			return
		}
		n, last = n+r.size(), r.Last
	}
	if n < 1 || n > MaxTasks || a.Limit < 0 {
		p.add("usage/array-size", MaxTasks, n)
		return
	}
	a.checkParams(n, p)
}

func (a *Array) checkParams(size int, p *Problems) {
	if len(a.Params) == 0 {
		return
	}
	combinations, total := 1, 0
	names := map[string]bool{}
	for _, param := range a.Params {
		if param.Name == "" || len(param.Values) == 0 || names[param.Name] || strings.ContainsAny(param.Name, "{}=") {
			p.add("usage/param")
			return
		}
		names[param.Name] = true
		combinations = min(combinations*len(param.Values), MaxTasks+1)
		for _, v := range append([]string{param.Name}, param.Values...) {
			total += len(v)
			if strings.IndexByte(v, 0) >= 0 {
				p.add("usage/param-nul")
				return
			}
		}
	}
	if combinations > MaxTasks || a.At(size-1) >= combinations {
		p.add("usage/sweep-numbers", combinations)
	}
	if total > MaxArgBytes {
		p.add("usage/param-bytes", total, MaxArgBytes)
	}
}

// maxSpecRanges is the largest number of an array's ranges that a line for people shows.
const maxSpecRanges = 32

// Spec returns the array's task numbers and limit in the form that ParseArray reads.
func (a *Array) Spec() string { return a.spec(len(a.Ranges)) }

// ShortSpec is Spec, cut after maxSpecRanges ranges.
func (a *Array) ShortSpec() string { return a.spec(maxSpecRanges) }

func (a *Array) spec(most int) string {
	var b strings.Builder
	for i, r := range a.Ranges {
		if i > 0 {
			b.WriteByte(',')
		}
		if i == most {
			b.WriteString("…")
			break
		}
		fmt.Fprint(&b, r.First)
		if r.Last > r.First {
			fmt.Fprintf(&b, "-%d", r.Last)
		}
		if r.Last > r.First && r.Step > 1 {
			fmt.Fprintf(&b, ":%d", r.Step)
		}
	}
	if a.Limit > 0 {
		fmt.Fprintf(&b, "%%%d", a.Limit)
	}
	return b.String()
}
