package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/packaging/test/await"
)

// The names of what is compared with 10 000 and with 100 000 jobs in the queue.
const (
	ofIDs    = "list -o ids"
	ofKill   = "kill -9 to all known again"
	ofCancel = "cancel --all"
	ofMemory = "memory of the daemon"
	ofGrowth = "memory of the daemon right after the submissions"
	squeue   = "Slurm's squeue -r"
	hashing  = "hashing 64 MiB"
	oneMiB   = "1 MiB"
)

// in is a figure with so many jobs in the queue.
func in(queued int, figure string) string {
	return fmt.Sprintf("%s, %d 000 queued", figure, queued/1000)
}

// listing measures what people ask of a queue of 10 000.
func (b *rig) listing(ctx context.Context, rounds, queued int) error {
	return b.withQueue(ctx, queued, func(string, *board) error {
		p, err := b.findPeers(ctx)
		if err != nil {
			return err
		}
		defer p.end()
		commands := map[string][]string{in(queued, ofIDs): {"gpusched", "list", "-o", "ids"}}
		against := []string{goHello, squeue}
		if p.slurm {
			if err := b.slurmQueue(ctx, queued); err != nil {
				return err
			}
			commands[squeue] = []string{"squeue", "-h", "-r", "-o", "%i"}
		}
		t, err := b.asked(ctx, "queue", rounds, commands)
		if err != nil {
			return err
		}
		head()
		b.compare(t, in(queued, ofIDs), false, against...)
		return nil
	})
}

// slurmQueue has so many tasks of one array wait in Slurm.
func (b *rig) slurmQueue(ctx context.Context, queued int) error {
	if err := b.slurms().close(ctx); err != nil {
		return err
	}
	_, err := await.Output(ctx, b.limits.command, []string{"sbatch", "-Q", "-n1", "-o", "/dev/null",
		fmt.Sprintf("--array=0-%d", queued-1), "--wrap", "true"}, b.account, b.asSlurm)
	return err
}

// longQueue measures the daemon with 100 000 jobs in the queue.
func (b *rig) longQueue(ctx context.Context, rounds, queued int) error {
	return b.withQueue(ctx, queued, func(last string, memory *board) error {
		commands := map[string][]string{}
		for _, words := range []string{"list", "status", "show " + last, "why " + last} {
			what, _, _ := strings.Cut(words, " "+last)
			commands[in(queued, what)] = append([]string{"gpusched"}, strings.Fields(words)...)
		}
		t, err := b.asked(ctx, "scale", rounds, commands)
		if err != nil {
			return err
		}
		head()
		b.compare(memory, in(queued, ofMemory), false, oneMiB)
		b.compare(memory, in(queued, ofGrowth), false, oneMiB)
		for _, name := range t.names() {
			if name != goHello {
				b.compare(t, name, false, goHello)
			}
		}
		if err := b.killings(ctx, queued); err != nil {
			return err
		}
		return b.cancelled(ctx, queued)
	})
}

// withQueue measures while four jobs run and so many wait, of which last is the last. The queue stays, for a part that
// needs a longer one.
func (b *rig) withQueue(ctx context.Context, queued int, measure func(last string, memory *board) error) error {
	if err := b.configure(ctx); err != nil {
		return err
	}
	defer os.Remove(scaleFile)
	if err := b.fillTo(ctx, "running", gpuCount, "sleep", "100000"); err != nil {
		return err
	}
	if err := b.fillTo(ctx, "queued", queued, "true"); err != nil {
		return err
	}
	memory, err := b.remembered(ctx, queued) // before anybody has listed them
	if err != nil {
		return err
	}
	last, err := b.lastJob(ctx)
	if err != nil {
		return err
	}
	return measure(last, memory)
}

// fillTo submits jobs until so many are in a state.
func (b *rig) fillTo(ctx context.Context, state string, n int, argv ...string) error {
	b.filled = true
	asking, stop := await.For(ctx, "the daemon's count of its jobs", b.limits.begin)
	defer stop()
	s, err := b.client().Status(asking)
	if err != nil {
		return await.Cause(asking, err)
	}
	if more := n - s.Counts[state]; more > 0 {
		rate, err := b.submitOverSocket(ctx, more, 1000, argv...)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "bench: %d jobs queued, %.0f per second\n", more, rate)
	}
	return b.counted(ctx, state, n)
}

// lastJob is the id of the last job in the list.
func (b *rig) lastJob(ctx context.Context) (string, error) {
	ctx, stop := await.For(ctx, "the list of all jobs", b.limits.begin)
	defer stop()
	every, err := b.client().List(ctx, api.ListQuery{Names: true})
	if err != nil {
		return "", await.Cause(ctx, err)
	}
	if len(every.Jobs) == 0 {
		return "", errors.New("no job is there")
	}
	return every.Jobs[len(every.Jobs)-1].ID.String(), nil
}

// asked measures commands, each a whole process, in turns with a Go hello world.
func (b *rig) asked(ctx context.Context, part string, rounds int, commands map[string][]string) (*board, error) {
	greet, err := hello()
	if err != nil {
		return nil, err
	}
	commands[goHello] = []string{greet}
	var all []contender
	for name, argv := range commands {
		all = append(all, contender{name: name, measure: func() (float64, error) {
			d, _, err := b.process(ctx, argv, b.asSlurm)
			return d.Seconds(), err
		}})
	}
	t := &board{part: part, unit: seconds}
	return t, t.take(rounds, all)
}

// restTime is when the daemon has given back what the submissions needed: it looks for that every ten seconds.
const restTime = 13 * time.Second

// remembered is the daemon's memory, once right after the submissions and once at rest.
func (b *rig) remembered(ctx context.Context, queued int) (*board, error) {
	t := &board{part: "scale", unit: mebibytes}
	t.round()
	t.add(oneMiB, 1)
	for _, figure := range []string{ofGrowth, ofMemory} {
		if figure == ofMemory {
			if err := pause(ctx, restTime); err != nil {
				return nil, err
			}
		}
		pid, err := mainPID(ctx)
		if err != nil {
			return nil, err
		}
		bytes, err := resident(pid)
		if err != nil {
			return nil, err
		}
		t.add(in(queued, figure), float64(bytes)/(1<<20))
	}
	return t, nil
}

// killRounds is how often the daemon is killed.
const killRounds = 5

// killings measures from kill -9 of the daemon until it counts all jobs again, in turns with hashing.
func (b *rig) killings(ctx context.Context, queued int) error {
	t := &board{part: "scale", unit: seconds}
	all := []contender{
		{name: hashing, measure: hashed},
		{name: in(queued, ofKill), measure: func() (float64, error) {
			d, err := b.killOnce(ctx, queued)
			return d.Seconds(), err
		}},
	}
	if err := t.take(killRounds, all); err != nil {
		return err
	}
	b.compare(t, in(queued, ofKill), false, hashing)
	return nil
}

func (b *rig) killOnce(ctx context.Context, queued int) (time.Duration, error) {
	text, err := mainPID(ctx)
	if err != nil {
		return 0, err
	}
	pid := 0
	if _, err := fmt.Sscan(text, &pid); err != nil {
		return 0, err
	}
	from := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return 0, err
	}
	err = b.countedWithin(ctx, b.limits.command, "queued", queued)
	return time.Since(from), err
}

// cancelLimit is for how long all jobs may be cancelled; what takes longer has no row.
const cancelLimit = 40 * time.Second

// cancelled measures the cancel of all jobs, once, beside hashing.
func (b *rig) cancelled(ctx context.Context, queued int) error {
	t := &board{part: "scale", unit: seconds}
	t.round()
	work, err := hashed()
	if err != nil {
		return err
	}
	t.add(hashing, work)
	from := time.Now()
	_, err = await.Output(ctx, cancelLimit, []string{"gpusched", "cancel", "--all", "-y"}, func(cmd *exec.Cmd) { cmd.Stdout = nil })
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		b.filled = false // to try again would take as long
		fmt.Printf("| %s | more than %s | %s | %s | | | 1 |\n", in(queued, ofCancel), cancelLimit, hashing, t.show(hashing))
		return nil
	}
	if err != nil {
		return err
	}
	if err := b.counted(ctx, "queued", 0); err != nil {
		return err
	}
	b.filled = false
	t.took(in(queued, ofCancel), time.Since(from))
	b.compare(t, in(queued, ofCancel), false, hashing)
	return nil
}

// hashed is how long this machine takes for a work that is always the same, in seconds: what the daemon does in a
// second or more is compared with it.
func hashed() (float64, error) {
	piece, from := make([]byte, 1<<20), time.Now()
	h := sha256.New()
	for range 64 {
		_, _ = h.Write(piece)
	}
	_ = h.Sum(nil)
	return time.Since(from).Seconds(), nil
}

// emptied cancels all jobs, for what is measured next; what takes too long for that is said.
func (b *rig) emptied(ctx context.Context) error {
	_, err := await.Output(ctx, cancelLimit, []string{"gpusched", "cancel", "--all", "-y"})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return nil
	}
	return err
}

// submitOne is a submission over the socket, held, until it is on disk.
func (b *rig) submitOne(ctx context.Context) error {
	ctx, stop := await.For(ctx, "a submission to be acknowledged", b.limits.begin)
	defer stop()
	_, err := b.client().Submit(ctx, submission(job.Request{Hold: true}, "true"))
	return await.Cause(ctx, err)
}
