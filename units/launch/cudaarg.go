package launch

import (
	"strconv"
	"strings"
)

// withCUDA returns the command with --cuda followed by the job's GPUs: each --cuda
// that is there gets them for its value, and where there is none it is added at the
// end. What is inside of an argument, such as a line for a shell, is not looked at.
func withCUDA(s *Spec, filterActive bool) []string {
	if !s.Setup.CUDAArg || len(s.GPUs) == 0 {
		return s.Argv
	}
	const flag = "--cuda"
	ids := strings.Join(gpuNumbers(s, filterActive), ",")
	out := make([]string, 0, len(s.Argv)+2)
	found := false
	for i := 0; i < len(s.Argv); i++ {
		arg := s.Argv[i]
		switch {
		case i > 0 && arg == flag:
			out, found = append(out, flag, ids), true
			if i+1 < len(s.Argv) && isValue(s.Argv[i+1]) {
				i++
			}
		case i > 0 && strings.HasPrefix(arg, flag+"="):
			out, found = append(out, flag+"="+ids), true
		default:
			out = append(out, arg)
		}
	}
	if !found {
		out = append(out, flag, ids)
	}
	return out
}

// isValue tells the value of an option from the next option; -1 is a value.
func isValue(arg string) bool {
	if _, err := strconv.Atoi(arg); err == nil {
		return true
	}
	return !strings.HasPrefix(arg, "-")
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
