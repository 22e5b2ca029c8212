package feed

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/estimate"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/jobsfile"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/cmd/gpusched/submit"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// A fileEntry is an entry of a file of jobs, and what is known about that entry.
type fileEntry struct {
	jobsfile.Entry
	key   string
	known job.ID   // the job that the entry became in an earlier run; 0: none
	words []string // the command line for gpusched submit
}

// A fileReader turns entries into command lines for gpusched submit. It turns these command lines
// into requests.
type fileReader struct {
	a       *cli.App
	parser  *kong.Kong
	name    string   // the file's name in messages
	options []string // options for every line
	format  jobsfile.Format
	models  bool // a table of models exists
	again   bool // queue jobs again that have completed
}

// newFileReader returns a reader. It checks the options that apply to every line.
func newFileReader(a *cli.App, name string, format jobsfile.Format, options []string) (*fileReader, error) {
	p, err := submit.NewSubmitParser()
	if err != nil {
		return nil, err
	}
	common, err := submit.ParseOwn(p, options)
	if err == nil {
		err = queuedHere(&common.JobOptions)
	}
	if err != nil {
		return nil, err
	}
	r := &fileReader{a: a, parser: p, name: name, format: format, options: options}
	own := func(word string) bool { return strings.HasPrefix(word, "--llm-config") }
	_, err = (&estimate.ModelOptions{}).Tables(a.Getenv)
	r.models = err == nil || slices.ContainsFunc(options, own)
	return r, nil
}

// entries parses a text and gives each entry its key. For a new ledger it also finds the highest
// rank and records it.
func (r *fileReader) entries(text string, l *ledger) ([]fileEntry, error) {
	format := r.format
	if format == "auto" {
		format = jobsfile.Detect(text)
	}
	list := jobsfile.Parse(format, text)
	if !l.begun && len(list) > 0 {
		top := 0
		for _, e := range list {
			top = max(top, e.Rank())
		}
		if err := l.writeHead(top); err != nil {
			return nil, err
		}
	}
	seen := map[string]int{}
	out := make([]fileEntry, len(list))
	for i, e := range list {
		out[i] = fileEntry{Entry: e}
		if e.Err != nil {
			continue
		}
		id := e.Identity()
		seen[id]++
		out[i].key = l.key(id, seen[id])
		out[i].known = l.jobs[out[i].key]
		if out[i].known == 0 {
			out[i].words, out[i].Err = r.submitWords(&out[i], l.head.Top)
		}
	}
	return out, nil
}

// rank returns the priority of the queued job. In the format Spec, the file's priority is used
// unchanged. In the format Columns, lower numbers go first, and the first entry gets priority 0.
func (e *fileEntry) rank(top int) int {
	if e.Script == "" && e.HasPriority {
		return e.Priority
	}
	return e.capped(top)
}

// capped returns the priority for a user who may not raise priorities: 0 for the first entry of the
// file, and less for later entries.
func (e *fileEntry) capped(top int) int { return min(0, e.Rank()-top) }

// submitWords returns the command line that queues the entry.
func (r *fileReader) submitWords(e *fileEntry, top int) ([]string, error) {
	own, argv, err := r.command(e.Entry)
	if err != nil {
		return nil, err
	}
	note := fmt.Sprintf("%s line %d", r.name, e.Number)
	if e.HasPriority {
		order := "higher goes first"
		if e.Script != "" {
			order = "lower goes first"
		}
		note += fmt.Sprintf(", priority %d there (%s)", e.Priority, order)
	}
	if rank := e.rank(top); rank != 0 {
		own = append(own, "--priority="+strconv.Itoa(rank))
	}
	if e.GPUs != "" {
		own = append(own, "--gpus="+e.GPUs)
	}
	if e.From != "" {
		own = append(own, "--gpus-from="+e.From)
	}
	return slices.Concat([]string{"submit", "--comment=" + cli.PrintableName(note)}, r.options, own, []string{"--"}, argv), nil
}

// command returns the entry's command and the options that the command needs.
func (r *fileReader) command(e jobsfile.Entry) (options, argv []string, err error) {
	if e.Script == "" {
		argv, err = cli.SplitWords(e.Command)
		if len(argv) > 0 && strings.HasPrefix(argv[0], "-") {
			return nil, nil, cli.Refuse(api.CodeUsage, "options for every line come after the file, as in: gpusched import "+cli.ShellWord(r.name)+
				" -- -g 2; lines with options of their own are for 'gpusched submit --file "+cli.ShellWord(r.name)+"'",
				"a line of a file of commands has no options, and %q is an option", argv[0])
		}
		if err != nil || len(argv) > 0 && !forShell().MatchString(e.Command) {
			return nil, argv, err
		}
		return []string{"--name=" + submit.DefaultName(strings.Fields(e.Command))}, r.shell(e.Command), nil
	}
	args, err := cli.SplitWords(e.Args)
	if err != nil {
		return nil, nil, err
	}
	argv = append(r.interpreter(e), append([]string{e.Script}, args...)...)
	if r.a.Other() == nil && !r.again { // with Slurm, only the ledger knows which entries were queued
		options = append(options, "--dedup")
	}
	switch model := estimate.ArgumentOf(argv, "--llm"); {
	case model == "":
	case r.models:
		options = append(options, "--llm=auto")
	default:
		r.a.NoteOnce(r.name + " names models (--llm " + model + "), but there is no table of models, so each job gets a whole GPU: " +
			"name one with -- --llm-config FILE")
	}
	if r.a.Other() == nil && estimate.ArgumentOf(argv, "--cuda") != "" { // inside the job, the GPUs have other numbers
		options = append(options, "--cuda-arg")
	}
	if e.Conda != "" {
		options = append(options, "--conda="+e.Conda)
	}
	return options, argv, nil
}

// shell returns the command that runs a line in a shell. A line with a pipe runs in bash, so that
// the job fails if any part of the pipe fails.
func (r *fileReader) shell(line string) []string {
	if pipes().MatchString(line) && jobenv.InPath("bash", r.a.Environ) {
		return piped(line)
	}
	return []string{"sh", "-c", line}
}

// piped returns the command that runs a line with a pipe. A command may end by SIGPIPE (status 141)
// because its reader needed no more, as in 'yes | head -1'. This is a failure only if && or ||
// follows the pipe, since the commands after it may not have run.
func piped(line string) []string {
	if !goesOn().MatchString(line) {
		line += "\nc=$? p=${PIPESTATUS[*]}; [[ $p =~ ^((0|141)\\ )+0$ ]] && exit; exit $c"
	}
	return []string{"bash", "-o", "pipefail", "-c", line}
}

// goesOn matches a pipe followed by && or ||.
var goesOn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)\|.*(&&|\|\|)`) })

// pipes is a pattern for a single pipe, not ||.
var pipes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[^|])\|([^|]|$)`) })

// forShell matches text that only a shell understands: operators, a variable before the command,
// and built-in commands.
var forShell = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("[|&;<>()$`*?~\\[\\]{}!\\\\]|^\\s*[A-Za-z_][A-Za-z_0-9]*=|^\\s*(cd|source|export|ulimit|exec|eval|set|trap|\\.)(\\s|$)")
})

// interpreter returns the interpreter for a script in the format Columns. The default is Python. If
// the file name has another ending, the script runs without an interpreter.
func (r *fileReader) interpreter(e jobsfile.Entry) []string {
	if ext := filepath.Ext(e.Script); ext != ".py" && ext != "" {
		return nil
	}
	if e.Conda == "" && !jobenv.InPath("python", r.a.Environ) {
		return []string{"python3"}
	}
	return []string{"python"}
}

// request makes the request for a new entry. It also returns the engine that the request is for.
func (r *fileReader) request(ctx context.Context, e *fileEntry) (req api.SubmitRequest, engine api.Engine, err error) {
	this := *r.a
	this.Words = e.words
	k, err := r.parser.Parse(e.words)
	if err != nil {
		return req, nil, parse.Misused(err)
	}
	typed := *k.Selected().Target.Addr().Interface().(*submit.Cmd)
	if err := parse.CheckWords(k, e.words); err != nil {
		return req, nil, err
	}
	c, mine, err := typed.WithScript(ctx, &this)
	if err != nil {
		return req, nil, err
	}
	if err := queuedHere(&c.JobOptions); err != nil {
		return req, nil, err
	}
	if req, err = c.MakeRequest(ctx, mine); err != nil {
		return req, nil, err
	}
	if err := c.CheckProgram(mine, &req); err != nil {
		return req, nil, err
	}
	if err := req.Faults(); err != nil {
		return req, nil, cli.Usagef("%s", words.Error(err))
	}
	req.Key = e.key
	return req, mine.Client, nil
}

// queuedHere refuses a job for another machine: a ledger has job numbers of one scheduler.
func queuedHere(c *submit.JobOptions) error {
	switch {
	case c.Snapshot != nil:
		return cli.Refuse(api.CodeUsage, "leave it out, or use submit --file, whose lines may have it",
			"--snapshot: import and watch queue jobs later than you type them")
	case c.Host == "":
		return nil
	}
	return cli.Refuse(api.CodeUsage, "leave it out, or use submit --file, whose lines may have it, or log in there by ssh",
		"--host %s: import and watch queue jobs only on the machine where they run", c.Host)
}

// absolute returns a file's absolute path, which identifies the file from any directory.
func absolute(a *cli.App, name string) (string, error) {
	path, err := jobenv.WorkDir(a, name)
	if err != nil {
		return "", err
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path, nil
}
