package main

import (
	"context"
	"errors"
	"os/exec"
	"os/user"
	"strconv"
)

// The names of what is compared with Slurm's own programs, where Slurm is the engine.
const (
	onSlurm     = "submit --on slurm"
	overSbatch  = "submit --on slurm, over Slurm's sbatch"
	oneSbatch   = "Slurm's sbatch, one"
	listOnSlurm = "list --on slurm"
	listOfOne   = "list --on slurm --mine -o ids"
	plainSqueue = "Slurm's squeue"
)

// usingSlurm measures the command line with Slurm as its engine, beside Slurm's own programs: a submission, and the
// list of so many jobs that wait.
func (b *rig) usingSlurm(ctx context.Context, rounds, queued int) error {
	p, err := b.findPeers(ctx)
	if err != nil {
		return err
	}
	defer p.end()
	if !p.slurm {
		return errors.New("there is no Slurm here to be the engine")
	}
	q := b.slurms()
	if err := q.close(ctx); err != nil {
		return err
	}
	home, err := b.atHome()
	if err != nil {
		return err
	}
	submit, err := b.wholes(ctx, "slurm", rounds, map[string][]string{
		onSlurm:   {"gpusched", "submit", "--on", "slurm", "-q", "-g", "0", "--env", "clean", "--", "true"},
		oneSbatch: {"sbatch", "-Q", "-n1", "-o", "/dev/null", "--wrap", "true"},
	}, home)
	if err != nil {
		return err
	}
	if err := b.manySbatch(ctx, queued-2*rounds); err != nil {
		return err
	}
	list, err := b.wholes(ctx, "slurm", max(rounds/5, 5), map[string][]string{
		in(queued, listOnSlurm): {"gpusched", "list", "--on", "slurm"},
		in(queued, listOfOne):   {"gpusched", "list", "--on", "slurm", "--mine", "-o", "ids"},
		plainSqueue:             {"squeue"},
	}, home)
	if err != nil {
		return err
	}
	for _, r := range submit.rounds {
		r[overSbatch] = r[onSlurm] - r[oneSbatch]
	}
	head()
	b.compare(submit, overSbatch, false, goHello)
	b.compare(submit, onSlurm, false, oneSbatch)
	b.compare(submit, onSlurm+ofItsCPU, false, oneSbatch+ofItsCPU)
	for _, name := range []string{listOnSlurm, listOfOne} {
		b.compare(list, in(queued, name), false, plainSqueue)
		b.compare(list, in(queued, name)+ofItsCPU, false, plainSqueue+ofItsCPU)
	}
	return errors.Join(b.slurmCancel(ctx), q.open(ctx))
}

// ofItsCPU is behind the name of what took a time, for the CPU time of it and of the programs that it ran.
const ofItsCPU = ", CPU"

// wholes measures commands, each a whole process, and a Go hello world in turns: how long they take, and CPU time.
func (b *rig) wholes(
	ctx context.Context, part string, rounds int, commands map[string][]string, set ...func(*exec.Cmd),
) (*board, error) {
	greet, err := hello()
	if err != nil {
		return nil, err
	}
	commands[goHello] = []string{greet}
	t, used := &board{part: part, unit: seconds}, map[string]float64{}
	var all []contender
	for name, argv := range commands {
		all = append(all, contender{name: name, measure: func() (float64, error) {
			wall, cpu, err := b.process(ctx, argv, append(set, b.asSlurm)...)
			used[name+ofItsCPU] = cpu.Seconds()
			return wall.Seconds(), err
		}})
	}
	for range rounds {
		if err := t.turn(all); err != nil {
			return nil, err
		}
		for name, cpu := range used {
			t.add(name, cpu)
		}
	}
	return t, nil
}

// atHome has a command find the submitting account's directory, in which the client keeps what it knows of a Slurm.
func (b *rig) atHome() (func(*exec.Cmd), error) {
	who, err := user.LookupId(strconv.Itoa(b.uid))
	if err != nil {
		return nil, err
	}
	return func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Environ(), "HOME="+who.HomeDir, "USER="+who.Username)
	}, nil
}

// sbatches is how many of Slurm's sbatch fill its queue at once.
const sbatches = 4

// manySbatch has so many jobs wait in Slurm, each of which is one of its own.
func (b *rig) manySbatch(ctx context.Context, n int) error {
	return atOnce(sbatches, sbatches, func(int) error {
		_, _, err := b.loop(ctx, n/sbatches, b.slurms().line, b.asSlurm)
		return err
	})
}
