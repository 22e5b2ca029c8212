package gpu

// Problem is why a Snapshot knows no devices; a closed list.
type Problem string

const (
	ProblemNone           Problem = ""
	ProblemLibraryMissing Problem = "library-missing" // libnvidia-ml.so.1 cannot be loaded
	ProblemDriverMissing  Problem = "driver-missing"  // the library is there, the kernel module is not
	ProblemInitFailed     Problem = "init-failed"     // the driver refuses to talk to us
	ProblemUnsupported    Problem = "unsupported"     // too old, or the library lacks a call we cannot do without
	ProblemStale          Problem = "stale"           // no answer in time: nobody knows
)

// Problems lists every Problem but ProblemNone.
func Problems() []Problem {
	return []Problem{ProblemLibraryMissing, ProblemDriverMissing, ProblemInitFailed, ProblemUnsupported, ProblemStale}
}

// Sentence says to people what is wrong, why, and what to do next. It is ""
// for ProblemNone.
func (p Problem) Sentence() string {
	switch p {
	case ProblemNone:
		return ""
	case ProblemLibraryMissing:
		return "The NVIDIA management library libnvidia-ml.so.1 cannot be loaded, so no GPU is known: the driver's user-space part is not installed here. " +
			"Install the driver (Debian: libnvidia-ml1 or nvidia-driver) and run nvidia-smi; gpusched looks again by itself."
	case ProblemDriverMissing:
		return "The NVIDIA kernel module is not loaded, so no GPU is known: it was not built for this kernel, or it was unloaded. " +
			"Try \"modprobe nvidia\" and look at \"dmesg | grep -i nvrm\"; gpusched looks again by itself."
	case ProblemInitFailed:
		return "The NVIDIA driver refuses to start its management library, so no GPU is known: often the driver was upgraded while the old kernel module is still loaded. " +
			"Run nvidia-smi to see its message, then reload the nvidia module or reboot; gpusched looks again by itself."
	case ProblemUnsupported:
		return "The NVIDIA management library lacks calls that gpusched needs, so no GPU is known: the driver is too old. " +
			"Install driver 470 or newer (\"gpusched-nvml --census\" lists what is missing)."
	case ProblemStale:
		return "The program that asks the NVIDIA driver gives no answer, so nobody knows what is free on the GPUs: a call into the driver hangs, mostly because of a sick GPU, or the program can't run here. " +
			"Look at \"dmesg | grep -i nvrm\" for Xid lines; running jobs are left alone and placements go on when it answers again."
	default:
		return "The GPUs cannot be read for a reason that this version does not know (" + printable(string(p), maxWord) + "); look at the journal of gpusched.service."
	}
}

// Short says in a few words why nothing is known of a GPU.
func (p Problem) Short() string {
	switch p {
	case ProblemLibraryMissing:
		return "the driver's library is not there"
	case ProblemDriverMissing:
		return "the driver is not loaded"
	case ProblemInitFailed:
		return "the driver refuses to start"
	case ProblemUnsupported:
		return "the driver is too old"
	case ProblemStale:
		return "the driver does not answer"
	}
	return ""
}

func (p Problem) known() bool {
	if p == ProblemNone {
		return true
	}
	for _, q := range Problems() {
		if p == q {
			return true
		}
	}
	return false
}
