package slurm

import (
	"cmp"
	"fmt"
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

// logWords returns the options for the output, which goes to a file in addition to the journal. Only
// a step has a file of its own for its errors. The file is emptied first only if the script says so,
// since tasks of an array may share it.
func (b *Batch) logWords() (words []string) {
	file := b.outFile
	switch {
	case b.errorFile == "":
	case b.Step:
		words = append(words, "--error="+b.errorFile)
	case file == "" || file == job.NoLog:
		file = b.errorFile
	case file != b.errorFile:
		b.note("--error=%s: standard error goes to the file of --output", b.errorFile)
	}
	if file != "" {
		words = append(words, "--log="+file)
	}
	if file != "" && file != job.NoLog && b.openMode == "truncate" {
		words = append(words, "--log-truncate")
	}
	return words
}

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
