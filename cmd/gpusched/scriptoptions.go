package main

import (
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
	argv, err := c.argv(a)
	if err != nil {
		return c, a, err
	}
	dir, err := a.workDir(c.Chdir)
	if err != nil {
		return c, a, err
	}
	s, err := a.scriptOf(dir, argv[0])
	if s == nil || err != nil {
		return c, a, err
	}
	p, err := newParser(&struct {
		Submit submitCmd `cmd:""`
	}{}, io.Discard, func(int) {})
	if err != nil {
		return c, a, err
	}
	options, err := s.options(a, p)
	if err != nil {
		return c, a, err
	}
	elsewhere := c.Chdir == "" && slices.ContainsFunc(options, func(w string) bool {
		return strings.HasPrefix(w, "--chdir") || strings.HasPrefix(w, "-C")
	})
	this := *a
	typed := a.words[1 : len(a.words)-len(c.Command)]
	this.words = slices.Concat(a.words[:1], options, typed, []string{"--"}, s.command(argv[1:], elsewhere))
	k, err := p.Parse(this.words)
	if err != nil {
		return c, a, misused(err)
	}
	whole := *k.Selected().Target.Addr().Interface().(*submitCmd)
	whole.prefer(c)
	return &whole, &this, nil
}

// prefer puts in what the command line says instead of the script, where adding one
// to the other would not do.
func (c *submitCmd) prefer(typed *submitCmd) {
	if len(typed.AfterStart)+len(typed.AfterOK)+len(typed.AfterFail)+len(typed.AfterAny) > 0 {
		c.AfterStart, c.AfterOK = typed.AfterStart, typed.AfterOK
		c.AfterFail, c.AfterAny = typed.AfterFail, typed.AfterAny
	}
	if typed.Tasks != "" || len(typed.Param) > 0 {
		c.Tasks, c.Param = typed.Tasks, typed.Param
	}
	switch mine, its := &c.Request, &typed.Request; {
	case its.GPUMilli >= 0 && len(its.GPUIDs) == 0:
		mine.GPUIDs = nil
	case len(its.GPUIDs) > 0 && its.GPUMilli < 0:
		mine.GPUMilli = -1
	}
}

// options are those of the script, sbatch's first, as words of a command line.
func (s *scriptFile) options(a *app, p *kong.Kong) ([]string, error) {
	batch, isBatch := &slurm.Batch{}, false
	var own []string
	for _, l := range s.lines {
		words, err := splitWords(l.text)
		if err == nil && strings.IndexByte(l.text, 0) >= 0 {
			err = usagef("there is a NUL byte in it")
		}
		if err == nil && strings.HasSuffix(l.text, "\r") {
			err = usagef("it has the line end of Windows")
		}
		if err == nil && l.mark == "#SBATCH" {
			isBatch = true
			err = batch.Add(words)
		} else if err == nil {
			own = append(own, words...)
			err = s.checkOwn(p, words)
		}
		if err != nil {
			return nil, s.wrong(l.number, err)
		}
	}
	if !isBatch {
		return own, nil
	}
	words, err := batch.Words()
	if err == nil {
		_, err = p.Parse(append([]string{"submit"}, words...))
	}
	if err != nil {
		return nil, refuse(api.CodeUsage, "", "%s: #SBATCH: %s", s.name, reworded(err.Error()))
	}
	s.tell(a, batch, own)
	return append(words, own...), nil
}

// tell says what of sbatch's options has another meaning here, or none.
func (s *scriptFile) tell(a *app, b *slurm.Batch, own []string) {
	for _, text := range b.Notes() {
		a.note("%s: %s", s.name, text)
	}
	if list := b.Ignored(); len(list) > 0 {
		a.note("%s: without a meaning on this machine: %s", s.name, strings.Join(list, ", "))
	}
	if b.NoGPU() && !slices.ContainsFunc(slices.Concat(own, a.words), asksGPUs) {
		a.note("%s: its #SBATCH lines ask no GPU, so it gets none (-g 1 for one)", s.name)
	}
}

// asksGPUs reports whether a word is an option that says how many GPUs.
func asksGPUs(word string) bool {
	return strings.HasPrefix(word, "-g") || strings.HasPrefix(word, "--gpus") || strings.HasPrefix(word, "--gpu-ids")
}

// checkOwn parses a line of our own options, so that an error has its number.
func (s *scriptFile) checkOwn(p *kong.Kong, words []string) error {
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
		if f := at.Flag; f != nil && (f.Name == "file" || f.Group != nil && (f.Group.Key == "self" || f.Group.Key == "output")) {
			return usagef("--%s is for the command line", f.Name)
		}
	}
	return nil
}

// wrong is an error with the place in the script.
func (s *scriptFile) wrong(number int, err error) error {
	text, hint := err.Error(), ""
	if e, ok := err.(*api.Error); ok {
		text, hint = e.Message, e.Hint
	}
	return refuse(api.CodeUsage, hint, "%s", s.name+" line "+strconv.Itoa(number)+": "+text)
}
