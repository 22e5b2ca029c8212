package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
	"github.com/gpusched/gpusched/packaging/test/vm"
)

// A step of the demo: what somebody types, and what must come of it.
type step struct {
	user string // "" is root
	line string
	want string // a part of the output
	code int
}

// steps is the demo: two accounts, four GPUs of 80 GiB, and everything that
// the README promises on its first page.
var steps = []step{
	{"", "systemctl is-active gpusched", "active", 0},
	{"alice", "gpusched gpus", "A100", 0},
	{"alice", "gpusched submit -g 2 --gpu-mem 40G --mem 400M -n train -- simcuda --mem 40G --print --hold 600", "job 1 queued", 0},
	{"bob", "gpusched submit -g 1 --mem 400M -n eval -- simcuda --mem 10G --hold 600", "starts on GPU 2", 0},
	{"bob", "gpusched submit -g 2 --mem 400M -n wide -- simcuda --mem 1G", "queued", 0},
	{"bob", "gpusched why 3", "held by job 1", 0},
	{"alice", "gpusched submit -g 0 --mem 100M -n hungry --wait -- simcuda --alloc-host 300M", "memory limit of 100M", 137},
	{"alice", "gpusched status", "train", 0},
	{"alice", "gpusched gpus", "busy", 0},
	{"alice", "journalctl --no-pager -u gpujob-1", "nvidia", 0},
	{"bob", "journalctl --no-pager -q -u gpujob-1 | wc -l", "0", 0},
	{"bob", "gpusched cancel 1", "belongs to alice", 4},
	{"", "systemctl --no-pager status gpujob-1", "gpusched job 1 (train) of alice on GPU 0,1", 0},
	{"", "systemctl restart gpusched && gpusched list", "running", 0},
	{"alice", "gpusched cancel 1 && gpusched wait 1", "cancelled", 143},
	{"bob", "gpusched wait 3", "", 0},
	{"bob", "gpusched list -a", "completed", 0},
}

// demo plays the steps and reports how many came out as they should.
func demo(ctx context.Context, m *vm.Machine) (int, error) {
	failed := 0
	for _, s := range steps {
		// GPUs and memory are told to the scheduler by samples; what a step
		// shows may be a moment old.
		ok, err := s.play(ctx, m)
		if err != nil {
			return 0, err
		}
		if !ok {
			failed++
		}
	}
	fmt.Printf("\ndemo: %d steps, %d as they should be, %d not\n", len(steps), len(steps)-failed, failed)
	if os.Getenv("KEEP") != "" {
		keep(ctx, m)
	}
	if failed > 0 {
		return 1, nil
	}
	return 0, nil
}

// play types one line and prints it with what came back.
func (s step) play(ctx context.Context, m *vm.Machine) (bool, error) {
	prompt := "root#"
	if s.user != "" {
		prompt = s.user + "$"
	}
	fmt.Printf("\n%s %s\n", prompt, s.line)
	ctx, stop := await.For(ctx, "the end of the step "+s.line, 2*time.Minute)
	defer stop()
	r, err := m.Sh(ctx, s.user, s.line+" 2>&1")
	if err != nil {
		return false, err
	}
	fmt.Print(r.Stdout)
	if r.Code == s.code && strings.Contains(r.Stdout, s.want) {
		return true, nil
	}
	fmt.Printf("demo: that should end with status %d and show %q; it ended with %d\n", s.code, s.want, r.Code)
	return false, nil
}

// keep leaves the machine up until we are interrupted.
func keep(ctx context.Context, m *vm.Machine) {
	line := m.SSHCommand()
	if line == "" {
		fmt.Println("\nThe machine stays up; Ctrl-C ends it.")
	} else {
		fmt.Printf("\nThe machine stays up until Ctrl-C. Log in from another terminal by\n  %s\nand become a user by 'su - alice'.\n", line)
	}
	<-ctx.Done()
}
