package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gpusched/gpusched/daemon/sim"
)

// Run runs the command line, without the words "gpuschedd sim", and returns the exit code. It
// writes help and errors to the writer talk. It calls its last argument with the number of finished
// replays and the number of all replays.
func Run(args []string, out, talk io.Writer, tell func(done, of int)) int {
	o, err := parse(args, talk)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(talk, "gpuschedd sim:", err)
		return 2
	}
	o.tell = tell
	if err := o.run(out, talk); err != nil {
		fmt.Fprintln(talk, "gpuschedd sim:", err)
		return 1
	}
	return 0
}

func (o *options) run(out, talk io.Writer) error {
	if o.generate != "" {
		return o.generatedTrace().Write(out)
	}
	trace, err := o.read()
	if err != nil {
		return err
	}
	o.tellLeftOut(trace, talk)
	if o.workload == "pack" {
		return o.pack(trace, out)
	}
	runs, err := o.replay(trace)
	if err != nil {
		return err
	}
	if o.report != "" {
		if err := o.writeReport(runs); err != nil {
			return err
		}
	}
	if o.json {
		return o.writeJSON(out, runs)
	}
	return o.writeTables(out, runs)
}

// generatedTrace returns the made-up trace to write.
func (o *options) generatedTrace() sim.Trace {
	if o.scenario != nil {
		return o.drawJobs(sim.Trace{}, o.seeds[0])
	}
	n, _ := strconv.Atoi(o.generate) // check has verified that this is a number
	return sim.Generate(n, cmp.Or(o.days, 14), o.seeds[0])
}

// drawJobs returns the jobs that a seed draws.
func (o *options) drawJobs(trace sim.Trace, seed uint64) sim.Trace {
	if o.scenario != nil {
		trace = o.scenario.Make(sim.Setting{GPUs: o.options.GPUs, Days: o.days, Load: o.load, Seed: seed})
	} else if o.workload == "w1" {
		trace = sim.W1{GPUs: o.options.GPUs, Load: o.load, From: o.from, Days: o.days, Seed: seed}.Draw(trace)
	} else if o.days > 0 || !o.from.IsZero() {
		trace = trace.Window(o.from, o.days)
	}
	return trace.Fit(o.options.GPUs, o.options.GPUMemBytes)
}

// replay runs every policy with every seed, as many at once as there are CPUs.
func (o *options) replay(trace sim.Trace) ([]policyRun, error) {
	runs := make([]policyRun, len(o.policies))
	errs := make([]error, len(o.policies)*len(o.seeds))
	var workers sync.WaitGroup
	var done atomic.Int64
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, name := range o.policies {
		runs[i] = policyRun{Policy: name, Outcomes: make([]*sim.Outcome, len(o.seeds))}
		policy, err := sim.Named(name, o.tuning)
		if err != nil {
			return nil, err
		}
		for k, seed := range o.seeds {
			options := o.options
			options.Policy, options.Seed = policy, seed
			workers.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				outcome, err := sim.Run(o.drawJobs(trace, seed), options)
				o.tell(int(done.Add(1)), len(errs))
				runs[i].Outcomes[k] = outcome
				if err != nil {
					errs[i*len(o.seeds)+k] = fmt.Errorf("policy %s, seed %d: %w", name, seed, err)
				}
			})
		}
	}
	workers.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i := range runs {
		runs[i].Mean = sim.Mean(runs[i].Outcomes)
	}
	return runs, nil
}

func (o *options) writeReport(runs []policyRun) error {
	if err := os.MkdirAll(o.report, 0o755); err != nil {
		return fmt.Errorf("making the report's directory: %w", err)
	}
	var tables strings.Builder
	every := *o
	every.users, every.sizes = true, true
	if err := every.writeTables(&tables, runs); err != nil {
		return err
	}
	text := render("gpusched: one trace, several policies", o.describe(), tables.String(), runs)
	if err := os.WriteFile(filepath.Join(o.report, "index.html"), []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// describe returns one line that describes the run.
func (o *options) describe() string {
	source := "scenario " + o.workload
	if o.scenario == nil {
		source = fmt.Sprintf("%s, workload %s", filepath.Base(o.trace), o.workload)
	}
	text := fmt.Sprintf("%s, %d GPUs, %s run times", source, o.options.GPUs, cmp.Or(o.options.Predict, sim.Learned))
	if o.workload == "w1" {
		text += fmt.Sprintf(", load %g, %d days", o.load, o.days)
	}
	if len(o.seeds) == 1 {
		return text + fmt.Sprintf(", seed %d", o.seeds[0])
	}
	return text + fmt.Sprintf(", %d seeds", len(o.seeds))
}
