package server

import (
	"slices"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// engines returns the engines that jobs may use. A user's own scheduler does not allow Docker:
// Docker's containers belong to a job only in a slice, which such a scheduler can't make.
func (o *Options) engines() []contract.Engine {
	allowed := o.Config().Containers.Engines
	if o.Own == nil {
		return allowed
	}
	return slices.DeleteFunc(slices.Clone(allowed), func(e contract.Engine) bool { return e == contract.Docker })
}

// allowEngine returns an error if the site does not allow the engine of a job's container. The
// engine "" means that the job has no container.
func allowEngine(allowed []contract.Engine, e contract.Engine) error {
	if e == "" || slices.Contains(allowed, e) {
		return nil
	}
	hint := "it allows none"
	if len(allowed) > 0 {
		hint = "it allows " + listed(job.Each(allowed, func(e contract.Engine) string { return string(e) }))
	}
	return &api.Error{
		Code: api.CodePolicy, Message: "this site does not allow jobs to use " + string(e) + " (--image)",
		Hint: hint + "; containers.engines in gpusched.toml(5) is the site's list",
	}
}
