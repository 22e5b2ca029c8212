package slurmexec

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/gpusched/gpusched/daemon/api"
)

// Refusal returns the error of a failed program. The argument stderr is the text that the program
// printed to its standard error.
func Refusal(name, stderr string, err error) error {
	text := saidBy(name, stderr)
	if text == "" {
		text = err.Error()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Success() {
			return nil
		}
	}
	r := &api.Error{Code: CodeOf(text), Message: "Slurm's " + name + ": " + text}
	if r.Code == api.CodeForbidden {
		r.Hint = "only Slurm's operators and administrators may do that"
	}
	if r.Code == api.CodeNever {
		r.Message = "can never start: no node has what it asks for (Slurm's " + name + ": " + text + ")"
		r.Hint = "see 'gpusched gpus', and 'sinfo -o \"%N %c %m %G %f\"' for what the nodes have"
	}
	if name == "sbatch" && r.Code == api.CodeNotFound {
		r.Code = api.CodeUsage // the missing job is one that a dependency names
	}
	if r.Code == api.CodeUnreachable {
		r.Hint = "see 'scontrol ping'; --on local asks the scheduler of this machine"
	}
	if errors.Is(err, syscall.E2BIG) {
		r.Code, r.Message = api.CodeUsage, "the request is too long to be passed to Slurm's "+name
	}
	return r
}

// refusedAll returns the error that scancel printed, although scancel exited with 0.
func refusedAll(name, said string) error {
	if name != "scancel" || !strings.Contains(said, "error:") {
		return nil
	}
	text := saidBy(name, said)
	return &api.Error{Code: CodeOf(text), Message: "Slurm's scancel: " + text}
}

// saidBy joins the messages of an error into one line, without the name of the program.
func saidBy(name, said string) string {
	var parts []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		line = strings.TrimPrefix(line, name+": ")
		line = strings.TrimPrefix(line, "error: ")
		line = strings.TrimPrefix(line, "Batch job submission failed: ")
		if call, rest, ok := strings.Cut(line, " error: "); ok && !strings.Contains(call, " ") { // such as "slurm_load_jobs error: …"
			line = rest
		}
		said := func(part string) bool { return strings.HasPrefix(part, line) }
		if line != "" && !slices.ContainsFunc(parts, said) {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}

// sentences are parts of Slurm's messages (slurm_strerror),
// each with a kind of error. The first match counts.
var sentences = []struct {
	text string
	code api.Code
}{
	{"Invalid job id", api.CodeNotFound},
	{"Invalid job array specification", api.CodeNotFound},
	{"Access/permission denied", api.CodeForbidden},
	{"Invalid user id", api.CodeForbidden},
	{"already finished", api.CodeConflict},
	{"already completing", api.CodeConflict},
	{"no longer pending", api.CodeConflict},
	{"Job is pending execution", api.CodeConflict},
	{"not in expected state", api.CodeConflict},
	{"Requested operation is presently disabled", api.CodeConflict},
	{"Requested node configuration is not available", api.CodeNever},
	{"Memory specification can not be satisfied", api.CodeNever},
	{"More processors requested than permitted", api.CodeNever},
	{"Invalid generic resource (gres) specification", api.CodeNever},
	{"Invalid feature specification", api.CodeNever},
	{"Node count specification invalid", api.CodeNever},
	{"Unable to contact slurm controller", api.CodeUnreachable},
	{"Connection refused", api.CodeUnreachable},
	{"Socket timed out", api.CodeUnreachable},
	{"Zero Bytes were transmitted", api.CodeUnreachable},
	{"Unable to process configuration file", api.CodeUnreachable},
	{"Could not establish a configuration source", api.CodeUnreachable},
	{"Could not resolve hostname", api.CodeUnreachable},
	{"authentication", api.CodeUnreachable},
	{"munge", api.CodeUnreachable},
	{"Resource temporarily unavailable", api.CodeUnavailable},
	{"controller in standby", api.CodeUnavailable},
	{"Job violates accounting/QOS policy", api.CodePolicy},
	{"limit", api.CodePolicy},
	{"Invalid account", api.CodePolicy},
	{"Job dependency problem", api.CodeUsage},
	{"Invalid qos", api.CodePolicy},
	{"not permitted", api.CodePolicy},
	{"unrecognized option", api.CodeUsage},
	{"Invalid", api.CodeUsage},
	{"invalid", api.CodeUsage},
}

// CodeOf returns the kind of error that a message means.
func CodeOf(text string) api.Code {
	for _, s := range sentences {
		if strings.Contains(text, s.text) {
			return s.code
		}
	}
	return api.CodeInternal
}
