package slurm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxHosts is the largest number of names that a list of machines may expand to.
const maxHosts = 65536

// Hostnames expands a list of machines, such as a[1-3],b or rack[1-2]n[01-16].
func Hostnames(text string) (names []string, err error) {
	for text != "" {
		made := []string{""}
		for text != "" {
			at := strings.IndexAny(text, "[,")
			if at < 0 {
				at = len(text)
			}
			made = combine(made, []string{text[:at]})
			if text = text[at:]; text == "" || text[0] == ',' {
				break
			}
			list, rest, closed := strings.Cut(text[1:], "]")
			if !closed {
				return nil, fmt.Errorf("%q: a bracket is not closed", text)
			}
			numbers, err := hostNumbers(list)
			if err != nil || len(made)*len(numbers) > maxHosts {
				return nil, errors.Join(err, errors.New("that is not a list of machines"))
			}
			made, text = combine(made, numbers), rest
		}
		if names = append(names, made...); len(names) > maxHosts {
			return nil, errors.New("that is not a list of machines")
		}
		text = strings.TrimPrefix(text, ",")
	}
	return names, nil
}

// hostNumbers expands the bracketed part of a name, such as 08-10,12.
func hostNumbers(list string) (numbers []string, err error) {
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 32)
		to, err2 := strconv.ParseUint(last, 10, 32)
		if err != nil || err2 != nil || to < from || to-from >= uint64(maxHosts-len(numbers)) {
			return nil, fmt.Errorf("%q is not a range of machines", part)
		}
		for n := from; n <= to; n++ {
			numbers = append(numbers, fmt.Sprintf("%0*d", len(first), n))
		}
	}
	return numbers, nil
}

// combine returns all combinations of a beginning and an end.
func combine(beginnings, ends []string) (list []string) {
	for _, beginning := range beginnings {
		for _, end := range ends {
			list = append(list, beginning+end)
		}
	}
	return list
}
