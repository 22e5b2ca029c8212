package client

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/look"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/cmd/gpusched/site"
	"github.com/gpusched/gpusched/daemon/api"
)

// topOfHosts shows the status of several machines and updates it. It does not use the full screen
// of gpusched-top, which shows one scheduler only.
func topOfHosts(ctx context.Context, a *cli.App, c *site.TopCmd) error {
	if !a.OnTerminal() {
		return cli.Refuse(api.CodeUsage, "'gpusched status' and 'gpusched list' print the same once", "top needs a terminal")
	}
	there := *a
	if c.Mine {
		there.Words = []string{"list", "--mine"}
		l := &look.ListCmd{OutputFlags: cli.OutputFlags{Output: "table"}}
		l.Mine, l.Watch = true, true
		return look.ListOfHosts(ctx, &there, l)
	}
	return look.StatusOfHosts(ctx, &there, &look.StatusCmd{AgainFlags: cli.AgainFlags{Watch: true},
		OutputFlags: cli.OutputFlags{Output: "table"}})
}

// whyOfHosts explains the user's last submission on any of the machines.
func whyOfHosts(ctx context.Context, a *cli.App, c call) error {
	answers := afar.FetchAll[api.JobReply](ctx, a, a.Hosts, remote.Typed{Words: []string{"show"}, Plain: true})
	var last api.Job
	var missing error
	for i, host := range a.Hosts {
		var e *api.Error
		switch err := answers[i].Err; {
		case err == nil && (last.ID == 0 || answers[i].Doc.Job.SubmittedAt.After(last.SubmittedAt)):
			last = answers[i].Doc.Job
		case errors.As(err, &e) && e.Code == api.CodeNotFound: // the user has no job on this machine
		default:
			if err = afar.ComplainOf(a, host, err); missing == nil {
				missing = err
			}
		}
	}
	switch {
	case last.ID == 0 && missing != nil:
		return missing
	case last.ID == 0:
		return cli.NotFoundf("you have submitted no job on %s", strings.Join(a.Hosts, ", "))
	}
	return cmp.Or(onHost(ctx, a, c, last.Host), missing)
}
