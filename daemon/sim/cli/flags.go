package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sim"
)

const usage = `usage: gpuschedd sim --trace FILE [options]
       gpuschedd sim --scenario NAME [options]
       gpuschedd sim --generate N|SCENARIO [--days D] [--seed S] > trace.csv

Replays a trace of jobs, or a made-up scenario, through this scheduler under a virtual clock, and
reports how long jobs would have waited. It needs no GPU, no special rights and no daemon.

`

// options is the command line of "gpuschedd sim".
type options struct {
	trace, format, workload string
	scenario                *sim.Scenario // scenario that is replayed instead of a trace
	policies                []string
	seeds                   []uint64
	options                 sim.Options
	tell                    func(done, of int) // the last argument of Run
	gpus                    *int               // nil: as many as the scenario or the log has, or else 8
	procs                   int                // number of processors for each GPU
	tuning                  sim.Tuning
	load                    float64
	days                    int
	from                    time.Time
	generate                string // what to write: a number of jobs, or a scenario
	users, sizes            bool
	json                    bool
	report                  string
}

// parse reads the command line. It writes help to a writer.
func parse(args []string, talk io.Writer) (*options, error) {
	o := &options{policies: []string{"fair"}, seeds: []uint64{1}}
	f := flag.NewFlagSet("gpuschedd sim", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	o.jobFlags(f)
	o.schedulerFlags(f)
	f.IntVar(&o.options.Starts, "starts", 0,
		"ask when every `n`-th job is expected to start, and report how accurate that was")
	f.BoolVar(&o.users, "users", false, "also print a table by user: GPU-hours, waits, slowdown")
	f.BoolVar(&o.sizes, "sizes", false, "also print a table by number of GPUs requested")
	f.BoolVar(&o.json, "json", false, "print JSON, which always includes both tables")
	f.StringVar(&o.report, "report", "", "also write an HTML page to this `directory`")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(talk, usage)
		f.SetOutput(talk)
		f.PrintDefaults()
		fmt.Fprint(talk, "\nScenarios (GPUs, what is submitted):\n")
		for _, s := range sim.Scenarios() {
			fmt.Fprintf(talk, "  %-10s %4d  %s\n", s.Name, s.GPUs, s.What)
		}
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w; see 'gpuschedd sim --help'", err)
	}
	return o, o.check(f.Args())
}

// jobFlags defines the flags about jobs.
func (o *options) jobFlags(f *flag.FlagSet) {
	f.StringVar(&o.trace, "trace", "", "`file` with the trace; - for standard input")
	f.StringVar(&o.format, "format", "auto",
		"format of the trace: auto, csv (submit,duration,gpus,user[,limit][,gpu_mem][,kind]), swf, philly or openb")
	f.IntVar(&o.procs, "procs-per-gpu", 1, "`processors` of an SWF log that count as one GPU")
	f.Func("scenario", "replay a made-up workload instead, drawn anew for each seed; the `names` are below",
		o.setScenario)
	f.StringVar(&o.generate, "generate", "", "write a made-up trace instead: `N` jobs of a laboratory, or those of a scenario")
	f.StringVar(&o.workload, "workload", "",
		"w1 (draws jobs up to a load), as-is, or pack (no job ends: how full do the GPUs get?); the default depends on the trace")
	f.Func("seed", "seeds: a number, a list 1,2,5 or a range 1-3 (default 1)", o.setSeeds)
	f.Float64Var(&o.load, "load", 0,
		"work per day relative to what the GPUs can do (w1, default 0.9; scenarios), or requested GPUs relative to the machine (pack, default 1.3)")
	f.IntVar(&o.days, "days", 0, "number of days of the trace or the scenario; 0: all (w1: 75)")
	f.Func("from", "first day of the trace to use, a `date` such as 2017-10-02",
		func(s string) (err error) { o.from, err = time.Parse(time.DateOnly, s); return err })
	f.BoolVar(&o.options.Spread, "spread", false, "jobs ask for the emptiest GPU instead of the fullest that fits")
}

// schedulerFlags defines the flags about the machine, the scheduler and the cost of stops.
func (o *options) schedulerFlags(f *flag.FlagSet) {
	f.Func("policy", "`names`, or all: "+strings.Join(sim.Names(), ", ")+" (default fair)", o.setPolicies)
	f.Func("gpus", "`number` of GPUs in the machine (default 8, or the scenario's, or the SWF log's)", storeParsed(&o.gpus, strconv.Atoi))
	o.options.GPUMemBytes = 80 << 30
	f.Func("gpu-mem", "memory of a GPU, a `size` (default 80G)",
		func(s string) (err error) { o.options.GPUMemBytes, err = job.ParseSize(s); return err })
	f.Func("predict", "what the scheduler knows about run times: learned, user-limit, oracle or noisy (default learned)",
		func(s string) (err error) { o.options.Predict, err = sim.ParsePrediction(s); return err })
	f.DurationVar(&o.options.SwitchCost, "switch-cost", time.Minute,
		"extra run time of a job that continues after it was stopped")
	f.Func("checkpoints", "share of jobs that write checkpoints, `0 to 1`; the others start over after a stop (default 1)",
		storeParsed(&o.options.Checkpoints, fraction))
	f.DurationVar(&o.tuning.Slice, "slice", 0,
		"minimum time that a preemptible job runs before it is stopped (default: the policy's)")
	f.DurationVar(&o.tuning.HalfLife, "half-life", 0, "half-life of fair share (default: the policy's)")
	f.Func("depth", "`number` of waiting jobs that GPUs are reserved for (default: the policy's)",
		storeParsed(&o.tuning.Depth, strconv.Atoi))
	f.Func("preemptible", "share of jobs that may be stopped for others, `0 to 1` (default: the policy's)",
		storeParsed(&o.tuning.Preemptible, fraction))
	f.Func("park", "time for which a GiB of GPU memory is copied when a job is parked, and when it returns, in `seconds`",
		func(s string) error {
			seconds, err := strconv.ParseFloat(s, 64)
			o.options.Park = time.Duration(seconds * float64(time.Second))
			return err
		})
	f.Float64Var(&o.options.Parkable, "parkable", 0,
		"share of jobs that are parked instead of stopped, `0 to 1` (default 0)")
}

// storeParsed returns a flag function that stores the parsed value.
func storeParsed[T any](to **T, parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		v, err := parse(s)
		*to = &v
		return err
	}
}

func fraction(s string) (float64, error) { return strconv.ParseFloat(s, 64) }

func (o *options) setPolicies(s string) error {
	if o.policies = strings.Split(s, ","); s == "all" {
		o.policies = sim.Names()
	}
	return nil
}

func (o *options) setScenario(name string) error {
	s, err := sim.FindScenario(name)
	o.scenario = &s
	return err
}

// maxSeeds is the maximum number of seeds in a range.
const maxSeeds = 1000

func (o *options) setSeeds(s string) error {
	o.seeds = nil
	for part := range strings.SplitSeq(s, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		a, err := strconv.ParseUint(low, 10, 32)
		if err != nil {
			return fmt.Errorf("%q is not a number", low)
		}
		b, err := strconv.ParseUint(high, 10, 32)
		if err != nil || b < a || b-a >= maxSeeds {
			return fmt.Errorf("%q is not a range of at most %d seeds", part, maxSeeds)
		}
		for ; a <= b; a++ {
			o.seeds = append(o.seeds, a)
		}
	}
	return nil
}

// maxGenerated is the maximum number of generated jobs.
const maxGenerated = 1_000_000

// check checks that the options fit together, and sets the number of GPUs.
func (o *options) check(rest []string) error {
	for _, name := range o.policies {
		if _, err := sim.Named(name, sim.Tuning{}); err != nil {
			return err
		}
	}
	if n, err := strconv.Atoi(o.generate); err == nil && (n < 1 || n > maxGenerated) {
		return fmt.Errorf("--generate can make 1 to %d jobs", maxGenerated)
	} else if err != nil && o.generate != "" {
		if err := o.setScenario(o.generate); err != nil {
			return fmt.Errorf("--generate takes a number of jobs or a scenario: %w", err)
		}
	}
	if o.gpus != nil {
		o.options.GPUs = *o.gpus
	} else if o.options.GPUs = 8; o.scenario != nil {
		o.options.GPUs = o.scenario.GPUs
	}
	switch {
	case len(rest) > 0:
		return fmt.Errorf("takes no arguments, got %q; see --help", rest)
	case o.generate == "" && o.trace == "" && o.scenario == nil:
		return errors.New("no trace is given: use --trace FILE, or a made-up one: --scenario flood, or --generate 2000 > trace.csv")
	case o.trace != "" && o.scenario != nil:
		return errors.New("--trace and --scenario cannot be combined: each provides the jobs")
	case o.options.GPUs < 1 || o.options.GPUs > job.MaxGPUs:
		return fmt.Errorf("--gpus must be 1 to %d", job.MaxGPUs)
	case o.procs < 1:
		return errors.New("--procs-per-gpu must be at least 1")
	case !isBetween(o.load, 10) || o.days < 0 || o.days > maxDays:
		return fmt.Errorf("--load must be 0 to 10, and --days 0 to %d", maxDays)
	case o.options.Starts < 0:
		return errors.New("--starts must not be negative")
	case !slices.Contains([]string{"", "w1", "as-is", "pack"}, o.workload):
		return fmt.Errorf("there is no workload %q: choose among w1, as-is, pack", o.workload)
	case !slices.Contains(sim.Formats(), o.format):
		return fmt.Errorf("there is no format %q: choose among %s", o.format, strings.Join(sim.Formats(), ", "))
	}
	if err := o.checkTuning(); err != nil {
		return err
	}
	return o.checkScenario()
}

// maxDays is ten years.
const maxDays = 3660

// isBetween reports whether x is between 0 and upper. NaN is not.
func isBetween(x, upper float64) bool { return x >= 0 && x <= upper }

// maxDepth is the maximum reservation depth that a site can configure.
const maxDepth = 16

// checkTuning refuses changes of policies that a site could not configure.
func (o *options) checkTuning() error {
	t := &o.tuning
	switch most := maxDays * 24 * time.Hour; {
	case min(o.options.SwitchCost, t.Slice, t.HalfLife) < 0 || max(o.options.SwitchCost, t.Slice, t.HalfLife) > most:
		return fmt.Errorf("a duration must not be negative or more than %d days", maxDays)
	case t.Preemptible != nil && !isBetween(*t.Preemptible, 1):
		return errors.New("--preemptible must be 0 to 1")
	case o.options.Checkpoints != nil && !isBetween(*o.options.Checkpoints, 1):
		return errors.New("--checkpoints must be 0 to 1")
	case !isBetween(o.options.Parkable, 1):
		return errors.New("--parkable must be 0 to 1")
	case o.options.Park < 0 || o.options.Park > time.Hour:
		return errors.New("--park must be 0 to 3600")
	case t.Depth != nil && (*t.Depth < 0 || *t.Depth > maxDepth):
		return fmt.Errorf("--depth must be 0 to %d", maxDepth)
	case t.HalfLife > 0 && t.HalfLife < time.Minute:
		return errors.New("--half-life must be at least a minute")
	}
	return nil
}

// checkScenario refuses options that do not apply to the scenario.
func (o *options) checkScenario() error {
	switch {
	case o.scenario == nil:
		return nil
	case o.scenario.Days == 0 && (o.days > 0 || o.load > 0):
		return fmt.Errorf("--days and --load do not apply to the scenario %s, which has fixed times",
			o.scenario.Name)
	case !o.from.IsZero():
		return errors.New("--from does not apply to a scenario")
	case o.workload != "":
		return errors.New("--workload does not apply to a scenario")
	}
	return nil
}
