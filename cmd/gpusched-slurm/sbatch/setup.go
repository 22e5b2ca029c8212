package sbatch

import (
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// setupVariable contains the user's setup command until the shell (sh/setup.sh) runs the command.
const setupVariable = "GPUSCHED_SETUP"

// shellWord selects the shell for a setup: bash or, if there is none, sh.
const shellWord = `"$(command -v /bin/bash || command -v /usr/bin/bash || echo /bin/sh)"`

// setupText is a script for the shell of shellWord. Its arguments are the
// number of modules, the prefix for PATH, the conda environment, the modules,
// and the job's command. The user's setup command does not see these
// arguments. If the shell ends before the last line, the setup has failed.
var setupText = shell("setup", "@STATUS@", strconv.Itoa(contract.StepSetup.ExitStatus()), "@INITS@", moduleInits())

// moduleInits returns the files that may define "module", as shell words.
func moduleInits() string {
	const kind = `$gs_kind`
	files := contract.ModuleInits("${MODULESHOME-/none}", kind)
	return strings.Join(job.Each(files, func(file string) string { return `"` + file + `"` }), " ")
}

// runRetrying runs the command as a child of the shell. If the command fails, the shell requeues
// the job. The shell passes its signals on to the command. After SIGTERM, which cancels the job,
// there is no further attempt.
func (m *mapping) runRetrying(b *strings.Builder, command string) {
	b.WriteString(shell("retry", "@COMMAND@", command, "@TRIES@", strconv.Itoa(m.r.Retries+1),
		"@WAIT@", strconv.FormatInt(wholeSeconds(m.r.Backoff), 10), "@LEAST@", strconv.Itoa(leastBackoff)))
}

// leastBackoff is the minimum delay before another attempt, in seconds. If the delay ends before
// the job has left its node, Slurm delays the job by two minutes instead.
const leastBackoff = 5

func wholeSeconds(s job.Span) int64 { return int64((s.Duration() + time.Second - 1) / time.Second) }
