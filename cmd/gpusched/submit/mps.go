package submit

import (
	"os"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// needsMPS returns an error if the job is to use MPS, and NVIDIA's program for it is not installed.
func (c *JobOptions) needsMPS(a *cli.App) error {
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	if !c.Request.MPS || c.Force || a.Other() != nil || slices.ContainsFunc(contract.MPSPrograms(), there) {
		return nil
	}
	return cli.Refuse(api.CodeUsage, "leave --mps out, or ask an administrator to install it: "+contract.MPSPackages, contract.NoMPS)
}
