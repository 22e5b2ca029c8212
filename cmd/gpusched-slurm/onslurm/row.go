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

// separator is the unit separator of ASCII; see parting.
const separator = "\x1f"

// column is a field of squeue -O, or of sacct, that a job is read from.
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
	colCalled     // of sacct: the name of a task
	colExitStatus // of sacct: "3:0"
	colUnused     // of sacct
	countColumns
)

// columnNames are the names that squeue has for them.
var columnNames = [countColumns]string{
	"JobID", "ArrayJobID", "ArrayTaskID", "Name", "UserName", "UserID", "State", "Reason", "SubmitTime", "StartTime",
	"EndTime", "TimeLimit", "tres-alloc", "tres-per-node", "tres-per-job", "tres-per-task", "NumNodes", "NumTasks", "NumCPUs", "NodeList",
	"Dependency", "Comment", "Nice", "exit_code", "RestartCnt",
}

// Which of them squeue is asked for: all that a job is read from, and those by which one is known, chosen and
// ranked.
var (
	wholeJob = firstColumns(colCalled)
	whichJob = []column{
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

// row is a job as squeue or sacct prints it. What was not asked is "".
type row [countColumns]string

// parting returns what stands between fields in one answer: nobody whose job is in it can know it, so that no
// name or comment of a job makes a field or a row.
func parting() string { return separator + rand.Text()[:16] + separator }

// format is what squeue is asked to print, each field whole and with parting behind it.
func format(columns []column, parting string) string {
	var b strings.Builder
	for _, c := range columns {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(columnNames[c] + ":" + parting)
	}
	return b.String()
}

// rows reads what squeue printed of such columns.
func rows(text []byte, columns []column, parting string) (list []row, err error) {
	a := newAnswer(columns, parting, func(r *row) { list = append(list, *r) })
	_, _ = a.Write(text) // never fails
	if err := a.end(); err != nil {
		return nil, err
	}
	return list, nil
}

// answer reads what squeue prints while it does: cut by what parts the fields and not by lines, which a name may
// have. Anything else is an error: what can't be read is not left out.
type answer struct {
	columns []column
	parting []byte
	take    func(*row) // is told each row, which is another one's after that
	rest    []byte     // of a row that is not whole yet
	at      int        // up to where it has been looked through
	ends    []int      // of the fields in it
	rows    int
	err     error
}

func newAnswer(columns []column, parting string, take func(*row)) *answer {
	return &answer{columns: columns, parting: []byte(parting), take: take, ends: make([]int, 0, len(columns))}
}

// Write never fails: the program is to end by itself.
func (a *answer) Write(text []byte) (int, error) {
	if a.err != nil {
		return len(text), nil
	}
	a.rest = append(a.rest, text...)
	done := 0 // of rest
	for {
		n := bytes.Index(a.rest[a.at:], a.parting)
		if n < 0 {
			a.at = max(a.at, len(a.rest)-len(a.parting)+1)
			break
		}
		a.ends = append(a.ends, a.at+n)
		a.at += n + len(a.parting)
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

// row reads the row that begins at a place of rest.
func (a *answer) row(begin int) {
	var r row
	text := string(a.rest[begin:a.at])
	from := 0
	for i, c := range a.columns {
		end := a.ends[i] - begin
		r[c] = slurmexec.Known(strings.TrimSpace(text[from:end]))
		from = end + len(a.parting)
	}
	if !r.numbered() {
		a.err = unreadable("squeue", text)
	}
	if a.rows++; a.err == nil && !r.rejected() {
		a.take(&r)
	}
}

// end is what was wrong with all of it.
func (a *answer) end() error {
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

// numbered reports whether a row has the number of a job, as each has.
func (r *row) numbered() bool {
	return r[colJobID] != "" && r[colJobID][0] >= '0' && r[colJobID][0] <= '9'
}

// isTalk reports whether a program has printed nothing, or only said something, as "squeue: warning: …".
func isTalk(name, text string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, name+": ") {
			return false
		}
	}
	return true
}

// failing reports whether a program that ended well speaks of a call to Slurm that failed, as in "slurm_load_jobs
// error: …". What else is said is no matter: of a user whom it does not know ("squeue: error: Invalid user: 7"), by
// the dynamic linker.
func failing(talk string) bool {
	for line := range strings.Lines(talk) {
		if strings.HasPrefix(line, "slurm_") {
			return true
		}
	}
	return false
}

// unreadable is the error of an answer that is not in its form.
func unreadable(program, near string) error {
	return &api.Error{Code: api.CodeInternal, Message: fmt.Sprintf("what Slurm's %s printed can't be read, near %.60q", program, near)}
}

// number is a field as one, 0 where it is none.
func (r *row) number(c column) int64 {
	if r[c] == "" {
		return 0
	}
	n, _ := strconv.ParseInt(r[c], 10, 64)
	return n
}

// moment is a field as a time, as momentOf reads it.
func (r *row) moment(c column) time.Time { return momentOf(r[c]) }

// momentOf reads a time, zero where there is none. Slurm has times of the far future for those that it does not
// know.
func momentOf(text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil { // a Slurm that does not know SLURM_TIME_FORMAT=%s
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

// farFuture is from when on a time is Slurm's word for never: the year 2500.
const farFuture = 16_725_225_600

// size reads an amount of memory in bytes: a number of mebibytes, or with a unit.
func size(text string) int64 {
	text = strings.TrimRight(text, "nc") // per node, per CPU
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

// tres reads a list of trackable resources, "cpu=2,mem=500M,gres/gpu=2", or of wishes, "gres:gpu:a100:2" or
// "gres/gpu:2": the amount of each, by its name without its type, and the type of GPU.
func tres(text string) (amounts map[string]string, gpuType string) {
	if text == "" {
		return nil, ""
	}
	amounts = map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		part, _, _ = strings.Cut(part, "(") // (IDX:0-1)
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
			continue // gres/gpu and gres/gpu:a100 are the same ones
		}
		if !has {
			amount = "1"
		}
		amounts[name] = amount
	}
	return amounts, gpuType
}
