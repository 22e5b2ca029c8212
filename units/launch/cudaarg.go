package launch

import (
	"strconv"
	"strings"
)

// withCUDA returns the command with the job's GPUs behind --cuda, if it has any.
func withCUDA(s *Spec, filterActive bool) []string {
	if len(s.GPUs) == 0 {
		return s.Argv
	}
	return s.Setup.WithCUDA(s.Argv, strings.Join(gpuNumbers(s, filterActive), ","))
}

// gpuNumbers are the job's GPUs as CUDA counts them: behind an active filter it sees
// them alone and counts from 0; without one the numbers are those of the machine.
func gpuNumbers(s *Spec, filterActive bool) []string {
	numbers := make([]string, len(s.GPUs))
	for i, g := range s.GPUs {
		if filterActive {
			numbers[i] = strconv.Itoa(i)
		} else {
			numbers[i] = strconv.Itoa(g.Index)
		}
	}
	return numbers
}
