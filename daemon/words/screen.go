package words

import (
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// Limits for the parts of a session's name. The session has a socket of this name. Together with
// its directory and the user, the name of the socket has at most 107 bytes.
const (
	maxScreenGPUs = 24
	maxScreenMode = 16
)

// ScreenName returns the name of the GNU screen session of a job's present attempt, or "" if the
// attempt has no session. The name is gpujob_<gpu_ids>_<mode>_<job_id>. The mode is the value of
// the option --mode in the job's command. Without this option, the mode says whether the job has
// whole GPUs, a part of a GPU, or none.
func ScreenName(j *job.Job, argv []string) string {
	if !j.Request.Screen || j.Attempt == nil {
		return ""
	}
	mode := modeOf(argv)
	if mode == "" {
		mode = screenMode(&j.Request)
	}
	return "gpujob_" + screenGPUs(j.Attempt.GPUs) + "_" + mode + "_" + j.Called()
}

func screenMode(r *job.Request) string {
	switch {
	case r.GPUMilli == 0:
		return "cpu"
	case r.Part() > 0:
		return "shared"
	}
	return "whole"
}

// screenGPUs lists the numbers of the GPUs. If there are many, the list has ranges.
func screenGPUs(gpus []job.Allocation) string {
	if len(gpus) == 0 {
		return "none"
	}
	var each, ranges []string
	for i := 0; i < len(gpus); {
		last := i
		for last+1 < len(gpus) && gpus[last+1].Index == gpus[last].Index+1 {
			last++
		}
		word := strconv.Itoa(gpus[i].Index)
		if last > i {
			word += "-" + strconv.Itoa(gpus[last].Index)
		}
		ranges = append(ranges, word)
		for ; i <= last; i++ {
			each = append(each, strconv.Itoa(gpus[i].Index))
		}
	}
	for _, list := range [][]string{each, ranges} {
		if text := strings.Join(list, ","); len(text) <= maxScreenGPUs {
			return text
		}
	}
	return strconv.Itoa(len(gpus)) + "gpus"
}

// modeOf returns the value of the option --mode in a job's command. It keeps only characters that
// the name of a socket can have.
func modeOf(argv []string) string {
	for i, arg := range argv {
		value, found := strings.CutPrefix(arg, "--mode=")
		if arg == "--mode" && i+1 < len(argv) {
			value, found = argv[i+1], true
		}
		if found && value != "" {
			return plainWord(value)
		}
	}
	return ""
}

func plainWord(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, s)
	return s[:min(len(s), maxScreenMode)]
}
