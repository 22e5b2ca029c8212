package slurm

import (
	"fmt"
	"strings"
)

// variables are the endings of the environment variables that set options, as in SBATCH_TIMELIMIT.
// Variables for options that are ignored, such as SBATCH_PARTITION, are missing.
var variables = strings.Fields(`ARRAY_INX CONSTRAINT CPUS_PER_GPU ERROR EXCLUSIVE EXPORT GPU_BIND GPUS GPUS_PER_NODE
	GPUS_PER_TASK GRES INPUT JOB_NAME MEM_PER_CPU MEM_PER_GPU MEM_PER_NODE NO_REQUEUE OPEN_MODE OUTPUT REQUEUE SIGNAL
	TIMELIMIT`)

// variableOptions names the options that are not called like their variables.
var variableOptions = map[string]string{"ARRAY_INX": "array", "MEM_PER_NODE": "mem", "TIMELIMIT": "time"}

// FromEnvironment returns the options that the variables with a prefix, such as SBATCH_, set.
func FromEnvironment(prefix string, getenv func(string) string) (words []string, err error) {
	for _, ending := range variables {
		name, value := variableOptions[ending], getenv(prefix+ending)
		if value == "" {
			continue
		}
		if name == "" {
			name = strings.ToLower(strings.ReplaceAll(ending, "_", "-"))
		}
		word := Word(name, value)
		if err := new(Batch).Add([]string{word}); err != nil {
			return nil, fmt.Errorf("the variable %s%s: %w", prefix, ending, err)
		}
		words = append(words, word)
	}
	return words, nil
}
