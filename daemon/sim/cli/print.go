package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/gpusched/gpusched/daemon/sim"
)

// schema is the version of the JSON output.
const schema = "gpusched.sim.v1"

// document is the JSON output.
type document struct {
	Schema   string          `json:"schema"`
	Workload string          `json:"workload"`
	GPUs     int             `json:"gpus"`
	Load     float64         `json:"load,omitempty"`
	Predict  sim.Prediction  `json:"predict"`
	Policies []policyFigures `json:"policies"`
}

type policyFigures struct {
	Policy string            `json:"policy"`
	Mean   *sim.Metrics      `json:"mean,omitempty"`
	Starts *sim.StartFigures `json:"starts,omitempty"` // mean of the figures; only with --starts
	Runs   []seedFigures     `json:"runs"`
}

// seedFigures has the figures of one seed: Metrics, or Packed for the workload pack.
type seedFigures struct {
	Seed     uint64            `json:"seed"`
	Hash     string            `json:"hash"`
	Metrics  *sim.Metrics      `json:"metrics,omitempty"`
	Users    []sim.Group       `json:"users,omitempty"`
	Sizes    []sim.Group       `json:"sizes,omitempty"`
	Fairness *sim.Fairness     `json:"fairness,omitempty"`
	Starts   *sim.StartFigures `json:"starts,omitempty"` // only with --starts
	Packed   *sim.Packed       `json:"packed,omitempty"`
}

func (o *options) writeJSON(out io.Writer, runs []policyRun) error {
	var list []policyFigures
	for i := range runs {
		p := policyFigures{Policy: runs[i].Policy, Mean: &runs[i].Mean, Starts: sim.MeanStarts(runs[i].Outcomes)}
		for k, outcome := range runs[i].Outcomes {
			p.Runs = append(p.Runs, seedFigures{
				Seed: o.seeds[k], Hash: outcome.Hash, Metrics: &outcome.Metrics, Starts: outcome.Starts,
				Users: sim.Users(outcome), Sizes: sim.Sizes(outcome), Fairness: outcome.Fairness(),
			})
		}
		list = append(list, p)
	}
	return o.printJSON(out, list)
}

func (o *options) printJSON(out io.Writer, list []policyFigures) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(document{
		Schema: schema, Workload: o.workload, GPUs: o.options.GPUs, Load: o.load,
		Predict: cmp.Or(o.options.Predict, sim.Learned), Policies: list,
	})
}

// writeTables prints a line for each policy and seed, a line for the mean of several seeds, and the
// other requested tables.
func (o *options) writeTables(out io.Writer, runs []policyRun) error {
	err := writeFigures(out, o, runs, sim.Columns(),
		func(x *sim.Outcome) *sim.Metrics { return &x.Metrics }, func(r policyRun) *sim.Metrics { return &r.Mean })
	if o.users {
		err = errors.Join(err, writeGroups(out, runs, "by user", userRows))
	}
	if o.sizes {
		err = errors.Join(err, writeGroups(out, runs, "by GPUs requested", sizeRows))
	}
	if o.options.Starts > 0 {
		fmt.Fprint(out, "\nexpected starts\n")
		err = errors.Join(err, writeFigures(out, o, runs, sim.StartColumns(),
			func(x *sim.Outcome) *sim.StartFigures { return x.Starts },
			func(r policyRun) *sim.StartFigures { return sim.MeanStarts(r.Outcomes) }))
	}
	return err
}

// writeFigures prints the figures of each outcome that has any. If there are several outcomes, it
// also prints the mean.
func writeFigures[T any](out io.Writer, o *options, runs []policyRun, columns []sim.Column[T], of func(*sim.Outcome) *T,
	mean func(policyRun) *T) error {
	head := []string{"policy", "seed"}
	for _, c := range columns {
		head = append(head, c.Heading)
	}
	rows := [][]string{head}
	add := func(policy, seed string, figures *T) {
		if figures == nil {
			return
		}
		row := []string{policy, seed}
		for _, c := range columns {
			row = append(row, c.Text(figures))
		}
		rows = append(rows, row)
	}
	for _, r := range runs {
		for k, outcome := range r.Outcomes {
			add(r.Policy, fmt.Sprint(o.seeds[k]), of(outcome))
		}
		if len(r.Outcomes) > 1 {
			add(r.Policy, "mean", mean(r))
		}
	}
	return writeRows(out, rows)
}

// writeRows prints a right-aligned table.
func writeRows(out io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t")+"\t")
	}
	return w.Flush()
}

// pack fills the machine until no further job fits, and prints how full the machine is.
func (o *options) pack(trace sim.Trace, out io.Writer) error {
	o.load = cmp.Or(o.load, 1.3)
	policy, err := sim.Named("fifo", o.tuning)
	if err != nil {
		return err
	}
	p := policyFigures{Policy: policy.Name}
	sum := 0.0
	for _, seed := range o.seeds {
		options := o.options
		options.Policy, options.Seed = policy, seed
		packed, err := sim.Pack{Options: options, Arrived: o.load}.Run(trace)
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		sum += packed.Allocated
		p.Runs = append(p.Runs, seedFigures{Seed: seed, Hash: packed.Hash, Packed: packed})
	}
	if o.json {
		return o.printJSON(out, []policyFigures{p})
	}
	rows := [][]string{{"seed", "jobs", "started", "arrived %", "allocated %"}}
	for _, r := range p.Runs {
		rows = append(rows, []string{fmt.Sprint(r.Seed), fmt.Sprint(r.Packed.Jobs), fmt.Sprint(r.Packed.Started),
			fmt.Sprintf("%.1f", 100*r.Packed.Arrived), fmt.Sprintf("%.1f", 100*r.Packed.Allocated)})
	}
	return writeRows(out, append(rows, []string{"mean", "", "", "", fmt.Sprintf("%.1f", 100*sum/float64(len(p.Runs)))}))
}
