package oldconfig

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/job"
)

// readNumber reads a number from JSON, YAML or text.
func readNumber(v any) (float64, error) {
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 1e12 {
		return 0, fmt.Errorf("%.40q is not a number", fmt.Sprint(v))
	}
	return n, nil
}

// readWhole reads a whole number.
func readWhole(v any) (string, error) {
	n, err := readNumber(v)
	if err != nil || n != math.Trunc(n) {
		return "", fmt.Errorf("%.40q is not a whole number", fmt.Sprint(v))
	}
	return strconv.FormatInt(int64(n), 10), nil
}

// text returns a string in TOML.
func text(s string) string {
	quoted, _ := json.Marshal(s) // JSON and TOML have the same escapes
	return strings.ReplaceAll(string(quoted), "\x7f", `\u007f`)
}

// readSeconds reads a duration in seconds.
func readSeconds(v any) (string, error) {
	n, err := readNumber(v)
	if err != nil || n == 0 || n > job.MaxDuration.Seconds() {
		return "", fmt.Errorf("%.40q is not a number of seconds", fmt.Sprint(v))
	}
	return text(job.FormatDuration(time.Duration(n * float64(time.Second)))), nil
}

// sized returns a function that reads a size in this unit.
func sized(unit string) func(any) (string, error) {
	return func(v any) (string, error) {
		n, err := readNumber(v)
		if err != nil {
			return "", err
		}
		size := strconv.FormatFloat(n, 'f', -1, 64) + unit
		if _, err := job.ParseSize(size); err != nil {
			return "", err
		}
		return text(size), nil
	}
}

// readPercent reads a threshold between 0 and 1.
func readPercent(v any) (string, error) {
	n, err := readNumber(v)
	if err != nil || n <= 0 || n > 1 {
		return "", fmt.Errorf("%.40q is not a threshold from 0 to 1", fmt.Sprint(v))
	}
	return strconv.Itoa(max(1, int(math.Round(n*100)))), nil
}

// readGPUs reads a list of GPUs.
func readGPUs(v any) (string, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return "", fmt.Errorf("%.40q is not a list of GPUs", fmt.Sprint(v))
	}
	var out []string
	for _, item := range list {
		n, err := readWhole(item)
		if err != nil {
			return "", err
		}
		if _, err := job.ParseGPUList(n); err != nil {
			return "", err
		}
		out = append(out, n)
	}
	return "[" + strings.Join(out, ", ") + "]", nil
}

// firstGPUs reads a number n and returns the list of the first n GPUs.
func firstGPUs(v any) (string, error) {
	n, err := readNumber(v)
	if err != nil || n < 1 || n > 64 || n != math.Trunc(n) {
		return "", fmt.Errorf("%.40q is not a number of GPUs", fmt.Sprint(v))
	}
	var list []any
	for i := range int(n) {
		list = append(list, i)
	}
	return readGPUs(list)
}

// readPaths reads a list of directories. A list with / allows all paths and becomes "".
func readPaths(v any) (string, error) {
	list, ok := v.([]any)
	if !ok {
		return "", fmt.Errorf("%.40q is not a list of paths", fmt.Sprint(v))
	}
	var out []string
	for _, item := range list {
		path, ok := item.(string)
		if !ok || !strings.HasPrefix(path, "/") {
			return "", fmt.Errorf("%.40q is not an absolute path", fmt.Sprint(item))
		}
		if path = strings.TrimRight(path, "/"); path == "" {
			return "", nil
		}
		out = append(out, text(path))
	}
	return "[" + strings.Join(out, ", ") + "]", nil
}

// readLevel reads a log level as Python or Slurm writes it.
func readLevel(v any) (string, error) {
	switch strings.ToLower(fmt.Sprint(v)) {
	case "debug", "debug2", "debug3", "debug4", "debug5", "verbose":
		return text("debug"), nil
	case "info":
		return text("info"), nil
	case "warning", "warn":
		return text("warn"), nil
	case "error", "critical", "fatal", "quiet":
		return text("error"), nil
	}
	return "", fmt.Errorf("%.40q is not a level", fmt.Sprint(v))
}

// slurmTime reads a time in slurm.conf. A bare number is in minutes.
func slurmTime(v any) (string, error) {
	s := fmt.Sprint(v)
	if strings.EqualFold(s, "UNLIMITED") || strings.EqualFold(s, "INFINITE") || strings.EqualFold(s, "NONE") {
		return "", nil
	}
	d, err := slurm.Minutes(s)
	if err != nil {
		return "", err
	}
	if d > job.MaxDuration {
		return "", fmt.Errorf("%.40q is more than 10 years", s)
	}
	return text(job.FormatDuration(d)), nil
}

// slurmOn reads 0 or 1.
func slurmOn(v any) (string, error) {
	switch fmt.Sprint(v) {
	case "1":
		return "true", nil
	case "0":
		return "false", nil
	}
	return "", fmt.Errorf("%.40q is not 0 or 1", fmt.Sprint(v))
}

// order reads the scheduling policy.
func order(v any) (string, error) {
	switch strings.ToLower(fmt.Sprint(v)) {
	case "priority/basic":
		return text("fifo"), nil
	case "priority/multifactor":
		return text("fair"), nil
	}
	return "", fmt.Errorf("%.40q is not an order", fmt.Sprint(v))
}
