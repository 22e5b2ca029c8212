package server

import (
	"errors"
	"math"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// kernel plays the kernel: the status texts are used up one per question.
type kernel struct {
	texts []string
	fail  bool
}

func (k *kernel) status(int) (string, error) {
	if len(k.texts) == 0 {
		return "", os.ErrNotExist
	}
	text := k.texts[0]
	k.texts = k.texts[1:]
	return text, nil
}

func (k *kernel) limit(_, resource int) (unix.Rlimit, error) {
	if k.fail {
		return unix.Rlimit{}, errors.New("no permission")
	}
	return unix.Rlimit{Cur: uint64(resource), Max: math.MaxUint64}, nil
}

func uids(text string) string { return "Name:\tx\nUid:\t" + text + "\nGid:\t5 5 5 5\n" }

// Invariant 2: limits are the submitter's or none.
func TestLimitsAreTheSubmittersOrNone(t *testing.T) {
	mine := uids("1001\t1001\t1001\t1001")
	for name, c := range map[string]struct {
		pid  int
		k    kernel
		want int
	}{
		"own process":                  {7, kernel{texts: []string{mine, mine}}, 16},
		"another namespace, no number": {0, kernel{texts: []string{mine, mine}}, 0},
		"already gone":                 {7, kernel{}, 0},
		"gone while reading":           {7, kernel{texts: []string{mine}}, 0},
		"number passed to root before": {7, kernel{texts: []string{uids("0\t0\t0\t0"), mine}}, 0},
		"number passed to root after":  {7, kernel{texts: []string{mine, uids("0\t0\t0\t0")}}, 0},
		"in the middle of su":          {7, kernel{texts: []string{uids("1001\t0\t0\t0"), mine}}, 0},
		"saved uid of another":         {7, kernel{texts: []string{uids("1001\t1001\t0\t1001"), mine}}, 0},
		"short line":                   {7, kernel{texts: []string{uids("1001"), mine}}, 0},
		"no line":                      {7, kernel{texts: []string{"Name:\tx\n", mine}}, 0},
		"not permitted":                {7, kernel{texts: []string{mine, mine}, fail: true}, 0},
	} {
		got := limitsOf(&c.k, c.pid, 1001)
		if len(got) != c.want {
			t.Errorf("%s: %d limits, want %d", name, len(got), c.want)
		}
		if len(got) > 0 && (got[7].Name != "NOFILE" || got[7].Soft != 7 || got[7].Hard != math.MaxUint64) {
			t.Errorf("%s: limit 7 is %+v", name, got[7])
		}
	}
}

func TestLimitsOfThisProcess(t *testing.T) {
	var want unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &want); err != nil {
		t.Fatal(err)
	}
	for _, l := range limitsOf(procLimits{}, os.Getpid(), os.Getuid()) {
		if l.Name == "MEMLOCK" {
			if l.Soft != want.Cur || l.Hard != want.Max {
				t.Errorf("%+v, want %+v", l, want)
			}
			return
		}
	}
	t.Error("no MEMLOCK among the limits of this process")
}
