package onslurm

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// row is a job as squeue prints it: by the names of its fields.
type row map[string]string

// fields are those of squeue -O that a job is read from.
var fields = strings.Fields(`JobID ArrayJobID ArrayTaskID Name UserName UserID State Reason SubmitTime EligibleTime
	StartTime EndTime TimeLimit tres-alloc tres-per-node tres-per-job tres-per-task NumNodes NumTasks
	NumCPUs MinMemory NodeList
	Dependency Comment Nice PriorityLong Partition exit_code RestartCnt WorkDir STDOUT`)

// parting returns what stands between fields in one answer: nobody whose job is in it can know it, so that no
// name or comment of a job makes a field or a row.
func parting() string { return separator + rand.Text()[:16] + separator }

// format is what squeue is asked to print, each field whole and with parting behind it.
func format(fields []string, parting string) string {
	return strings.Join(fields, ":"+parting+",") + ":" + parting
}

// rows reads what squeue printed of such fields, cut by what parts the fields and not by lines, which a name may
// have. Anything else is an error: what can't be read is not left out.
func rows(text []byte, fields []string, parting string) (list []row, err error) {
	values := strings.Split(string(text), parting)
	if len(values) == 1 && isTalk("squeue", values[0]) {
		return nil, nil
	}
	if len(values)%len(fields) != 1 || len(values) == 1 || strings.Trim(values[len(values)-1], "\n") != "" {
		return nil, unreadable("squeue", values[len(values)-1])
	}
	for some := range slices.Chunk(values[:len(values)-1], len(fields)) {
		r := make(row, len(fields))
		for i, name := range fields {
			r[name] = known(strings.TrimSpace(some[i]))
		}
		if !numbered(r) {
			return nil, unreadable("squeue", some[0])
		}
		if !r.rejected() {
			list = append(list, r)
		}
	}
	return list, nil
}

// numbered reports whether a row has the number of a job, as each has.
func numbered(r row) bool { return r["JobID"] != "" && r["JobID"][0] >= '0' && r["JobID"][0] <= '9' }

// isTalk reports whether a program has printed nothing, or only said something, as "squeue: warning: …".
func isTalk(name, text string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, name+": ") {
			return false
		}
	}
	return true
}

// unreadable is the error of an answer that is not in its form.
func unreadable(program, near string) error {
	return &api.Error{Code: api.CodeInternal, Message: fmt.Sprintf("what Slurm's %s printed can't be read, near %.60q", program, near)}
}

// known is a value, "" where that is one of Slurm's words for none.
func known(value string) string {
	switch value {
	case "(null)", "N/A", "n/a", "None", "NONE", "Unknown", "UNKNOWN", "NO_VAL":
		return ""
	}
	return value
}

// number is a field as one, 0 where it is none.
func (r row) number(name string) int64 {
	n, _ := strconv.ParseInt(r[name], 10, 64)
	return n
}

// moment is a field as a time, zero where it is none. Slurm has times of the far future for those that it
// does not know.
func (r row) moment(name string) time.Time {
	text := r[name]
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

// span reads a time limit: minutes, minutes:seconds, hours:minutes:seconds, or days before these.
func span(text string) time.Duration {
	days, rest, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, rest = "0", text
	}
	d, err := strconv.Atoi(days)
	if err != nil {
		return 0
	}
	total, unit := 0, []int{60, 1}
	parts := strings.Split(rest, ":")
	switch {
	case len(parts) == 3:
		unit = []int{3600, 60, 1}
	case hasDays:
		unit = []int{3600, 60}
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || i >= len(unit) {
			return 0
		}
		total += n * unit[i]
	}
	return time.Duration(d)*24*time.Hour + time.Duration(total)*time.Second
}

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
