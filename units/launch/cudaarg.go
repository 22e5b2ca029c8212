package launch

import (
	"strconv"
	"strings"
)

// withCUDA returns the command. If the job has GPUs and asks for --cuda, the value of --cuda in the
// command is the list of these GPUs.
func withCUDA(s *Spec, filterActive bool) []string {
	if len(s.GPUs) == 0 {
		return s.Argv
	}
	return s.Setup.WithCUDA(s.Argv, strings.Join(gpuNumbers(s, filterActive), ","))
}

// gpuNumbers returns the numbers that CUDA gives the job's GPUs. Behind an active filter CUDA sees
// only these GPUs and counts them from 0. Without a filter CUDA uses the machine's numbers. With
// and without a filter, it counts slices from 0, because their UUIDs select them.
func gpuNumbers(s *Spec, filterActive bool) []string {
	numbers := make([]string, len(s.GPUs))
	for i, g := range s.GPUs {
		if filterActive || g.IsSlice() {
			numbers[i] = strconv.Itoa(i)
		} else {
			numbers[i] = strconv.Itoa(g.Index)
		}
	}
	return numbers
}
