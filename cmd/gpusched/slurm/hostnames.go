package slurm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Hostnames expands a list of machines, such as a[1-3],b.
func Hostnames(text string) (names []string, err error) {
	for text != "" {
		end := strings.IndexByte(text, ',')
		if open := strings.IndexByte(text, '['); open >= 0 && (end < 0 || open < end) {
			shut := strings.IndexByte(text, ']')
			if shut < open {
				return nil, fmt.Errorf("%q: a bracket is not closed", text)
			}
			if end = strings.IndexByte(text[shut:], ','); end >= 0 {
				end += shut
			}
		}
		one := text
		if text = ""; end >= 0 {
			one, text = one[:end], one[end+1:]
		}
		more, err := expandHostname(one)
		if err != nil || len(names)+len(more) > 65536 {
			return nil, errors.Join(err, errors.New("that is not a list of machines"))
		}
		names = append(names, more...)
	}
	return names, nil
}

// expandHostname expands one word of the list.
func expandHostname(word string) (names []string, err error) {
	before, rest, ok := strings.Cut(word, "[")
	numbers, after, _ := strings.Cut(rest, "]")
	if !ok {
		return []string{word}, nil
	}
	for part := range strings.SplitSeq(numbers, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 32)
		to, err2 := strconv.ParseUint(last, 10, 32)
		if err = errors.Join(err, err2); err != nil || to < from || to-from > 65536 {
			return nil, fmt.Errorf("%q is not a range of machines", part)
		}
		for n := from; n <= to; n++ {
			names = append(names, fmt.Sprintf("%s%0*d%s", before, len(first), n, after))
		}
	}
	return names, nil
}
