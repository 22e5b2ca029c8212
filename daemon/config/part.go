package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// cpusOrNone returns a setting that is a number of CPUs, or a percentage of the machine's CPUs. In
// a file, zero is the word none.
func cpusOrNone(to *job.Part) value {
	lo, hi := 1, job.MaxCPUs
	read := func(raw any) (job.Part, error) {
		if n, ok := raw.(int64); ok {
			return job.Part{Amount: n}, within(n, lo, hi)
		}
		s, ok := raw.(string)
		if p, err := parsePercent(s); ok && err == nil {
			return p, nil
		}
		return job.Part{}, wrongType(`a whole number without quotes, a percentage such as "80%", or "none"`, raw)
	}
	form := shape{
		Type: "integer", Form: fmt.Sprintf("a number from %d to %d, a percentage, or none", lo, hi),
		Min: &lo, Max: &hi, Word: "^(none|[0-9]+%)$",
	}
	return setting[job.Part]{to, read, acceptAny[job.Part], func(p job.Part) string {
		if p.Amount > 0 {
			return strconv.FormatInt(p.Amount, 10)
		}
		return strconv.Quote(spellPercent(p))
	}, form}
}

// memOrNone returns a setting that is host memory in bytes, or a percentage of the memory that jobs
// may have. In a file, zero is the word none.
func memOrNone(to *job.Part) value {
	read := func(s string) (job.Part, error) {
		if p, err := parsePercent(s); err == nil || strings.HasSuffix(s, "%") {
			return p, err
		}
		n, err := job.ParseSize(s)
		if err != nil {
			err = fmt.Errorf("%w, a percentage such as 80%%, or none", err)
		}
		return job.Part{Amount: n}, err
	}
	wrong := func(p job.Part) error {
		if p.Amount != 0 && (p.Amount < 1<<20 || p.Amount > job.MaxSize) {
			return fmt.Errorf("%s is out of range: use 1M to 1024T", spellSize(p.Amount))
		}
		return nil
	}
	form := shape{Type: "string", Form: "a size, a percentage, or none", Pattern: `^(none|[0-9.]+ ?([A-Za-z]+|%))$`}
	return setting[job.Part]{to, fromText(`"64G"`, read), wrong, quotingWriter(func(p job.Part) string {
		if p.Amount > 0 {
			return spellSize(p.Amount)
		}
		return spellPercent(p)
	}), form}
}

func within(n int64, lo, hi int) error {
	if n < int64(lo) || n > int64(hi) {
		return fmt.Errorf(`%d is out of range: use %d to %d, or "none"`, n, lo, hi)
	}
	return nil
}

// parsePercent reads a percentage from 1% to 100%, or none.
func parsePercent(s string) (job.Part, error) {
	if s == "none" {
		return job.Part{}, nil
	}
	digits, marked := strings.CutSuffix(s, "%")
	n, err := strconv.ParseUint(digits, 10, 16)
	if !marked || err != nil || n < 1 || n > 100 {
		return job.Part{}, fmt.Errorf("%q is not a percentage from 1%% to 100%%", s)
	}
	return job.Part{Percent: int(n)}, nil
}

func spellPercent(p job.Part) string {
	if p.Percent == 0 {
		return "none"
	}
	return strconv.Itoa(p.Percent) + "%"
}
