package jobsfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Format is the way in which a file lists its jobs.
type Format string

// These are the formats of jobs files.
const (
	Commands Format = "commands" // one command on each line
	Columns  Format = "columns"  // lines of priority,script,conda,arguments,allowed_gpus
	Spec     Format = "spec"     // blocks of command:, num_gpus: and priority:
)

// An Entry is a job in a file.
type Entry struct {
	Number  int    // line number of the entry's first line, from 1
	Command string // command for a shell; "" if there is a script
	Script  string
	Args    string // quoted as for a shell
	Conda   string // "" if none is named
	GPUs    string // number of GPUs; "" if not given
	From    string // the GPUs that the job may use; "" means any

	// Priority is the number in the file, if HasPriority is set. In a file of the format Columns, the
	// entry with the lowest number goes first. In the format Spec, the one with the highest does.
	Priority    int
	HasPriority bool

	// Open reports that the entry may continue in text that is appended to the file.
	Open bool
	Err  error // the error if the entry can't become a job
}

// Identity returns the same text for entries that run the same thing. An entry does not become a
// new job if its other parts are edited.
func (e *Entry) Identity() string {
	if e.Script != "" {
		return strings.Join([]string{"script", e.Script, e.Conda, e.Args}, "\x00")
	}
	return strings.Join([]string{"command", e.Command, e.GPUs}, "\x00")
}

// Rank returns the priority as a number that is higher for entries that go first.
func (e *Entry) Rank() int {
	if e.Script != "" {
		return -e.Priority
	}
	return e.Priority
}

// specKeys are the keys of Spec.
var specKeys = []string{"command", "num_gpus", "priority"}

// Detect returns the format of a text. It looks at the first line that is neither empty nor a
// comment.
func Detect(text string) Format {
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "- ")
		if line == "" || line[0] == '#' || line == "---" {
			continue
		}
		if first, _, ok := strings.Cut(line, ","); ok {
			if _, err := strconv.Atoi(strings.TrimSpace(first)); err == nil || isHeader(line) {
				return Columns
			}
		}
		for _, key := range specKeys {
			if rest, ok := strings.CutPrefix(line, key); ok && strings.HasPrefix(strings.TrimSpace(rest), ":") {
				return Spec
			}
		}
		return Commands
	}
	return Commands
}

// Parse returns the entries of a file in order, including wrong ones.
func Parse(format Format, text string) []Entry {
	if format == Spec {
		return parseSpec(text)
	}
	var list []Entry
	number := 0
	for line := range strings.Lines(text) {
		number++
		open := !strings.HasSuffix(line, "\n")
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || format == Columns && isHeader(line) {
			continue
		}
		e := Entry{Command: line}
		if format == Columns {
			e = parseColumns(line)
		}
		if strings.IndexByte(line, 0) >= 0 {
			e.Err = errNUL
		}
		e.Number, e.Open = number, open
		list = append(list, e)
	}
	return list
}

var errNUL = errors.New("there is a NUL byte in it")

// isHeader reports whether a line is the heading with the names of the columns.
func isHeader(line string) bool {
	first, rest, _ := strings.Cut(line, ",")
	second := strings.ToLower(strings.TrimSpace(rest))
	return strings.EqualFold(strings.TrimSpace(first), "priority") && strings.HasPrefix(second, "script")
}

// parseColumns parses priority,script,conda,arguments,allowed_gpus. The last three fields may be
// empty or missing, and the last field may contain commas.
func parseColumns(line string) (e Entry) {
	fields, err := splitFields(line, 5)
	if err != nil {
		return Entry{Err: err}
	}
	if len(fields) < 2 || fields[1] == "" {
		return Entry{Err: errors.New("it has no script: a line is priority,script,conda,arguments,allowed_gpus")}
	}
	if e.Priority, err = priority(fields[0]); err != nil {
		return Entry{Err: err}
	}
	fields = append(fields, "", "", "")
	e.HasPriority, e.Script = true, fields[1]
	e.Conda, e.Args = fields[2], fields[3]
	e.From = strings.TrimSpace(strings.TrimRight(fields[4], ", \t"))
	return e
}

// maxPriority is the highest priority that a job can have.
const maxPriority = 1_000_000

func priority(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < -maxPriority || n > maxPriority {
		return 0, fmt.Errorf("%q is not a priority: use a number", s)
	}
	return n, nil
}

// splitFields splits a line at its commas into at most maxFields fields. It ignores commas in
// quotation marks. If a field begins with a quotation mark, the field is quoted as in CSV. Other
// quotation marks belong to the words of the field.
func splitFields(line string, maxFields int) (fields []string, err error) {
	for len(fields) < maxFields {
		line = strings.TrimLeft(line, " \t")
		var field, rest string
		more := false
		switch {
		case strings.HasPrefix(line, `"`):
			field, rest, more, err = readQuoted(line[1:])
		case len(fields) == maxFields-1:
			field = line
		default:
			field, rest, more, err = plain(line)
		}
		if err != nil {
			return nil, err
		}
		fields = append(fields, strings.TrimRight(field, " \t"))
		if !more {
			return fields, nil
		}
		line = rest
	}
	if strings.Trim(line, ", \t") != "" {
		return nil, fmt.Errorf("there is %q after the last column", line)
	}
	return fields, nil
}

var errQuote = errors.New("a quotation mark is not closed")

// readQuoted reads a quoted field. The argument s begins after the opening quotation mark. The
// result rest begins after the comma that follows the closing mark.
func readQuoted(s string) (field, rest string, more bool, err error) {
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			i++
			continue
		}
		field, rest = strings.ReplaceAll(s[:i], `""`, `"`), strings.TrimLeft(s[i+1:], " \t")
		if rest == "" {
			return field, "", false, nil
		}
		if rest[0] != ',' {
			return "", "", false, fmt.Errorf("a quoted column must end with a comma, not with %q", rest)
		}
		return field, rest[1:], true, nil
	}
	return "", "", false, errQuote
}

func plain(s string) (field, rest string, more bool, err error) {
	mark := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case mark != 0 && c == mark:
			mark = 0
		case mark == 0 && (c == '"' || c == '\''):
			mark = c
		case mark == 0 && c == ',':
			return s[:i], s[i+1:], true, nil
		}
	}
	if mark != 0 {
		return "", "", false, errQuote
	}
	return s, "", false, nil
}

// parseSpec parses blocks of keys. A block ends at an empty line, at ---, or where a key repeats.
func parseSpec(text string) (list []Entry) {
	var e Entry
	seen := map[string]bool{}
	number := 0
	end := func(open bool) {
		if len(seen) > 0 {
			if e.Command == "" && e.Err == nil {
				e.Err = errors.New("there is no command: here")
			}
			e.Open = open
			list = append(list, e)
		}
		e, seen = Entry{}, map[string]bool{}
	}
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line == "---" {
			end(false)
			continue
		}
		if line[0] == '#' {
			continue
		}
		line, first := strings.CutPrefix(line, "- ")
		key, value, ok := strings.Cut(line, ":")
		key = strings.TrimSpace(key)
		if first || seen[key] {
			end(false)
		}
		if len(seen) == 0 {
			e.Number = number
		}
		seen[key] = true
		if err := e.set(key, strings.TrimSpace(value), ok); err != nil && e.Err == nil {
			e.Err = err
		}
	}
	end(true)
	return list
}

func (e *Entry) set(key, value string, ok bool) (err error) {
	for _, mark := range []string{`"`, "'"} {
		inner, opened := strings.CutPrefix(value, mark)
		inner, closed := strings.CutSuffix(inner, mark)
		if opened && closed && !strings.Contains(inner, mark) {
			value = inner
		}
	}
	number, _, _ := strings.Cut(value, "#")
	number = strings.TrimSpace(number)
	switch {
	case strings.IndexByte(value, 0) >= 0:
		return errNUL
	case !ok:
		return fmt.Errorf("%q is not KEY: VALUE", key)
	case key == "command":
		e.Command = value
	case key == "num_gpus":
		e.GPUs = number
	case key == "priority":
		e.HasPriority = true
		e.Priority, err = priority(number)
	default:
		return fmt.Errorf("%q is not known: there are %s", key, strings.Join(specKeys, ", "))
	}
	return err
}

// Column formats an entry as a line of the format Columns. Parse can read that line.
func Column(e Entry) string {
	fields := []string{strconv.Itoa(e.Priority), quoteField(e.Script), quoteField(e.Conda), quoteField(e.Args), e.From}
	return strings.Join(fields, ",")
}

// quoteField quotes a field if the parser would otherwise read it differently.
func quoteField(s string) string {
	if !strings.ContainsAny(s, "\",'") && s == strings.TrimSpace(s) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
