package main

import (
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
)

// habits are the words that people of other schedulers, and of other programs, type
// for our commands. They lead there with a sentence, since the options that follow
// are seldom ours.
var habits = map[string]string{
	"sbatch": "submit", "qsub": "submit", "bsub": "submit", "gbatch": "submit",
	"srun": "run", "mgpu_srun": "submit", "salloc": "shell",
	"squeue": "list", "qstat": "list", "bjobs": "list", "gqueue": "list", "gjob": "list", "mgpu_queue": "list",
	"ps": "list", "jobs": "list", "top": "list", "list-jobs": "list",
	"sacct": "list -a", "history": "list -a",
	"sinfo": "gpus", "nvidia-smi": "gpus", "ginfo": "gpus",
	"scancel": "cancel", "qdel": "cancel", "bkill": "cancel", "gcancel": "cancel",
	"mgpu_cancel": "cancel", "cancel-job": "cancel",
	"kill": "cancel", "rm": "cancel", "delete": "cancel", "remove": "cancel", "stop": "cancel",
	"tail": "logs -f", "follow": "logs -f", "output": "logs", "cat": "logs",
	"info": "show", "scontrol": "show", "describe": "show", "job": "show",
	"restart": "requeue", "pause": "suspend", "stash": "hold", "edit": "update", "enqueue": "submit",
	"pause-gpu": "gpu pause", "resume-gpu": "gpu resume",
}

// habitual puts our words for what every program understands, and refuses with our
// command what another program calls otherwise.
func habitual(args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	switch first := args[0]; {
	case first == "--version":
		return append([]string{"version"}, args[1:]...), nil
	case first == "help":
		return append(args[1:len(args):len(args)], "--help"), nil
	case habits[first] != "":
		own := "gpusched " + habits[first]
		command, _, _ := strings.Cut(own, " -")
		return nil, refuse(api.CodeUsage, "see '"+command+" --help'",
			"there is no command %q, did you mean '%s'?", first, own)
	}
	return args, nil
}
