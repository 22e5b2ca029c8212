package sbatch

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// setupVariable contains the user's setup command until the shell runs the command.
const setupVariable = "GPUSCHED_SETUP"

// shellWord selects the shell for a setup: bash or, if there is none, sh.
const shellWord = `"$(command -v /bin/bash || command -v /usr/bin/bash || echo /bin/sh)"`

// setupText is a script for the shell of shellWord. Its arguments are the
// number of modules, the prefix for PATH, the conda environment, the modules,
// and the job's command. The user's setup command does not see these
// arguments. If the shell ends before the last line, the setup has failed.
var setupText = fmt.Sprintf(`gs_modules=$1 gs_front=$2 gs_conda=$3 gs_part="its modules could not be loaded"
shift 3
gs_command=$%[1]s
unset %[1]s
trap 'echo "gpusched: the job did not start: $gs_part (exit status $?)" >&2; trap - EXIT; exit %[2]d' EXIT
if [ "$gs_modules" -gt 0 ]; then
	gs_kind=sh
	if [ -n "${BASH_VERSION-}" ]; then gs_kind=bash; fi
	for gs_init in %[3]s; do
		if [ -r "$gs_init" ]; then . "$gs_init"; break; fi
	done
	while [ "$gs_modules" -gt 0 ]; do
		module load "$1" || exit
		shift
		gs_modules=$((gs_modules - 1))
	done
	PATH=$gs_front$PATH
fi
gs_run() {
	gs_part="a script of its conda environment ended the shell"
	if [ -n "$gs_conda" ]; then
		for gs_file in "$gs_conda"/etc/conda/activate.d/*.sh; do
			if [ -r "$gs_file" ]; then . "$gs_file"; fi
		done
	fi
	gs_part="its set-up failed"
	eval "$gs_command"
}
gs_run || exit
trap - EXIT
exec "$@"
`, setupVariable, contract.StepSetup.ExitStatus(), moduleInits())

// moduleInits returns the files that may define "module", as shell words.
func moduleInits() string {
	const kind = `$gs_kind`
	var words []string
	for _, file := range contract.ModuleInits("${MODULESHOME-/none}", kind) {
		words = append(words, `"`+file+`"`)
	}
	return strings.Join(words, " ")
}

// This method runs the command as a child of the shell. If the command fails, the shell requeues
// the job. The shell passes its signals on to the command. After SIGTERM, which cancels the job,
// there is no further attempt.
func (m *mapping) retrying(b *strings.Builder, command string) {
	fmt.Fprintf(b, `gs_ended= gs_pid= gs_due=
gs_pass() { if [ -n "$gs_pid" ]; then kill -s "$1" "$gs_pid" 2>/dev/null; else gs_due="$gs_due $1"; fi; }
trap 'gs_ended=yes; gs_pass TERM' TERM
for gs_signal in HUP INT QUIT USR1 USR2 ALRM URG XCPU WINCH; do trap "gs_pass $gs_signal" "$gs_signal"; done
%s &
gs_pid=$!
for gs_signal in $gs_due; do gs_pass "$gs_signal"; done
while :; do
	wait "$gs_pid"
	gs_status=$?
	kill -0 "$gs_pid" 2>/dev/null || break
done
if [ "$gs_status" -gt 128 ]; then
	wait "$gs_pid" 2>/dev/null # a signal may have ended the first wait as the command ended
	gs_again=$?
	[ "$gs_again" = 127 ] || gs_status=$gs_again
fi
gs_left=$((%d - gs_attempt))
if [ "$gs_status" = 0 ] || [ -n "$gs_ended" ] || [ "$gs_left" -le 0 ]; then exit "$gs_status"; fi
trap - HUP INT QUIT USR1 USR2 ALRM URG XCPU WINCH
trap '' TERM
echo "gpusched: attempt $gs_attempt ended with status $gs_status; $gs_left more may follow (--retries)" >&2
scontrol requeue "$gs_id" || exit "$gs_status"
gs_wait=%d gs_n=1
while [ "$gs_n" -lt "$gs_attempt" ] && [ "$gs_wait" -lt 3600 ]; do gs_wait=$((gs_wait * 2)) gs_n=$((gs_n + 1)); done
if [ "$gs_wait" -lt %d ]; then gs_wait=%d; fi
scontrol update "JobId=$gs_id" "StartTime=now+$gs_wait"
exit "$gs_status"
`, command, m.r.Retries+1, wholeSeconds(m.r.Backoff), leastBackoff, leastBackoff)
}

// leastBackoff is the minimum delay before another attempt, in seconds. If the delay ends before
// the job has left its node, Slurm delays the job by two minutes instead.
const leastBackoff = 5

func wholeSeconds(s job.Span) int64 { return int64((s.Duration() + time.Second - 1) / time.Second) }
