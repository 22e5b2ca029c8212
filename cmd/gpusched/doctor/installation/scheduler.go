package installation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Unknown is the health of a part that this user may not read.
const Unknown = "UNKNOWN"

// Check checks the host, and the scheduler that the client is for. The argument root is the
// directory with the host's files, "" except in tests. The argument version is the version of the
// calling program.
func Check(ctx context.Context, client *api.Client, version, root string) []job.Check {
	checks, reached := askScheduler(ctx, client, version)
	h := host{root: root}
	ofHost := h.checks()
	if client.Own {
		ofHost = slices.DeleteFunc(ofHost, func(c job.Check) bool { // only the machine's scheduler needs these
			return slices.Contains([]string{"device filter", "settings on disk", "drop-ins", "sessions"}, c.Name)
		})
	}
	checks = append(checks, ofHost...)
	if reached {
		checks = append(checks, h.checkUse(ctx, client)...)
	}
	return checks
}

// askScheduler returns the checks that the scheduler makes of itself. The result is false if the
// scheduler does not answer.
func askScheduler(ctx context.Context, client *api.Client, version string) ([]job.Check, bool) {
	c := job.Check{Name: "socket", Health: job.Healthy, Detail: "the scheduler answers"}
	systemctl, journalctl := "systemctl", "journalctl"
	if client.Own {
		systemctl, journalctl = "systemctl --user", "journalctl --user"
	}
	v, err := api.Version(ctx, client)
	if err != nil {
		c.Health, c.Detail = job.Failing, err.Error()
		c.Next = systemctl + " status gpusched.socket gpusched.service; " + journalctl + " -u gpusched -n 50"
		var e *api.Error
		if errors.As(err, &e) {
			c.Detail = e.Message
		}
		return []job.Check{c}, false
	}
	checks := []job.Check{c, checkVersions(v, version, systemctl)}
	reply, err := api.Health(ctx, client)
	if err != nil {
		c = job.Check{Name: "health", Health: job.Failing, Detail: err.Error(), Next: journalctl + " -u gpusched -n 50"}
		return append(checks, c), true
	}
	return append(checks, reply.Checks...), true
}

func checkVersions(v api.VersionReply, version, systemctl string) job.Check {
	if v.Version == version {
		return healthy("version", "gpusched and the scheduler are "+version)
	}
	return degraded("version", fmt.Sprintf("gpusched is %s, the running scheduler is %s", version, v.Version),
		systemctl+" restart gpusched, if it was upgraded; jobs go on")
}

// checkUse reports GPUs that are used outside gpusched.
func (h host) checkUse(ctx context.Context, client *api.Client) []job.Check {
	reply, err := api.GPUs(ctx, client)
	if err != nil {
		return nil // the health check has already reported this
	}
	var checks []job.Check
	for _, g := range reply.GPUs {
		name := fmt.Sprintf("gpu %d use", g.Index)
		if text := foreignUse(&g); text != "" {
			checks = append(checks, degraded(name, text, "run them as jobs, or keep this GPU for them: "+
				"'gpusched gpu pause', or gpus.only in the settings"))
		}
	}
	checks = append(checks, h.checkHolders(reply.GPUs)...)
	if len(checks) == 0 && len(reply.GPUs) > 0 {
		checks = append(checks, healthy("gpu use", "no GPU is in use outside gpusched"))
	}
	return checks
}

// foreignUse names the users of a GPU outside of jobs, or returns "".
func foreignUse(g *api.GPU) string {
	var parts []string
	if f := g.Foreign(); f.Count > 0 {
		users, size, noun := strings.Join(f.Users, ", "), job.FormatSize(f.Bytes), "processes"
		if f.Count == 1 {
			noun = "process"
		}
		parts = append(parts, fmt.Sprintf("%d %s of %s, with %s", f.Count, noun, users, size))
	}
	if g.UnlistedBytes > 0 {
		parts = append(parts, "processes that the driver does not list, with "+job.FormatSize(g.UnlistedBytes))
	}
	if len(parts) == 0 {
		return ""
	}
	return "in use outside gpusched: " + strings.Join(parts, "; ")
}
