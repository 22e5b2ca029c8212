package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/gpu"
)

func xidKeys(in, _ string) []key {
	return []key{
		{section: in, name: "job", doc: "Xids that are the job's own fault: the GPU is well.",
			bind: func(c *Config) value { return xids(&c.Xids.Job) }},
		{section: in, name: "drain", doc: "Xids after which the GPU gets no job until an administrator has checked it and put it back with 'gpusched gpu undrain'.",
			bind: func(c *Config) value { return xids(&c.Xids.Drain) }},
		{section: in, name: "reset", doc: "Xids after which the GPU gets no job until it has been reset and put back with 'gpusched gpu undrain', or the machine has been rebooted.",
			bind: func(c *Config) value { return xids(&c.Xids.Reset) }},
		{section: in, name: "reboot", doc: "Xids after which the GPU gets no job until the machine has been rebooted.",
			bind: func(c *Config) value { return xids(&c.Xids.Reboot) }},
	}
}

// xids returns a setting that is a set of Xids (NVIDIA's error numbers) in ascending order. An
// empty set is nil.
func xids(to *[]int) value {
	form := shape{
		Type: "string", Form: "numbers of Xids and ranges of them, or empty",
		Pattern: `^( *[0-9]+( *- *[0-9]+)? *(, *[0-9]+( *- *[0-9]+)? *)*)? *$`,
	}
	return setting[[]int]{to, fromText(`"48, 145-150"`, parseXids), wrongXids, quotingWriter(spellXids), form}
}

func parseXids(s string) ([]int, error) {
	var codes []int
	for part := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(s) == "" {
			break
		}
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := xidCode(first)
		to, err2 := xidCode(last)
		if err := cmp.Or(err, err2); err != nil {
			return nil, err
		}
		if from > to {
			return nil, fmt.Errorf("%q runs backwards", strings.TrimSpace(part))
		}
		for code := from; code <= to; code++ {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	return codes, nil
}

func xidCode(s string) (int, error) {
	s = strings.TrimSpace(s)
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n < 1 || n > gpu.MaxXid {
		return 0, fmt.Errorf("%q is not an Xid: use numbers from 1 to %d and ranges, such as 48, 145-150", printed(s), gpu.MaxXid)
	}
	return int(n), nil
}

func wrongXids(codes []int) error {
	for _, n := range codes {
		if n == gpu.XidRecovery {
			return fmt.Errorf("%d can't be listed: in that report the driver itself says what the GPU needs", n)
		}
	}
	return checkRepeated(codes, "%d")
}

func spellXids(codes []int) string {
	var parts []string
	for i := 0; i < len(codes); {
		end := i
		for end+1 < len(codes) && codes[end+1] == codes[end]+1 {
			end++
		}
		word := strconv.Itoa(codes[i])
		if end > i {
			word += "-" + strconv.Itoa(codes[end])
		}
		parts, i = append(parts, word), end+1
	}
	return strings.Join(parts, ", ")
}

// xidRules returns the rules that forbid the same Xid in two lists.
func xidRules() []rule {
	var list []rule
	kinds := xidKeys("xid", "")
	for i, a := range kinds {
		for _, b := range kinds[:i] {
			list = append(list, rule{a.full(), b.full(), func(c *Config) string {
				there := *b.bind(c).(setting[[]int]).to
				for _, code := range *a.bind(c).(setting[[]int]).to {
					if slices.Contains(there, code) {
						return fmt.Sprintf("Xid %d is in %s and in %s: leave it in the one that counts", code, b.full(), a.full())
					}
				}
				return ""
			}})
		}
	}
	return list
}
