package launch

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/units/contract"
)

// rendezvousOf returns the variables of a job with this environment. The used ports are in use, and
// all others are free.
func rendezvousOf(id int64, env []string, used ...int) []string {
	s := &Spec{JobID: id, Program: contract.Program{EnvMode: contract.EnvInherit, Env: env}}
	e := environmentOf(s, true, nil)
	e.rendezvous(s, func(port int) bool { return !slices.Contains(used, port) })
	return e.entries
}

// Concurrent jobs meet at different ports, even if a port is in use. If the submitter set a port,
// it stays, unless it is that of an outer job.
func TestRendezvous(t *testing.T) {
	for _, c := range []struct {
		id    int64
		env   []string
		taken []int
		want  map[string]string
	}{
		{7, nil, nil, map[string]string{"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "20007", "PET_MASTER_PORT": "20007"}},
		{2507, nil, nil, map[string]string{"MASTER_PORT": "20007"}},
		{7, nil, []int{20007, 22507}, map[string]string{"MASTER_PORT": "25007", "PET_MASTER_PORT": "25007"}},
		{7, nil, []int{20007, 22507, 25007, 27507}, map[string]string{"MASTER_PORT": "20008", "PET_MASTER_PORT": "20008", "GPUSCHED_MASTER_PORT": "20008"}},
		{7, []string{"GPUSCHED_JOB_ID=3", "GPUSCHED_MASTER_PORT=20004", "MASTER_PORT=20004", "PET_MASTER_PORT=20004"}, nil,
			map[string]string{"MASTER_PORT": "20007", "PET_MASTER_PORT": "20007", "GPUSCHED_MASTER_PORT": "(unset)"}},
		{7, []string{"MASTER_PORT=29500", "MASTER_ADDR=node7"}, nil, map[string]string{"MASTER_ADDR": "node7", "MASTER_PORT": "29500", "PET_MASTER_PORT": "(unset)"}},
		{7, []string{"PET_MASTER_PORT=1234"}, nil, map[string]string{"MASTER_PORT": "20007", "PET_MASTER_PORT": "1234"}},
		{7, []string{"GPUSCHED_JOB_ID=3", "MASTER_PORT=20003", "PET_MASTER_PORT=20003", "SLURM_JOB_ID=3"}, nil,
			map[string]string{"MASTER_PORT": "20007", "PET_MASTER_PORT": "20007", "SLURM_JOB_ID": "(unset)"}},
		{7, []string{"GPUSCHED_JOB_ID=3", "MASTER_PORT=29500"}, nil, map[string]string{"MASTER_PORT": "29500"}},
		{7, []string{"SLURM_JOB_ID=3"}, nil, map[string]string{"SLURM_JOB_ID": "3"}},
	} {
		expect(t, slices.DeleteFunc(rendezvousOf(c.id, c.env, c.taken...), func(kv string) bool { return kv == "" }), c.want)
	}
}

// A job starts, and says which port it has, even if somebody takes all of its own ports, or all
// ports there are.
func TestPortsTaken(t *testing.T) {
	own := portsOf(9_999)
	for _, c := range []struct {
		free func(int) bool
		port int
		say  string
	}{
		{func(port int) bool { return !slices.Contains(own, port) }, 22500, "MASTER_PORT is 22500"},
		{func(port int) bool { return port == own[0]-1 }, own[0] - 1, fmt.Sprintf("MASTER_PORT is %d", own[0]-1)},
		{func(int) bool { return false }, own[0], "nobody can listen"},
	} {
		e := &environment{index: map[string]int{}}
		if got := e.choosePort(9_999, c.free); got != c.port || len(e.say) != 1 || !strings.Contains(e.say[0], c.say) {
			t.Errorf("%d, %q, want %d, %s", got, e.say, c.port, c.say)
		}
	}
}

// A port on which somebody listens is not free, whatever the address.
func TestPortFree(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			if address == "[::1]:0" {
				continue // a machine without IPv6
			}
			t.Fatal(err)
		}
		_, text, _ := net.SplitHostPort(l.Addr().String())
		port, _ := strconv.Atoi(text)
		if portFree(port) {
			t.Errorf("%s is free", l.Addr())
		}
		if l.Close(); !portFree(port) {
			t.Errorf("%s is taken", l.Addr())
		}
	}
}

// Every --cuda of the command gets the job's GPUs; if there is none, the option is appended. The
// command is unchanged if the job has no GPUs or does not ask for --cuda.
func TestCUDAArg(t *testing.T) {
	gpus := []contract.GPU{{Index: 2, UUID: "GPU-c"}, {Index: 5, UUID: "GPU-f"}}
	for _, c := range []struct{ argv, want []string }{
		{[]string{"python", "t.py"}, []string{"python", "t.py", "--cuda", "0,1"}},
		{[]string{"python", "t.py", "--cuda", "7", "--llm", "x"}, []string{"python", "t.py", "--cuda", "0,1", "--llm", "x"}},
		{[]string{"python", "t.py", "--cuda=7", "--cudax"}, []string{"python", "t.py", "--cuda=0,1", "--cudax"}},
		{[]string{"t", "--cuda", "--llm", "x"}, []string{"t", "--cuda", "0,1", "--llm", "x"}},
		{[]string{"t", "--cuda", "-1", "--cuda"}, []string{"t", "--cuda", "0,1", "--cuda", "0,1"}},
		{[]string{"--cuda"}, []string{"--cuda", "--cuda", "0,1"}},
		{[]string{"sh", "-c", "x --cuda 3"}, []string{"sh", "-c", "x --cuda 3", "--cuda", "0,1"}},
	} {
		s := &Spec{Program: contract.Program{Argv: c.argv, Setup: contract.Setup{CUDAArg: true}}, GPUs: gpus, Visible: VisibleUUID}
		if got := withCUDA(s, true); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q", c.argv, got)
		}
	}
	s := &Spec{Program: contract.Program{Argv: []string{"t"}, Setup: contract.Setup{CUDAArg: true}}, GPUs: gpus}
	if got := withCUDA(s, false); !slices.Equal(got, []string{"t", "--cuda", "2,5"}) {
		t.Errorf("without the filter: %q", got)
	}
	if s.GPUs = nil; len(withCUDA(s, true)) != 1 {
		t.Error("a job without GPUs")
	}
	if s.GPUs, s.Setup.CUDAArg = gpus, false; len(withCUDA(s, true)) != 1 {
		t.Error("a job that did not ask")
	}
}

// --cuda arrives as an argument, with a set-up or without.
func TestCUDAArgArrives(t *testing.T) {
	for _, setup := range []string{"", "true"} {
		s := reporter(t)
		s.Setup = contract.Setup{CUDAArg: true, Command: setup}
		s.GPUs = []contract.GPU{{Index: 6, Minor: 3, UUID: "GPU-a"}}
		s.Variables = []string{"SLURM_JOB_ID=42", "SLURM_JOB_NAME=a b\n"}
		r := launch(t, "filtered", s).received(t)
		if argv := texts(r.Argv); !slices.Equal(argv[2:], []string{"--cuda", "0"}) {
			t.Errorf("%q: %q", setup, argv)
		}
		expect(t, texts(r.Env), map[string]string{"SLURM_JOB_ID": "42", "SLURM_JOB_NAME": "a b\n", "MASTER_ADDR": "127.0.0.1"})
	}
}
