package slurm

import "strings"

// meanings say what options ask here.
var meanings = map[string]string{
	"job-name": "the job's name",
	"time":     "its time limit, in minutes or as 1-2:30:00",
	"gres":     "GPUs: gpu:2 or gpu:a100:2",
	"gpus":     "GPUs", "gpus-per-node": "GPUs", "gpus-per-task": "GPUs", "mem": "memory, in MB or as 64G",
	"mem-per-gpu":     "memory for each GPU",
	"mem-per-cpu":     "memory for each CPU",
	"cpus-per-task":   "CPUs",
	"cpus-per-gpu":    "CPUs for each GPU",
	"array":           "one task for each number: 0-9%2",
	"dependency":      "what it waits for: afterok:7, singleton",
	"begin":           "not before then",
	"hold":            "not before it is released",
	"chdir":           "directory to run in",
	"requeue":         "start it again after a reboot",
	"no-requeue":      "do not",
	"signal":          "a signal before the time limit: USR1@60",
	"nice":            "a lower priority",
	"comment":         "a comment",
	"export":          "which variables it has",
	"exclusive":       "no sharing of GPUs",
	"nodes":           "1",
	"ntasks":          "tasks: so many times the CPUs",
	"ntasks-per-node": "the same",
	"ntasks-per-gpu":  "the same, for each GPU",
	"output":          "file for its output: out-%j.txt",
	"error":           "the same file",
	"open-mode":       "append or truncate",
	"input":           "/dev/null", "mail-type": "when mail is sent", "mail-user": "to whom",
}

// Help are the options that mean something here, a line each, and those that do not.
func Help() (lines []string, without string) {
	var rest []string
	for _, o := range options {
		name := "--" + strings.Join(o.names(), ", --")
		about, known := meanings[o.names()[0]]
		if !known {
			b := &Batch{}
			if o.read(b, name, "") == nil && len(b.ignored) > 0 {
				rest = append(rest, name)
			}
			continue
		}
		if o.short != 0 {
			name = "-" + string(o.short) + ", " + name
		}
		if o.value == required {
			name += " VALUE"
		}
		lines = append(lines, name+"\t"+about)
	}
	return lines, strings.Join(rest, ", ")
}
