package main

import (
	"os"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/export"
	"github.com/gpusched/gpusched/cmd/gpusched-slurm/migrate"
	"github.com/gpusched/gpusched/cmd/gpusched-slurm/onslurm"
	"github.com/gpusched/gpusched/cmd/gpusched/client"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
)

// Set when the program is linked, by -X main.version and -X main.commit.
var (
	version = "dev"
	commit  = ""
)

func main() {
	os.Exit(client.Main(version, commit, &engines.Slurm{
		New: onslurm.Other, Manual: onslurm.Manual, Migrate: migrate.Run, Export: export.Run,
	}))
}
