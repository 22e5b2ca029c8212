package main

import (
	"bufio"
	"context"

	"github.com/gpusched/gpusched/daemon/api"
)

// readLog prints the output of every start of the job from its log, and returns when the job has ended.
func (at *attendance) readLog(ctx context.Context, journalctl string) error {
	a, out, said := *at.a, *at.a.out, *at.a.err
	out.W, said.W = bufio.NewWriter(at.pipe), bufio.NewWriter(at.line.over(at.a.err.W))
	a.out, a.err = &out, &said
	p := &logPrinter{logsCmd: &logsCmd{}, app: &a, path: journalctl, attended: true}
	return p.follow(ctx, []api.Job{at.job})
}
