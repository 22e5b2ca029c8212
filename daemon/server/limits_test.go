package server

import (
	"math"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/daemon/job"
)

// process plays a process: the status texts are used up one per question.
type process struct {
	statuses []string
	limits   string
}

func (p *process) ReadFile(name string) ([]byte, error) {
	if name == "limits" && p.limits != "" {
		return []byte(p.limits), nil
	}
	if name != "status" || len(p.statuses) == 0 {
		return nil, os.ErrNotExist
	}
	text := p.statuses[0]
	p.statuses = p.statuses[1:]
	return []byte(text), nil
}

func uids(text string) string { return "Name:\tx\nUid:\t" + text + "\nGid:\t5 5 5 5\n" }

// twoLimits is the head of a table of Linux 6.1 and two of its rows.
const twoLimits = `Limit                     Soft Limit           Hard Limit           Units     
Max open files            1024                 524288               files     
Max locked memory         8388608              unlimited            bytes     
Max new thing             1                    2                    
Max nice priority         x                    0                    
short
`

// Invariant 2: limits are the submitter's or none.
func TestLimitsAreTheSubmittersOrNone(t *testing.T) {
	mine := uids("1001\t1001\t1001\t1001")
	for name, c := range map[string]struct {
		p    process
		want int
	}{
		"own process":                  {process{[]string{mine, mine}, twoLimits}, 2},
		"already gone":                 {process{nil, twoLimits}, 0},
		"gone while reading":           {process{[]string{mine}, twoLimits}, 0},
		"number passed to root before": {process{[]string{uids("0\t0\t0\t0"), mine}, twoLimits}, 0},
		"became root meanwhile":        {process{[]string{mine, uids("0\t0\t0\t0")}, twoLimits}, 0},
		"in the middle of su":          {process{[]string{uids("1001\t0\t0\t0"), mine}, twoLimits}, 0},
		"saved uid of another":         {process{[]string{uids("1001\t1001\t0\t1001"), mine}, twoLimits}, 0},
		"short line":                   {process{[]string{uids("1001"), mine}, twoLimits}, 0},
		"no line":                      {process{[]string{"Name:\tx\n", mine}, twoLimits}, 0},
		"no limits":                    {process{[]string{mine, mine}, ""}, 0},
	} {
		if got := limitsOf(&c.p, 1001); len(got) != c.want {
			t.Errorf("%s: limits %v, want %d", name, got, c.want)
		}
	}
	if limitsOfPeer(0, os.Getuid()) != nil || limitsOfPeer(-1, os.Getuid()) != nil {
		t.Error("a process without a number has limits")
	}
}

func TestParseLimits(t *testing.T) {
	want := []job.Limit{{Name: "NOFILE", Soft: 1024, Hard: 524288}, {Name: "MEMLOCK", Soft: 8388608, Hard: math.MaxUint64}}
	got := parseLimits(twoLimits)
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Every limit of this kernel is known, with the number that the kernel says.
func TestLimitsOfThisProcess(t *testing.T) {
	resources := map[string]int{
		"CPU": unix.RLIMIT_CPU, "FSIZE": unix.RLIMIT_FSIZE, "DATA": unix.RLIMIT_DATA, "STACK": unix.RLIMIT_STACK,
		"CORE": unix.RLIMIT_CORE, "RSS": unix.RLIMIT_RSS, "NPROC": unix.RLIMIT_NPROC, "NOFILE": unix.RLIMIT_NOFILE,
		"MEMLOCK": unix.RLIMIT_MEMLOCK, "AS": unix.RLIMIT_AS, "LOCKS": unix.RLIMIT_LOCKS,
		"SIGPENDING": unix.RLIMIT_SIGPENDING, "MSGQUEUE": unix.RLIMIT_MSGQUEUE, "NICE": unix.RLIMIT_NICE,
		"RTPRIO": unix.RLIMIT_RTPRIO, "RTTIME": unix.RLIMIT_RTTIME,
	}
	for _, l := range limitsOfPeer(os.Getpid(), os.Getuid()) {
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

// A directory that was opened does not follow its number to another process.
func TestLimitsOfAProcessThatIsGone(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if len(limitsOfPeer(pid, os.Getuid())) == 0 {
		t.Error("a process that lives has no limits")
	}
	cmd.Process.Kill()
	cmd.Wait()
	if got := limitsOfPeer(pid, os.Getuid()); got != nil {
		t.Errorf("a process that is gone has limits %v", got)
	}
}
