package site

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/metrics"
)

// MetricsCmd prints the metrics.
type MetricsCmd struct {
	Format   string `name:"format" enum:",openmetrics,prometheus" default:"" placeholder:"FORMAT"`
	Textfile string `name:"textfile" placeholder:"FILE"`
}

func (*MetricsCmd) About() cli.About {
	return cli.About{
		Host: cli.RunThere, Hosts: cli.OneAtATime,
		Slurm: cli.NotForSlurm("Slurm is measured by exporters of its own",
			"for example prometheus-slurm-exporter; 'gpusched status --json' has counts"),
		Section: metricsSection,
	}
}

// metricsSection lists all metrics for the manual.
func metricsSection() manual.Section {
	section := manual.Section{Title: "METRICS"}
	for _, f := range metrics.Families() {
		text := string(f.Type)
		if len(f.Labels) > 0 {
			text += " by " + strings.Join(f.Labels, ", ")
		}
		section.Entries = append(section.Entries, manual.Entry{Word: f.Exposed(), Text: text + ". " + f.Help})
	}
	return section
}

func (c *MetricsCmd) Run(ctx context.Context, a *cli.App) error {
	format := metrics.Format(cmp.Or(c.Format, string(metrics.OpenMetrics)))
	if c.Textfile == "" {
		page, err := api.Metrics(ctx, a.Client, string(format))
		if err == nil {
			a.Out.Printf("%s", page)
		}
		return err
	}
	if format = metrics.Prometheus; c.Format == string(metrics.OpenMetrics) {
		return cli.Usagef("node_exporter does not read OpenMetrics from files (--textfile)")
	}
	page, err := api.Metrics(ctx, a.Client, string(format))
	if err != nil { // without this, the old figures would remain
		page = metrics.Down(format)
	}
	if failed := jobenv.ReplaceFile(c.Textfile, page, 0o644); failed != nil {
		return fmt.Errorf("write %s: %w", c.Textfile, failed)
	}
	return err
}
