package job

import (
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// Options are the parts of a payload that only some jobs have.
type Options struct {
	contract.Setup
	Container contract.Container `json:"container,omitzero"`
	Log       contract.Log       `json:"log,omitzero"`
	TTY       bool               `json:"tty,omitempty"`
	Snapshot  contract.Snapshot  `json:"snapshot,omitzero"`
	Cut       bool               `json:"cut,omitempty"` // the job has ended, and parts of its options were too long to keep
	NotifyTo  []string           `json:"notify_to,omitempty"`
}

// Options returns the options of the payload.
func (y *Payload) Options() Options {
	return Options{y.Setup, y.Container, y.Log, y.TTY, y.Snapshot, y.SetupCut, y.NotifyTo}
}

// IsZero reports whether no option is set.
func (o Options) IsZero() bool {
	return o.Setup.IsZero() && o.Container.IsZero() && o.Log == (contract.Log{}) &&
		!o.TTY && o.Snapshot.IsZero() && !o.Cut && len(o.NotifyTo) == 0
}

// NoLog, as the path of a log, means that there is no log, whatever the site's default is. A file
// of that name is ./none.
const NoLog = "none"

// MaxLogBytes is the largest length of the path of a log, which is the kernel's limit.
const MaxLogBytes = 4095

// LogPath replaces the sequences in the path of a job's log: %j is the job's name for people, 42 or
// 7_3. %A is the number of the array or job, %a the number of the task, %n the job's name, %u its
// user, %h the user's home and %% a percent sign. %3a is the number of the task with at least three
// digits.
func (j *Job) LogPath(pattern string) string {
	array, task := j.ID.String(), ""
	if j.Task != nil {
		array, task = j.Task.Array.String(), strconv.Itoa(j.Task.Index)
	}
	return FillLog(pattern, map[byte]string{'%': "%", 'j': j.Called(), 'A': array, 'a': task, 'n': fileName(j.Label.Name),
		'u': fileName(j.Owner.User), 'h': "~"})
}

// maxLogDigits is the largest number of digits that a sequence may ask for.
const maxLogDigits = 10

// FillLog replaces each sequence in the path of a log with the value of its letter. If a number
// precedes the letter, it is the minimum number of digits of a numeric value. A sequence whose
// letter has no value stays as it is.
func FillLog(pattern string, values map[byte]string) string {
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(pattern, "%")
		b.WriteString(text)
		digits, after := logDigits(rest)
		if !found || after == "" {
			return b.String() + pattern[len(text):]
		}
		value, known := values[after[0]]
		if !known {
			value = pattern[len(text) : len(pattern)-len(after)+1]
		} else if strings.Trim(value, "0123456789") == "" && value != "" {
			b.WriteString(strings.Repeat("0", max(0, digits-len(value))))
		}
		b.WriteString(value)
		pattern = after[1:]
	}
}

// logDigits reads the number before the letter of a sequence. It returns 0 if there is none.
func logDigits(rest string) (digits int, after string) {
	for after = rest; after != "" && after[0] >= '0' && after[0] <= '9'; after = after[1:] {
		digits = min(digits*10+int(after[0]-'0'), maxLogDigits)
	}
	return digits, after
}

// fileName turns a name into a valid file name.
func fileName(name string) string {
	name = strings.ReplaceAll(name, "/", "_")
	if strings.Trim(name, ".") == "" {
		return "_"
	}
	return name
}

// InHome reports whether a path begins with a sign for the user's home. If so, it returns the rest
// of the path.
func InHome(path string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(path, "~/"); !ok {
		rest, ok = strings.CutPrefix(path, "%h/")
	}
	return rest, ok
}

// CheckLogPath reports what is wrong with the path of a log, for a job or for the tasks of an
// array.
func CheckLogPath(pattern string, ofTasks bool) error {
	var p Problems
	checkLogPath(pattern, ofTasks, &p)
	return p.Err()
}

func checkLogPath(pattern string, ofTasks bool, p *Problems) {
	if len(pattern) > MaxLogBytes || !Printable(pattern) || strings.HasSuffix(pattern, "/") {
		p.add("usage/log", MaxLogBytes)
		return
	}
	for rest := strings.TrimPrefix(pattern, "%h/"); ; {
		_, sequence, found := strings.Cut(rest, "%")
		_, after := logDigits(sequence)
		letters := "%jAanu"
		if after != sequence {
			letters = "jAa" // letters of the sequences that are numbers
		}
		switch {
		case !found:
			return
		case after == "" || !strings.Contains(letters, after[:1]):
			p.add("usage/log-sequence", "%"+after[:min(len(after), 1)])
			return
		case after[0] == 'a' && !ofTasks:
			p.add("usage/log-task", "%a")
			return
		}
		rest = after[1:]
	}
}

// checkLog checks the form of a log. Only the job's unit, which runs as the job's user, can find
// out whether the file can be written.
func checkLog(l *contract.Log, a *Array, p *Problems) {
	if l.Path == "" {
		if l.Truncate {
			p.add("usage/log-truncate")
		}
		return
	}
	checkLogPath(l.Path, a != nil, p)
	const differs = "\x00"
	named := FillLog(l.Path, map[byte]string{'%': "", 'a': differs, 'j': differs})
	if a != nil && l.Truncate && !strings.Contains(named, differs) {
		p.add("usage/log-shared")
	}
}
