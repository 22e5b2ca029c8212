package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// outputFile reads the files of --output and --error, and how they are opened.
func (b *Batch) outputFile(name, value string) error {
	isError := name == "--error" || name == "-e"
	switch {
	case name == "--open-mode":
		b.openMode = map[string]string{"a": "append", "t": "truncate"}[value[:min(1, len(value))]]
		if !strings.HasPrefix(b.openMode, value) {
			return fmt.Errorf("%q is neither append nor truncate", value)
		}
		return nil
	case value == "/dev/null" && !b.Step:
		b.note("%s=/dev/null: the output still goes to the journal", name)
		if !isError && !b.ForSlurm {
			b.outFile = job.NoLog
		}
		return nil
	}
	file, err := b.pattern(value)
	if isError {
		b.errorFile = file
	} else {
		b.outFile = file
	}
	return err
}

// logWords returns the options for the output, which goes to a file in addition to the journal. With
// a second file for its errors, the first has all of the output, too. The files are emptied first
// only if the script says so, since tasks of an array may share them.
func (b *Batch) logWords() (words []string) {
	file := b.outFile
	single := b.ForSlurm || slices.ContainsFunc(b.words, func(w string) bool { return strings.HasPrefix(w, "--image=") })
	switch {
	case b.errorFile == "":
	case b.Step:
		words = append(words, "--error="+b.errorFile)
	case single && (file == "" || file == job.NoLog):
		file = b.errorFile
	case file == b.errorFile:
	case single:
		b.note("--error=%s: standard error goes to the file of --output", b.errorFile)
	default:
		words = append(words, "--setup="+b.errorSetup())
	}
	if file != "" {
		words = append(words, "--log="+file)
	}
	if file != "" && file != job.NoLog && b.openMode == "truncate" {
		words = append(words, "--log-truncate")
	}
	return words
}

// shellValues are the values of the sequences in a log's path, for a shell in the job's unit.
var shellValues = map[byte]string{
	'%': "%", 'A': "${GPUSCHED_ARRAY_JOB:-$GPUSCHED_JOB_ID}", 'a': "$GPUSCHED_ARRAY_TASK", 'u': "$USER",
	'n': `$(printf %s ` + NameInSetup + ` | tr / _)`,
	'j': "${GPUSCHED_ARRAY_JOB:+${GPUSCHED_ARRAY_JOB}_}${GPUSCHED_ARRAY_TASK:-$GPUSCHED_JOB_ID}",
}

// errorSetup returns the command that copies the job's standard error to a file of its own. The copy
// continues until the last process of the job has closed it, so it ignores the signals for the job.
// It is no child of the job's command, which may wait for all of its children.
func (b *Batch) errorSetup() string {
	var path strings.Builder
	rest, home := job.InHome(b.errorFile)
	if home {
		path.WriteString(`"$HOME"/`)
	}
	for rest != "" {
		text, sequence, found := strings.Cut(rest, "%")
		if text != "" {
			path.WriteString("'" + strings.ReplaceAll(text, "'", `'\''`) + "'")
		}
		if !found {
			break
		}
		after := strings.TrimLeft(sequence, "0123456789")
		digits, value := sequence[:len(sequence)-len(after)], shellValues[after[0]]
		if n, _ := strconv.Atoi(digits); n > 0 { // as in job.FillLog, 7_3 gets no zeros
			value = fmt.Sprintf(`$(case "%[1]s" in ("" | *[!0-9]*) echo "%[1]s";; (*) printf %%0%[2]dd "%[1]s"; esac)`, value, min(n, 10))
		}
		path.WriteString(`"` + value + `"`)
		rest = after[1:]
	}
	empty := ""
	if b.openMode == "truncate" {
		empty = `[ "$GPUSCHED_ATTEMPT" != 1 ] || : >"$1"; `
	}
	return "set -- " + path.String() + `; mkdir -p -- "$(dirname -- "$1")"; ` + empty + copyErrors
}

const copyErrors = `exec 2> >(trap '' HUP INT QUIT TERM USR1 USR2; tee -a -- "$1" >&2 <&0 &)`

// NameInSetup is the job's name in such a set-up. Only jobs with the variables of Slurm have it.
const NameInSetup = `"${SLURM_JOB_NAME:-job}"`

// CopiesErrors reports whether --error made a set-up that only copies standard error.
func CopiesErrors(setup string) bool { return strings.HasSuffix(setup, copyErrors) }

// patterns translates the placeholders in Slurm's file names.
var patterns = map[byte]string{
	'%': "%%", 'j': "%j", 'J': "%j", 'A': "%A", 'a': "%a", 'x': "%n", 'u': "%u", 'N': "%N", 'n': "0", 't': "0", 's': "batch",
}

func (b *Batch) pattern(s string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			out.WriteByte(s[i])
			continue
		}
		from := i + 1
		for i++; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		}
		if i == len(s) || patterns[s[i]] == "" {
			return "", fmt.Errorf("%q has a %% that is not known here: there are %%j, %%A, %%a, %%x, %%u, %%N and %%n", s)
		}
		if s[i] == 'N' {
			out.WriteString(cmp.Or(b.Node, "localhost"))
			continue
		}
		ours := patterns[s[i]]
		switch {
		case b.Step && s[i] == 't':
			ours = "%t"
		case ours == "0":
			digits, _ := strconv.Atoi(s[from:i])
			ours = strings.Repeat(ours, min(max(digits, 1), 10)) // at most 10, as in Slurm
		}
		if strings.Contains("%j%A%a%t", ours) { // these are numbers, which may have a minimum number of digits
			ours = "%" + s[from:i] + ours[1:]
		}
		out.WriteString(ours)
	}
	return out.String(), nil
}
