package server

import (
	"math"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// twoLimits is the head of /proc/PID/limits and two of its rows, from Linux 6.1.
const twoLimits = `Limit                     Soft Limit           Hard Limit           Units     
Max open files            1024                 524288               files     
Max locked memory         8388608              unlimited            bytes     
Max new thing             1                    2                    
Max nice priority         x                    0                    
short
`

func TestParseLimits(t *testing.T) {
	want := []contract.Limit{{Name: "NOFILE", Soft: 1024, Hard: 524288}, {Name: "MEMLOCK", Soft: 8388608, Hard: math.MaxUint64}}
	got := parseLimits(twoLimits)
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v, want %v", got, want)
	}
}

// limitNames has every limit of this kernel, with the kernel's number.
func TestLimitsOfThisProcess(t *testing.T) {
	resources := map[string]int{
		"CPU": unix.RLIMIT_CPU, "FSIZE": unix.RLIMIT_FSIZE, "DATA": unix.RLIMIT_DATA, "STACK": unix.RLIMIT_STACK,
		"CORE": unix.RLIMIT_CORE, "RSS": unix.RLIMIT_RSS, "NPROC": unix.RLIMIT_NPROC, "NOFILE": unix.RLIMIT_NOFILE,
		"MEMLOCK": unix.RLIMIT_MEMLOCK, "AS": unix.RLIMIT_AS, "LOCKS": unix.RLIMIT_LOCKS,
		"SIGPENDING": unix.RLIMIT_SIGPENDING, "MSGQUEUE": unix.RLIMIT_MSGQUEUE, "NICE": unix.RLIMIT_NICE,
		"RTPRIO": unix.RLIMIT_RTPRIO, "RTTIME": unix.RLIMIT_RTTIME,
	}
	p, err := newProcessOf()(thisPeer())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range p.limits {
		var want unix.Rlimit
		if err := unix.Getrlimit(resources[l.Name], &want); err != nil {
			t.Fatal(err)
		}
		if l.Soft != want.Cur || l.Hard != want.Max {
			t.Errorf("%s is %d and %d, the kernel says %d and %d", l.Name, l.Soft, l.Hard, want.Cur, want.Max)
		}
		delete(resources, l.Name)
	}
	if len(resources) > 0 {
		t.Errorf("these were not read: %v", resources)
	}
}
