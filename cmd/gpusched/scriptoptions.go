package main

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
)

// withScript returns the submission with the options that stand in its script, and
// the words that belong to it. The options of the command line win.
func (c *submitCmd) withScript(a *app) (*submitCmd, *app, error) {
	k, this, err := c.scripted(a)
	if k == nil {
		return c, a, err
	}
	whole := *k.Selected().Target.Addr().Interface().(*submitCmd)
	whole.prefer(&c.jobOptions)
	if c.Tasks != "" || len(c.Param) > 0 {
		whole.Tasks, whole.Param = c.Tasks, c.Param
	}
	return &whole, this, nil
}

// withScript is the same for a job that somebody stays with.
func (c *runCmd) withScript(a *app) (*runCmd, *app, error) {
	k, this, err := c.scripted(a)
	if k == nil {
		return c, a, err
	}
	whole := *c
	whole.jobOptions = *optionsOf(k)
	whole.prefer(&c.jobOptions)
	return &whole, this, nil
}

// scripted parses the command line with the options that stand in its script. It returns
// nil where none do.
func (c *jobOptions) scripted(a *app) (*kong.Context, *app, error) {
	argv, err := c.argv(a)
	if err != nil {
		return nil, a, err
	}
	dir, err := a.workDir(c.Chdir)
	if err != nil {
		return nil, a, err
	}
	s, err := a.scriptOf(dir, argv[0])
	if err == nil && s != nil && !c.Force {
		err = s.runs(a)
	}
	if s == nil || err != nil || len(s.lines) == 0 && s.itself() {
		return nil, a, err
	}
	p, err := newParser(&struct {
		Submit submitCmd `cmd:""`
		Run    runCmd    `cmd:""`
		Shell  shellCmd  `cmd:""`
	}{}, io.Discard, func(int) {})
	if err != nil {
		return nil, a, err
	}
	o, err := s.options(p)
	if err != nil {
		return nil, a, err
	}
	moves := func(w string) bool { return strings.HasPrefix(w, "--chdir") || strings.HasPrefix(w, "-C") }
	elsewhere := c.Chdir == "" && slices.ContainsFunc(o.words, moves)
	this := *a
	typed := a.words[1 : len(a.words)-len(c.Command)]
	this.words = slices.Concat(a.words[:1], o.words, typed, []string{"--"}, s.command(argv[1:], elsewhere))
	k, err := p.Parse(this.words)
	if err != nil {
		return nil, a, s.wrong("", misused(err))
	}
	asks := &optionsOf(k).Request
	if o.noGPU && asks.GPUMilli < 0 && len(asks.GPUIDs) == 0 {
		asks.GPUMilli = 0
		o.notes = append(o.notes, "its #SBATCH lines ask no GPU, so it gets none (-g 1 for one)")
	}
	for _, text := range o.notes {
		a.noteOnce(s.name + ": " + text)
	}
	return k, &this, nil
}

func (c *jobOptions) options() *jobOptions { return c }

func optionsOf(k *kong.Context) *jobOptions {
	return k.Selected().Target.Addr().Interface().(interface{ options() *jobOptions }).options()
}

// prefer puts in what the command line says instead of the script, where adding one
// to the other would not do.
func (c *jobOptions) prefer(typed *jobOptions) {
	if len(typed.AfterStart)+len(typed.AfterOK)+len(typed.AfterFail)+len(typed.AfterAny) > 0 {
		c.AfterStart, c.AfterOK = typed.AfterStart, typed.AfterOK
		c.AfterFail, c.AfterAny = typed.AfterFail, typed.AfterAny
	}
	if len(typed.Tell) > 0 {
		c.notifyOptions = typed.notifyOptions
	}
	switch mine, its := &c.Request, &typed.Request; {
	case its.GPUMilli >= 0 && len(its.GPUIDs) == 0:
		mine.GPUIDs = nil
	case len(its.GPUIDs) > 0 && its.GPUMilli < 0:
		mine.GPUMilli = -1
	}
}

// scriptOptions is what a script says of its job.
type scriptOptions struct {
	words []string // as of a command line, those for sbatch first
	notes []string // about what has another meaning here, or none
	noGPU bool     // it is one for sbatch and asks no GPU
}

func (s *scriptFile) options(p *kong.Kong) (o scriptOptions, err error) {
	var batch *slurm.Batch
	var own []string
	for _, l := range s.lines {
		words, err := l.words()
		if err == nil && l.mark == "#SBATCH" {
			batch = cmp.Or(batch, &slurm.Batch{})
			err = batch.Add(words)
		} else if err == nil {
			own = append(own, words...)
			err = checkOwn(p, words)
		}
		if err != nil {
			return o, s.wrong(" line "+strconv.Itoa(l.number), err)
		}
	}
	if batch == nil {
		return scriptOptions{words: own}, nil
	}
	lost := ""
	if o.words, err = batch.Words(); err == nil {
		o.words, lost = withoutMail(o.words)
		err = checkOwn(p, o.words)
	}
	if err != nil {
		return o, s.wrong(": #SBATCH", err)
	}
	o.words = append(o.words, own...)
	o.notes, o.noGPU = batch.Notes(), batch.NoGPU()
	if lost != "" {
		o.notes = append(o.notes, lost)
	}
	if list := batch.Ignored(); len(list) > 0 {
		o.notes = append(o.notes, "without a meaning on this machine: "+strings.Join(list, ", "))
	}
	return o, nil
}

// words are the options of the line.
func (l *scriptLine) words() ([]string, error) {
	switch {
	case strings.IndexByte(l.text, 0) >= 0:
		return nil, usagef("there is a NUL byte in it")
	case strings.HasSuffix(l.text, "\r"):
		return nil, usagef("it has the line end of Windows: convert the file, with sed -i 's/\\r$//' and the like")
	}
	return splitWords(l.text)
}

// checkOwn parses options by themselves, so that an error has its place.
func checkOwn(p *kong.Kong, words []string) error {
	k, err := p.Parse(append([]string{"submit"}, words...))
	if err != nil {
		return misused(err)
	}
	if err := legible(k, words); err != nil {
		return err
	}
	c := k.Selected().Target.Addr().Interface().(*submitCmd)
	if len(c.Command) > 0 {
		return usagef("%q is not an option: the command is the script itself", c.Command[0])
	}
	for _, at := range k.Path {
		f := at.Flag
		if f == nil || f.Name == "force" || f.Group == nil {
			continue
		}
		if f.Name == "file" || f.Group.Key == "self" || f.Group.Key == "output" {
			return usagef("--%s is for the command line", f.Name)
		}
	}
	return nil
}

// wrong is an error with the place in the script.
func (s *scriptFile) wrong(place string, err error) error {
	var e *api.Error
	if errors.As(err, &e) {
		return refuse(api.CodeUsage, e.Hint, "%s%s: %s", s.name, place, e.Message)
	}
	return usagef("%s%s: %v", s.name, place, err)
}

// noteOnce says something once, however many jobs it is about.
func (a *app) noteOnce(text string) {
	if !a.noted[text] {
		a.noted[text] = true
		a.note("%s", text)
	}
}
