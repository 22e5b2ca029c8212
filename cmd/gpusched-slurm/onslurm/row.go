package onslurm

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/slurmexec"
	"github.com/gpusched/gpusched/daemon/api"
)

// separator is ASCII's unit separator. See newSeparator.
const separator = "\x1f"

// A column is a field in the output of squeue -O or of sacct.
type column int

const (
	colJobID column = iota
	colArrayJobID
	colArrayTaskID
	colName
	colUserName
	colUserID
	colState
	colReason
	colSubmitTime
	colStartTime
	colEndTime
	colTimeLimit
	colTresAlloc
	colTresPerNode
	colTresPerJob
	colTresPerTask
	colNumNodes
	colNumTasks
	colNumCPUs
	colNodeList
	colDependency
	colComment
	colNice
	colExitCode
	colRestartCnt
	colCalled     // only in sacct: the name of a task
	colExitStatus // only in sacct, such as "3:0"
	colUnused     // only in sacct: not read
	countColumns
)

// columnNames are the names of the columns in squeue.
var columnNames = [countColumns]string{
	"JobID", "ArrayJobID", "ArrayTaskID", "Name", "UserName", "UserID", "State", "Reason", "SubmitTime", "StartTime",
	"EndTime", "TimeLimit", "tres-alloc", "tres-per-node", "tres-per-job", "tres-per-task", "NumNodes", "NumTasks", "NumCPUs", "NodeList",
	"Dependency", "Comment", "Nice", "exit_code", "RestartCnt",
}

// The columns for which squeue is asked: either all, or only those that identify and rank jobs.
var (
	jobColumns = firstColumns(colCalled)
	keyColumns = []column{
		colJobID, colArrayJobID, colArrayTaskID, colName, colUserName, colUserID, colState, colReason, colSubmitTime,
		colStartTime, colEndTime, colNodeList, colComment,
	}
)

func firstColumns(end column) (list []column) {
	for c := range end {
		list = append(list, c)
	}
	return list
}

// A row is a job as squeue or sacct prints it. Fields that were not requested are "".
type row [countColumns]string

// newSeparator returns a separator for the fields of one answer. Users cannot know it, so no job's
// name or comment can imitate a field or a row.
func newSeparator() string { return separator + rand.Text()[:16] + separator }

// format returns the value of squeue's --format. Each
// field is printed in full, with the separator after it.
func format(columns []column, sep string) string {
	var b strings.Builder
	for _, c := range columns {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(columnNames[c] + ":" + sep)
	}
	return b.String()
}

// An answer reads squeue's output while squeue prints. It splits the output at separators, not at
// lines, because a name may contain a newline. Unexpected output is an error; nothing is skipped.
type answer struct {
	columns []column
	sep     []byte
	take    func(*row) // called for each row; the row is valid until take returns
	rest    []byte     // output from the beginning of the current row
	at      int        // number of bytes of rest that were searched
	ends    []int      // offsets in rest at which the fields of the current row end
	rows    int
	err     error
}

func newAnswer(columns []column, sep string, take func(*row)) *answer {
	return &answer{columns: columns, sep: []byte(sep), take: take, ends: make([]int, 0, len(columns))}
}

// Write never fails, so that squeue can run to its end.
func (a *answer) Write(text []byte) (int, error) {
	if a.err != nil {
		return len(text), nil
	}
	a.rest = append(a.rest, text...)
	done := 0 // number of bytes of rest that were read
	for {
		n := bytes.Index(a.rest[a.at:], a.sep)
		if n < 0 {
			a.at = max(a.at, len(a.rest)-len(a.sep)+1)
			break
		}
		a.ends = append(a.ends, a.at+n)
		a.at += n + len(a.sep)
		if len(a.ends) == len(a.columns) {
			a.row(done)
			done, a.ends = a.at, a.ends[:0]
		}
	}
	a.rest = a.rest[:copy(a.rest, a.rest[done:])]
	a.at -= done
	for i := range a.ends {
		a.ends[i] -= done
	}
	return len(text), nil
}

// row reads the row that begins at an offset of rest.
func (a *answer) row(begin int) {
	var r row
	text := string(a.rest[begin:a.at])
	from := 0
	for i, c := range a.columns {
		end := a.ends[i] - begin
		r[c] = slurmexec.Known(strings.TrimSpace(text[from:end]))
		from = end + len(a.sep)
	}
	if !r.hasID() {
		a.err = unreadable("squeue", text)
	}
	if a.rows++; a.err == nil && !r.neverQueued() {
		a.take(&r)
	}
}

// finish returns the error of the whole squeue output.
func (a *answer) finish() error {
	switch rest := string(a.rest); {
	case a.err != nil:
		return a.err
	case a.rows == 0 && len(a.ends) == 0 && isTalk("squeue", rest):
		return nil
	case a.rows == 0 || len(a.ends) > 0 || strings.Trim(rest, "\n") != "":
		return unreadable("squeue", rest)
	}
	return nil
}

// hasID reports whether the row has a job id. Every valid row has one.
func (r *row) hasID() bool {
	return r[colJobID] != "" && r[colJobID][0] >= '0' && r[colJobID][0] <= '9'
}

// isTalk reports whether a program printed only messages, such as "squeue: warning: …".
func isTalk(name, text string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, name+": ") {
			return false
		}
	}
	return true
}

// hasError examines the messages of a program that exited with 0. It reports whether a call failed,
// as in "slurm_load_jobs error: …". Other messages are harmless, for instance about an unknown
// user ("squeue: error: Invalid user: 7") or from the dynamic linker.
func hasError(talk string) bool {
	return strings.HasPrefix(talk, "slurm_") || strings.Contains(talk, "\nslurm_")
}

// unreadable returns the error for output in an unexpected form.
func unreadable(program, near string) error {
	return &api.Error{Code: api.CodeInternal, Message: fmt.Sprintf("can't read what Slurm's %s printed, near %.60q", program, near)}
}

// number returns a field as a number, or 0.
func (r *row) number(c column) int64 {
	if r[c] == "" {
		return 0
	}
	n, _ := strconv.ParseInt(r[c], 10, 64)
	return n
}

func (r *row) time(c column) time.Time { return parseTime(r[c]) }

// parseTime parses a time. It returns zero for no time, and for an unknown time, which Slurm prints
// as a time in the far future.
func parseTime(text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil { // this release of Slurm does not know SLURM_TIME_FORMAT=%s
		at, err := time.ParseInLocation("2006-01-02T15:04:05", text, time.Local)
		if err != nil {
			return time.Time{}
		}
		n = at.Unix()
	}
	if n <= 0 || n > farFuture {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

// farFuture is the beginning of the year 2500. Later times mean "never" in Slurm.
const farFuture = 16_725_225_600

// parseSize returns an amount of memory in bytes. An amount without a unit is in mebibytes.
func parseSize(text string) int64 {
	text = strings.TrimRight(text, "nc") // "n" means per node, "c" per CPU
	if text == "" {
		return 0
	}
	shift := map[byte]uint{'K': 10, 'M': 20, 'G': 30, 'T': 40, 'P': 50}[text[len(text)-1]]
	if shift == 0 {
		shift = 20
	} else {
		text = text[:len(text)-1]
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 {
		return 0
	}
	return int64(n * float64(int64(1)<<shift))
}

// parseTRES parses trackable resources, such as "cpu=2,mem=500M,gres/gpu=2",
// or those of a request, such as "gres:gpu:a100:2" or "gres/gpu:2". It
// returns the amounts by name without types, and the type of the GPUs.
func parseTRES(text string) (amounts map[string]string, gpuType string) {
	if text == "" {
		return nil, ""
	}
	amounts = map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		part, _, _ = strings.Cut(part, "(") // cuts off a part such as (IDX:0-1)
		part = strings.TrimPrefix(strings.TrimPrefix(part, "gres:"), "gres/")
		name, amount, has := strings.Cut(part, "=")
		if words := strings.Split(name, ":"); len(words) > 1 {
			name = words[0]
			last := words[len(words)-1]
			if _, err := strconv.Atoi(last); err == nil && !has {
				amount, has, words = last, true, words[:len(words)-1]
			}
			if len(words) > 1 && name == "gpu" {
				gpuType = words[1]
			}
		}
		if name == "" || amounts[name] != "" && gpuType != "" {
			continue // gres/gpu and gres/gpu:a100 are the same GPUs
		}
		if !has {
			amount = "1"
		}
		amounts[name] = amount
	}
	return amounts, gpuType
}
