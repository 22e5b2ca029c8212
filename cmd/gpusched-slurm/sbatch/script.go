package sbatch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// script returns the script that Slurm runs. It changes to the job's directory, determines the
// job's GPUs, and executes the command.
func (m *mapping) script() []byte {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	fmt.Fprintf(&b, "umask %04o\n", m.p.Umask)
	b.WriteString("# Made by gpusched. The command is in the last lines.\n")
	b.WriteString(carriageReturn + "=$(printf '\\r')\n")
	if m.p.EnvMode == contract.EnvLogin {
		b.WriteString(shell("login", "@STATUS@", strconv.Itoa(contract.StepSpec.ExitStatus())))
	}
	fmt.Fprintf(&b, "cd %s || exit %d\n", quote(m.p.Dir), contract.StepChdir.ExitStatus())
	b.WriteString(shell("job"))
	if m.r.GPUMilli > 0 {
		b.WriteString(shell("gpu"))
	} else {
		b.WriteString(noGPUText)
	}
	if m.r.GPUVisible == "uuid" {
		b.WriteString("gs_visible=${gs_uuids:-$gs_visible}\n")
	}
	m.setParams(&b)
	e := m.environment()
	e.setConda(&b, m.p.Setup.Conda)
	command := m.commandWords(e)
	if m.r.Retries > 0 {
		m.runRetrying(&b, command)
	} else {
		b.WriteString("exec " + command + "\n")
	}
	return []byte(b.String())
}

// noGPUText replaces gpu.sh if a job has no GPUs. It sets
// the lists to empty, because an unset list means all GPUs.
const noGPUText = "gs_ids= gs_visible= gs_uuids= gs_containers=void\n"

// setParams sets the values of an array's parameters for the current task.
func (m *mapping) setParams(b *strings.Builder) {
	if m.r.Array == nil || len(m.r.Array.Params) == 0 {
		return
	}
	scale := 1
	for i, p := range slices.Backward(m.r.Array.Params) {
		fmt.Fprintf(b, "case $((SLURM_ARRAY_TASK_ID / %d %% %d)) in\n", scale, len(p.Values))
		for n, v := range p.Values {
			fmt.Fprintf(b, "%d) gs_p%d=%s ;;\n", n, i, quote(v))
		}
		b.WriteString("esac\n")
		scale *= len(p.Values)
	}
}

// jobVariables returns the variables that describe the job. Nothing else may set them.
func (m *mapping) jobVariables() []string {
	list := []string{
		`GPUSCHED_ENGINE=slurm`, `GPUSCHED_JOB_ID="$gs_id"`, `GPUSCHED_ATTEMPT="$gs_attempt"`,
		`CUDA_DEVICE_ORDER=PCI_BUS_ID`, `CUDA_VISIBLE_DEVICES="$gs_visible"`, `NVIDIA_VISIBLE_DEVICES="$gs_containers"`,
		`GPUSCHED_GPU_IDS="$gs_ids"`, `GPUSCHED_GPU_UUIDS="$gs_uuids"`,
		`GPUSCHED_GPU_SHARE=` + job.FormatGPUs(m.r.GPUMilli),
	}
	if m.r.GPUMemBytes>>20 > 0 {
		list = append(list, "GPUSCHED_GPU_MEM_MIB="+strconv.FormatInt(m.r.GPUMemBytes>>20, 10))
	}
	if m.r.Array != nil {
		list = append(list, `GPUSCHED_ARRAY_JOB="$SLURM_ARRAY_JOB_ID"`, `GPUSCHED_ARRAY_TASK="$SLURM_ARRAY_TASK_ID"`)
	}
	return list
}

// commandWords returns the last command of the script: env with all variables, followed by the
// program or by the shell that runs the setup and then executes the program.
func (m *mapping) commandWords(e *environment) string {
	ours := strings.Join(m.jobVariables(), " ")
	program := m.program()
	words := append([]string{"/usr/bin/env"}, e.arguments()...)
	s := m.p.Setup
	if s.Command == "" && len(s.Modules) == 0 && s.Conda == "" {
		return strings.Join(append(words, ours, program), " ")
	}
	words = append(words, setupVariable+"="+quote(s.Command), shellWord, "-c", quote(setupText), "gpusched-setup",
		strconv.Itoa(len(s.Modules)), quote(e.front), quote(s.Conda))
	for _, name := range s.Modules {
		words = append(words, quote(name))
	}
	return strings.Join(append(words, "/usr/bin/env", ours, program), " ")
}

// program returns the job's command. If the first word contains "=", env would treat it as a
// variable. program then puts 'nice -n 0' before the word, which changes nothing else.
func (m *mapping) program() string {
	argv := m.p.Setup.WithCUDA(m.p.Argv, cudaMark)
	words := job.Each(argv, m.expand)
	if strings.Contains(argv[0], "=") || strings.Contains(argv[0], "{") || strings.HasPrefix(argv[0], "-") {
		words = append([]string{"nice", "-n", "0", "--"}, words...)
	}
	return strings.Join(words, " ")
}

// cudaMark marks the place of the GPUs in an argument. Arguments contain no NUL.
const cudaMark = "\x00"

// expand quotes an argument and replaces {name} with the value of the parameter.
func (m *mapping) expand(word string) string {
	var b strings.Builder
	for word != "" {
		at, name, value := m.nextMark(word)
		if at > 0 || name == "" {
			b.WriteString(quote(word[:at]))
		}
		b.WriteString(value)
		word = word[at+len(name):]
	}
	if b.Len() == 0 {
		return "''"
	}
	return b.String()
}

// nextMark finds the first part of a word that must
// be replaced. It chooses as strings.Replacer would.
func (m *mapping) nextMark(word string) (at int, mark, value string) {
	at = len(word)
	if i := strings.Index(word, cudaMark); i >= 0 {
		at, mark, value = i, cudaMark, `"$gs_visible"`
	}
	if m.r.Array == nil {
		return at, mark, value
	}
	for i, p := range m.r.Array.Params {
		name := "{" + p.Name + "}"
		if j := strings.Index(word, name); j >= 0 && j < at {
			at, mark, value = j, name, `"$gs_p`+strconv.Itoa(i)+`"`
		}
	}
	return at, mark, value
}
