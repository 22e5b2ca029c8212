package launch

import (
	"strconv"
	"strings"
)

// withCUDA returns the command, with the job's GPUs as the value of --cuda if the job has any and
// asks for that.
func withCUDA(s *Spec, filterActive bool) []string {
	if len(s.GPUs) == 0 {
		return s.Argv
	}
	return s.Setup.WithCUDA(s.Argv, strings.Join(gpuNumbers(s, filterActive), ","))
}

// gpuNumbers returns the job's GPUs as CUDA numbers them: behind an active filter it sees only them
// and counts from 0; without one it uses the machine's numbers.
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
