package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// The names of what is compared.
const (
	goHello  = "a Go hello world"
	binTrue  = "/bin/true"
	helloExe = "gpusched-bench-hello" // lies beside the bench
)

// hello is the program that the client is compared with.
func hello() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(self), helloExe)
	_, err = os.Stat(path)
	return path, err
}

// process is a whole process of the submitting account: from before its start to its end, and its CPU time.
func (b *rig) process(ctx context.Context, argv []string, set ...func(*exec.Cmd)) (wall, cpu time.Duration, err error) {
	ctx, stop := await.For(ctx, strings.Join(argv, " "), b.limits.command)
	defer stop()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	for _, s := range append(set, b.account) {
		s(cmd)
	}
	from := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", strings.Join(argv, " "), await.Cause(ctx, err))
	}
	wall = time.Since(from)
	return wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// cli measures whole processes of the client beside ones that do nothing.
func (b *rig) cli(ctx context.Context, rounds int) error {
	greet, err := hello()
	if err != nil {
		return err
	}
	commands := map[string][]string{goHello: {greet}, binTrue: {"/bin/true"}}
	names := []string{binTrue, goHello}
	for _, words := range []string{"version", "list", "status"} {
		name := "gpusched " + words
		commands[name], names = []string{"gpusched", words}, append(names, name)
	}
	wall, cpu := &board{part: "cli", unit: seconds}, &board{part: "cli", unit: seconds}
	for r := range rounds {
		wall.round()
		cpu.round()
		for i := range names {
			name := names[(r+i)%len(names)]
			w, c, err := b.process(ctx, commands[name])
			if err != nil {
				return err
			}
			wall.took(name, w)
			cpu.took(name+", CPU", c)
		}
	}
	fmt.Printf("\n%s: %s, of CPU %s\n", binTrue, wall.show(binTrue), cpu.show(binTrue+", CPU"))
	head()
	for _, name := range names[2:] {
		b.compare(wall, name, false, goHello)
		b.compare(cpu, name+", CPU", false, goHello+", CPU")
	}
	return nil
}
