package slurm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// A Batch collects the options of one script. As in sbatch, a later option replaces an earlier one
// with the same meaning.
type Batch struct {
	// ForSlurm means that the job is for a Slurm. Options that gpusched does not support are then
	// kept for Slurm (see Native). Otherwise they are ignored or refused.
	ForSlurm bool
	// Node is the name of the machine, which is %N in file names; "" means localhost.
	Node string
	// Step means that the options belong to a step. Then %t stays in file names, since each task
	// has a file of its own.
	Step bool

	native  []string // options for sbatch, one word each
	words   []string // options for gpusched submit, one word each: --name=value
	ignored []string // options that mean nothing here, as they were written
	notes   []string

	gpus, cpus              int // 0 if not given
	gpusSet                 bool
	memPerGPU, memPerCPU    int64 // in bytes
	cpusPerGPU, gpusPerTask int
	gpuType, constraint     string
	bind                    string         // value of --gpu-bind
	tasks                   map[string]int // number of tasks, by the option that set it
	outFile, errorFile      string
	inputFile               string // only of a step
	kills                   bool   // the same
	openMode                string // value of --open-mode
	mailOn                  []string
	mailTo                  string
}

// Add reads the options in the words of an #SBATCH line.
func (b *Batch) Add(words []string) (err error) {
	for len(words) > 0 && err == nil {
		words, err = b.Next(words)
	}
	var unknown Unknown
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w: take it out, or make its line a comment that begins with ##", err)
	}
	return err
}

// Next reads the first option and returns the words that follow it.
func (b *Batch) Next(words []string) ([]string, error) {
	word := words[0]
	words = words[1:]
	o, name, value, err := findOption(word)
	if err != nil {
		return nil, err
	}
	text, given := value, strings.Contains(word, "=") && strings.HasPrefix(word, "--")
	switch {
	case o.value == none && given:
		return nil, fmt.Errorf("%s takes no value", name)
	case o.value == none && value != "": // several letters in one word, as in -Hv
		text, words = "", append([]string{"-" + value}, words...)
	case o.value <= maybeEmpty && !given && value == "":
		if len(words) == 0 {
			return nil, fmt.Errorf("%s needs a value", name)
		}
		text, words = words[0], words[1:]
	case o.value == required && text == "":
		return nil, fmt.Errorf("%s needs a value", name)
	}
	if o.value == maybeEmpty && text == "" {
		return words, nil
	}
	if err := o.read(b, name, text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return words, nil
}

// findOption returns the option that a word names, the name as written, and the value in the same
// word.
func findOption(word string) (o option, name, value string, err error) {
	if long, ok := strings.CutPrefix(word, "--"); ok {
		long, value, _ = strings.Cut(long, "=")
		o, full, err := longOption(long)
		return o, "--" + full, value, err
	}
	if len(word) < 2 || word[0] != '-' {
		return o, "", "", notOption(word)
	}
	for _, o := range options {
		if o.short == word[1] {
			return o, word[:2], word[2:], nil
		}
	}
	return o, "", "", unknown(word[:2])
}

// notOption returns the error for a word that neither is an option nor follows one that takes a value.
func notOption(word string) error {
	if word == "hetjob" || word == "packjob" {
		return fmt.Errorf("%s begins another component, and a job here has only one: submit each component as a job", word)
	}
	return fmt.Errorf(`%q is not an option of sbatch: a value that contains spaces stands in quotation marks, as in --job-name="a b"`, word)
}

// longOption finds an option by its name. As in sbatch, the beginning of the name is enough.
func longOption(long string) (option, string, error) {
	var near []string
	var found option
	for _, o := range options {
		for _, name := range o.names() {
			if name == long {
				return o, name, nil
			}
			if strings.HasPrefix(name, long) && long != "" {
				near, found = append(near, name), o
			}
		}
	}
	switch {
	case len(near) == 1:
		return found, near[0], nil
	case len(near) > 1:
		return found, "", fmt.Errorf("--%s could be any of --%s: write one of them", long, strings.Join(near, ", --"))
	}
	return found, "", unknown("--" + long)
}

// Unknown is the error for an option that is missing from the table.
type Unknown string

func (u Unknown) Error() string {
	text := string(u) + " is not an option of sbatch that has a counterpart here"
	if near := u.Near(); near != "" {
		text += " (did you mean " + near + "?)"
	}
	return text
}

// Near returns the option that was probably meant, or "".
func (u Unknown) Near() string {
	var known []string
	for _, o := range options {
		known = append(known, o.names()...)
	}
	if near := job.Nearest(strings.TrimPrefix(string(u), "--"), known); near != "" && strings.HasPrefix(string(u), "--") {
		return "--" + near
	}
	return ""
}

func unknown(name string) error { return Unknown(name) }

func (b *Batch) set(name, value string) error {
	b.drop(name)
	b.words = append(b.words, "--"+name+"="+value)
	return nil
}

func (b *Batch) flag(name string) error {
	b.drop(name)
	b.words = append(b.words, "--"+name)
	return nil
}

// drop removes earlier options with the same meaning.
func (b *Batch) drop(names ...string) {
	b.words = slices.DeleteFunc(b.words, func(word string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		return slices.Contains(names, name)
	})
}

func (b *Batch) note(format string, args ...any) {
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
}

// Ignored returns the options that mean nothing on this machine, as they were written.
func (b *Batch) Ignored() []string { return b.ignored }

// Notes returns sentences about options that have a different meaning here.
func (b *Batch) Notes() []string { return b.notes }

// Native returns the options that only Slurm understands, as words for sbatch. Without ForSlurm,
// such options are ignored or refused.
func (b *Batch) Native() []string {
	native := slices.Clone(b.native)
	if b.ForSlurm && b.gpusPerTask > 0 {
		if b.Tasks() > 1 && b.tasksSaid() == 0 {
			native = append(native, "--ntasks="+strconv.Itoa(b.Tasks()))
		}
		native = append(native, "--gpus-per-task="+strconv.Itoa(b.gpusPerTask))
	}
	if b.ForSlurm && b.memPerCPU > 0 {
		native = append(native, "--mem-per-cpu="+strconv.FormatInt(b.memPerCPU>>10, 10)+"K")
	}
	if b.ForSlurm && b.memPerGPU > 0 {
		native = append(native, "--mem-per-gpu="+strconv.FormatInt(b.memPerGPU>>10, 10)+"K")
	}
	if b.ForSlurm && b.cpusPerGPU > 0 && b.cpus == 0 {
		native = append(native, "--cpus-per-gpu="+strconv.Itoa(b.cpusPerGPU))
	}
	return native
}

// addNative adds an option to the native options.
func (b *Batch) addNative(name, value string) {
	switch {
	case value == "":
	case strings.HasPrefix(name, "--"):
		name += "=" + value
	default:
		name += value
	}
	b.native = append(b.native, name)
}

// Words returns the options for gpusched submit. If the script requests an amount per GPU or per
// CPU, Words multiplies that amount by the number of GPUs or CPUs.
func (b *Batch) Words() ([]string, error) {
	gpus, asked := b.gpuTotal()
	tasks := b.Tasks()
	several := tasks > 1 && !b.ForSlurm
	cpus, cpusAsked := max(b.cpus, 1)*tasks, b.cpus > 0 || several
	if b.cpusPerGPU > 0 && gpus > 0 && b.cpus == 0 && !b.ForSlurm {
		cpus, cpusAsked = b.cpusPerGPU*gpus, true
	}
	words := slices.Concat(b.words, b.logWords(), b.mailWords())
	if b.TasksAsked() > 0 && !b.ForSlurm && !b.Step {
		words = append(words, "--set-env="+contract.TasksVariable+"="+strconv.Itoa(tasks))
	}
	if !b.ForSlurm && !b.Step {
		words = append(words, b.stepWords(several)...)
	}
	switch {
	case b.ForSlurm && b.cpus > 0: // Slurm itself multiplies the amount
		words = append(words, "--cpus="+strconv.Itoa(b.cpus))
	case cpusAsked:
		words = append(words, "--cpus="+strconv.Itoa(cpus))
	}
	if asked {
		words = append(words, "--gpus="+strconv.Itoa(gpus))
	}
	if b.constraint != "" && gpus > 0 && b.gpuType == "" {
		b.gpuType = b.constraint
	} else if b.constraint != "" && b.constraint != b.gpuType {
		b.ignored = append(b.ignored, "--constraint")
	}
	if b.gpuType != "" {
		words = append(words, "--gpu-type="+b.gpuType)
	}
	if b.memPerGPU > 0 && !b.ForSlurm {
		if gpus == 0 {
			return nil, errors.New("--mem-per-gpu without GPUs")
		}
		words = append(words, memory(b.memPerGPU*int64(gpus)))
	}
	if b.memPerCPU > 0 && !b.ForSlurm {
		words = append(words, memory(b.memPerCPU*int64(cpus)))
	}
	return words, nil
}

// Tasks returns the number of the job's tasks, which is at least 1. --cpus-per-task sets the CPUs
// of each task.
func (b *Batch) Tasks() int { return max(b.TasksAsked(), 1) }

// TasksAsked returns the requested number of tasks, or 0 if none is requested. If only the GPUs per
// task are given, the number of GPUs determines the number of tasks.
func (b *Batch) TasksAsked() int {
	n := cmp.Or(b.tasksSaid(), b.tasks["--ntasks-per-gpu"]*b.gpus)
	if n == 0 && b.gpusPerTask > 0 {
		n = b.gpus / b.gpusPerTask
	}
	return n
}

// GPUsPerTask returns how many GPUs each task has to itself, or 0 if not given.
func (b *Batch) GPUsPerTask() int { return b.gpusPerTask }

func (b *Batch) tasksSaid() int { return cmp.Or(b.tasks["--ntasks"], b.tasks["--ntasks-per-node"]) }

// gpuTotal returns the number of the job's GPUs. The second result says whether the script requests
// GPUs, directly or by the number of tasks.
func (b *Batch) gpuTotal() (gpus int, requested bool) {
	switch n, perGPU := b.tasksSaid(), b.tasks["--ntasks-per-gpu"]; {
	case b.gpusSet:
		return b.gpus, true
	case b.gpusPerTask > 0:
		return b.gpusPerTask * max(n, 1), true
	case perGPU > 0 && n > 0 && !b.ForSlurm:
		return (n + perGPU - 1) / perGPU, true
	}
	return 0, false
}

// NoGPU reports whether the script requests no GPU, which is sbatch's default.
func (b *Batch) NoGPU() bool {
	_, asked := b.gpuTotal()
	return !asked
}

func memory(bytes int64) string { return "--mem=" + strconv.FormatInt(bytes, 10) + "B" }
