package gpu

import "slices"

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

// problems are what is said of each: in a few words, and in whole sentences what is
// wrong, why, and what to do next.
func problems() []problemText {
	return []problemText{
		{ProblemLibraryMissing, "the driver's library is not there",
			"The NVIDIA management library libnvidia-ml.so.1 cannot be loaded, so no GPU is known: " +
				"the driver's user-space part is not installed here. " +
				"Install the driver (Debian: libnvidia-ml1 or nvidia-driver) and run nvidia-smi; gpusched looks again by itself."},
		{ProblemDriverMissing, "the driver is not loaded",
			"The NVIDIA kernel module is not loaded, so no GPU is known: it was not built for this kernel, or it was unloaded. " +
				"Try \"modprobe nvidia\" and look at \"dmesg | grep -i nvrm\"; gpusched looks again by itself."},
		{ProblemInitFailed, "the driver refuses to start",
			"The NVIDIA driver refuses to start its management library, so no GPU is known: " +
				"often the driver was upgraded while the old kernel module is still loaded. " +
				"Run nvidia-smi to see its message, then reload the nvidia module or reboot; gpusched looks again by itself."},
		{ProblemUnsupported, "the driver is too old",
			"The NVIDIA management library lacks calls that gpusched needs, so no GPU is known: the driver is too old. " +
				"Install driver 470 or newer (\"gpusched-nvml --census\" lists what is missing)."},
		{ProblemStale, "the driver does not answer",
			"The program that asks the NVIDIA driver gives no answer, so nobody knows what is free on the GPUs: " +
				"a call into the driver hangs, mostly because of a sick GPU, or the program can't run here. " +
				"Look at \"dmesg | grep -i nvrm\" for Xid lines; running jobs are left alone and placements go on when it answers again."},
	}
}

type problemText struct {
	problem         Problem
	short, sentence string
}

// Problems lists every Problem but ProblemNone.
func Problems() []Problem {
	var list []Problem
	for _, t := range problems() {
		list = append(list, t.problem)
	}
	return list
}

// Sentence says to people what is wrong, why, and what to do next. It is ""
// for ProblemNone.
func (p Problem) Sentence() string {
	if t := p.text(); t.sentence != "" || p == ProblemNone {
		return t.sentence
	}
	return "The GPUs cannot be read for a reason that this version does not know (" + printable(string(p), maxWord) +
		"); " +
		"look at the journal of gpusched.service."
}

// Short says in a few words why nothing is known of a GPU.
func (p Problem) Short() string { return p.text().short }

func (p Problem) text() problemText {
	all := problems()
	at := slices.IndexFunc(all, func(t problemText) bool { return t.problem == p })
	if at < 0 {
		return problemText{}
	}
	return all[at]
}

func (p Problem) known() bool { return p == ProblemNone || slices.Contains(Problems(), p) }
