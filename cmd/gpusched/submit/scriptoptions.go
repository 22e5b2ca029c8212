package submit

import (
	"cmp"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// withLines parses the command line again. It puts the options of the script first.
func (c *JobOptions) withLines(a *cli.App, s *scriptFile, argv []string) (NewJob, *cli.App, error) {
	p, err := parse.New(&struct {
		Submit Cmd      `cmd:""`
		Run    RunCmd   `cmd:""`
		Shell  ShellCmd `cmd:""`
	}{}, io.Discard, func(int) {})
	if err != nil {
		return nil, a, err
	}
	o, err := s.options(p, a.Other() != nil)
	if err != nil {
		return nil, a, err
	}
	moves := func(w string) bool { return strings.HasPrefix(w, "--chdir") || strings.HasPrefix(w, "-C") }
	moved := c.Chdir == "" && slices.ContainsFunc(o.words, moves)
	this := *a
	typed := a.Words[1 : len(a.Words)-len(c.Command)]
	command := s.command(argv[1:], moved)
	this.Words = slices.Concat(a.Words[:1], o.words, typed, []string{"--"}, command)
	k, err := p.Parse(this.Words)
	if err != nil {
		return nil, a, s.addPlace("", parse.Misused(err))
	}
	whole := k.Selected().Target.Addr().Interface().(NewJob)
	asks := &whole.Options().Request
	if o.noGPU && asks.GPUMilli < 0 && len(asks.GPUIDs) == 0 {
		asks.GPUMilli = 0
		o.notes = append(o.notes, "its #SBATCH lines ask for no GPU, so it gets none (-g 1 asks for one)")
	}
	name := cli.ShellWord(cmp.Or(whole.Options().Label.Name, DefaultName(command)))
	if whole.Options().copyErrors(strings.ReplaceAll(o.errors, slurm.NameInSetup, name), o.setup) {
		o.notes = append(o.notes, "in an image, standard error has no file of its own")
	}
	for _, text := range o.notes {
		a.NoteOnce(s.name + ": " + text)
	}
	if e := a.Other(); e != nil {
		this.Client = e.With(o.nativeFor(asks)...)
	}
	return whole, &this, nil
}

// copyErrors adds the script's command that copies standard error to a file of its own, unless the
// command line has another such file. Then the script's own set-up follows. copyErrors reports whether
// there is no such file, because of an image.
func (c *JobOptions) copyErrors(command, setup string) (none bool) {
	typed := slurm.CopiesErrors(c.Setup)
	switch {
	case c.IsContainer() && typed:
		c.Setup = ""
		return true
	case typed:
		c.Setup = strings.TrimSuffix(c.Setup+"\n"+setup, "\n")
	case command != "" && !c.IsContainer():
		c.Setup = strings.TrimSuffix(command+"\n"+c.Setup, "\n")
	}
	return command != "" && c.IsContainer()
}

// scriptOptions are the options that the lines of a script contain.
type scriptOptions struct {
	words  []string // the options, those of #SBATCH lines first
	errors string   // the set-up that copies standard error, of #SBATCH lines
	setup  string   // that of #GPUSCHED lines
	notes  []string // notes about options that have a different meaning here, or none
	noGPU  bool     // the script has #SBATCH lines that request no GPU

	native []string // options that Slurm gets unchanged
}

// nativeFor returns the native options. It leaves out those that the command line or a #GPUSCHED
// line overrides.
func (o scriptOptions) nativeFor(asks *job.Request) []string {
	return slices.DeleteFunc(o.native, func(w string) bool {
		return strings.HasPrefix(w, "--gpus-per-task=") && !slices.Contains(o.words, "--gpus="+job.FormatGPUs(asks.GPUMilli)) ||
			strings.HasPrefix(w, "--mem-per-") && asks.MemBytes > 0 ||
			strings.HasPrefix(w, "--cpus-per-gpu=") && asks.CPUs > 0
	})
}

// options returns the options of all lines. For a job on Slurm, it also keeps options that only
// Slurm understands.
func (s *scriptFile) options(p *kong.Kong, forSlurm bool) (o scriptOptions, err error) {
	var batch *slurm.Batch
	var own []string
	for _, l := range s.lines {
		words, err := l.splitOptions()
		if err == nil && l.mark == "#SBATCH" {
			node, _ := os.Hostname()
			batch = cmp.Or(batch, &slurm.Batch{ForSlurm: forSlurm, Node: node})
			err = batch.Add(words)
		} else if err == nil {
			own = append(own, words...)
			var line *Cmd
			if line, err = ParseOwn(p, words); err == nil {
				o.setup = cmp.Or(line.Setup, o.setup)
			}
		}
		if err != nil {
			return o, s.addPlace(" line "+strconv.Itoa(l.number), err)
		}
	}
	if batch == nil {
		o.words = own
		return o, nil
	}
	lost := ""
	if o.words, err = batch.Words(); err == nil {
		if !forSlurm { // Slurm sends mail itself
			o.words, lost = WithoutMail(o.words)
		}
		o.words = slices.DeleteFunc(o.words, func(w string) bool {
			setup, is := strings.CutPrefix(w, "--setup=")
			if is {
				o.errors = setup
			}
			return is
		})
		err = checkOwn(p, o.words)
	}
	if err != nil {
		return o, s.addPlace(": #SBATCH", err)
	}
	o.words = append(o.words, own...)
	o.notes, o.noGPU, o.native = batch.Notes(), batch.NoGPU(), batch.Native()
	if lost != "" {
		o.notes = append(o.notes, lost)
	}
	if list := batch.Ignored(); len(list) > 0 {
		o.notes = append(o.notes, "ignored here: "+strings.Join(list, ", "))
	}
	return o, nil
}

// splitOptions splits the line into options.
func (l *scriptLine) splitOptions() ([]string, error) {
	switch {
	case strings.IndexByte(l.text, 0) >= 0:
		return nil, cli.Usagef("it contains a NUL byte")
	case strings.HasSuffix(l.text, "\r"):
		return nil, cli.Usagef("it has a Windows line ending: convert the file, such as with sed -i 's/\\r$//'")
	}
	if l.mark == "#SBATCH" {
		return cli.SplitEscaped(l.text, "")
	}
	return cli.SplitWords(l.text)
}

// NewSubmitParser returns a parser that knows only the command submit.
func NewSubmitParser() (*kong.Kong, error) {
	return parse.New(&struct {
		Submit Cmd `cmd:""`
	}{}, io.Discard, func(int) {})
}

// checkOwn parses the options of one line alone, so that an error can name the line.
func checkOwn(p *kong.Kong, words []string) error {
	_, err := ParseOwn(p, words)
	return err
}

// ParseOwn parses options from a file. It refuses options that make sense only on a command line.
func ParseOwn(p *kong.Kong, words []string) (*Cmd, error) {
	k, err := p.Parse(append([]string{"submit"}, words...))
	if err != nil {
		return nil, parse.Misused(err)
	}
	if err := parse.CheckWords(k, words); err != nil {
		return nil, err
	}
	c := k.Selected().Target.Addr().Interface().(*Cmd)
	if len(c.Command) > 0 {
		return nil, cli.Usagef("%q is not an option: the command is the script itself", c.Command[0])
	}
	for _, at := range k.Path {
		f := at.Flag
		if f != nil && "--"+f.Name == cli.OnFlag {
			return nil, onIsTyped("submit ./script")
		}
		if f == nil || f.Name == "force" || f.Group == nil {
			continue
		}
		if f.Name == "file" || f.Group.Key == "self" || f.Group.Key == "output" {
			return nil, cli.Usagef("--%s works on the command line only", f.Name)
		}
	}
	return c, nil
}

// onIsTyped returns the error for a file that selects an engine. The argument suchAs is a correct
// command line.
func onIsTyped(suchAs string) error {
	return cli.Refuse(api.CodeUsage, "such as 'gpusched "+cli.OnFlag+" "+cli.EngineSlurm+" "+suchAs+"'", "%s works on the command line only", cli.OnFlag)
}

// addPlace adds the place in the script to an error message.
func (s *scriptFile) addPlace(place string, err error) error {
	var e *api.Error
	if errors.As(err, &e) {
		return cli.Refuse(api.CodeUsage, e.Hint, "%s%s: %s", s.name, place, e.Message)
	}
	return cli.Usagef("%s%s: %v", s.name, place, err)
}
