package gpu

import (
	"fmt"
	"strconv"
	"strings"
)

// Bounds on Device.CPUs.
const (
	MaxCPUsBytes = 4096
	MaxCPU       = 1<<16 - 1 // the highest number of a CPU
)

// CheckCPUs returns what is wrong with a value of Device.CPUs, which is "" or
// what the kernel writes as a list of CPUs: numbers and ranges with commas
// between, ascending, none twice.
func CheckCPUs(list string) error {
	if list == "" {
		return nil
	}
	if len(list) > MaxCPUsBytes {
		return fmt.Errorf("list of cpus of %d bytes, at most %d", len(list), MaxCPUsBytes)
	}
	next := 0
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err := cpuNumber(low)
		if err != nil {
			return err
		}
		to, err := cpuNumber(high)
		if err != nil {
			return err
		}
		if from < next || to < from {
			return fmt.Errorf("list of cpus: %q out of order", printable(part, maxWord))
		}
		next = to + 1
	}
	return nil
}

// cpuNumber reads digits only: a sign or a space is no number of a CPU.
func cpuNumber(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n > MaxCPU {
		return 0, fmt.Errorf("list of cpus: %q is not the number of a cpu", printable(s, maxWord))
	}
	return int(n), nil
}
