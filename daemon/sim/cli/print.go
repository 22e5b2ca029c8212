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
	Starts *sim.StartFigures `json:"starts,omitempty"` // the mean, with --starts
	Runs   []seedFigures     `json:"runs"`
}

// seedFigures is one seed's figures: Metrics, or Packed in workload pack.
type seedFigures struct {
	Seed     uint64            `json:"seed"`
	Hash     string            `json:"hash"`
	Metrics  *sim.Metrics      `json:"metrics,omitempty"`
	Users    []sim.Group       `json:"users,omitempty"`
	Sizes    []sim.Group       `json:"sizes,omitempty"`
	Fairness *sim.Fairness     `json:"fairness,omitempty"`
	Starts   *sim.StartFigures `json:"starts,omitempty"` // with --starts
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

// writeTable prints a line per policy and seed, and the mean of several seeds.
func (o *options) writeTable(out io.Writer, runs []policyRun) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := []string{"policy", "seed"}
	for _, c := range sim.Columns() {
		head = append(head, c.Heading)
	}
	fmt.Fprintln(w, strings.Join(head, "\t")+"\t")
	for i := range runs {
		for k, outcome := range runs[i].Outcomes {
			writeRow(w, runs[i].Policy, fmt.Sprint(o.seeds[k]), &outcome.Metrics)
		}
		if len(runs[i].Outcomes) > 1 {
			writeRow(w, runs[i].Policy, "mean", &runs[i].Mean)
		}
	}
	err := w.Flush()
	if o.users {
		err = errors.Join(err, writeGroups(out, runs, "by user", userRows))
	}
	if o.sizes {
		err = errors.Join(err, writeGroups(out, runs, "by GPUs asked", sizeRows))
	}
	if o.options.Starts > 0 {
		err = errors.Join(err, o.writeStarts(out, runs))
	}
	return err
}

func writeRow(w io.Writer, policy, seed string, m *sim.Metrics) {
	row := []string{policy, seed}
	for _, c := range sim.Columns() {
		row = append(row, c.Text(m))
	}
	fmt.Fprintln(w, strings.Join(row, "\t")+"\t")
}

// pack fills the machine until nothing more fits and says how full it got.
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
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "seed\tjobs\tstarted\tarrived %\tallocated %\t")
	for _, r := range p.Runs {
		fmt.Fprintf(w, "%d\t%d\t%d\t%.1f\t%.1f\t\n", r.Seed, r.Packed.Jobs, r.Packed.Started, 100*r.Packed.Arrived,
			100*r.Packed.Allocated)
	}
	fmt.Fprintf(w, "mean\t\t\t\t%.1f\t\n", 100*sum/float64(len(p.Runs)))
	return w.Flush()
}
