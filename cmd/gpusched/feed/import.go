package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/act"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobsfile"
	"github.com/gpusched/gpusched/cmd/gpusched/oldconfig"
	"github.com/gpusched/gpusched/cmd/gpusched/submit"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// ImportCmd queues the jobs of another scheduler's file, or converts its settings.
type ImportCmd struct {
	Format string   `name:"format" placeholder:"FORMAT" enum:"auto,commands,columns,spec,settings" default:"auto" group:"self"`
	DryRun bool     `name:"dry-run" group:"self"`
	Shared bool     `name:"shared" group:"self"`
	Again  bool     `name:"again" group:"self"`
	File   string   `arg:"" name:"file" help:"The file, or - for standard input. 'slurm': the accounts and QOS of a Slurm, from sacctmgr or from the file named after it."`
	Option []string `arg:"" optional:"" name:"option" help:"Options of submit for every line, after --."`
	cli.OutputFlags
}

func (*ImportCmd) About() cli.About {
	return cli.About{Host: cli.OnlyHere, Hosts: cli.OneAtATime, Slurm: cli.ForSlurm}
}

func (c *ImportCmd) Run(ctx context.Context, a *cli.App) error {
	if c.File == "slurm" && !submit.IsRegular(c.File) {
		return c.accounts(ctx, a)
	}
	var file os.FileInfo // nil if standard input is read
	text, err := submit.FileText(ctx, c.File, func(info os.FileInfo) error { file = info; return nil })
	if err != nil {
		return err
	}
	spec := jobsfile.Detect(text) == jobsfile.Spec
	if c.Format == "auto" && oldconfig.IsAccounts(text) {
		return c.printQuotas(a, text)
	}
	if c.Format == "settings" || c.Format == "auto" && !spec && oldconfig.Is(c.File, text) {
		return c.printSettings(a, text)
	}
	r, err := newFileReader(a, filepath.Base(c.File), jobsfile.Format(c.Format), c.Option)
	if err != nil {
		return err
	}
	r.again = c.Again
	l := &ledger{head: ledgerHead{Run: api.NewKey()}, jobs: map[string]job.ID{}}
	if submit.IsRegular(c.File) && c.File != "-" {
		path, err := absolute(a, c.File)
		if err != nil {
			return err
		}
		if l, err = openLedger(a, path, c.Again && !c.DryRun); err != nil {
			return err
		}
		defer l.close()
		if c.DryRun {
			l.stopRecording(c.Again)
		}
		if err := l.check(ctx, a); err != nil && !c.DryRun {
			return err
		}
	}
	list, err := r.entries(text, l)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return cli.Refuse(api.CodeUsage, "see 'gpusched import --help'", "there is no job in %q", c.File)
	}
	if c.DryRun {
		return r.printPlan(list)
	}
	if file != nil && !c.Shared {
		if err := submit.RefuseShared(a, c.File, file); err != nil {
			return err
		}
	}
	a.RestoreLimits()
	return c.queue(ctx, r, list, l)
}

// printSettings prints the converted settings and a note on each.
func (c *ImportCmd) printSettings(a *cli.App, text string) error {
	r, err := oldconfig.Convert(c.File, text)
	if err != nil {
		return cli.Refuse(api.CodeUsage, "see 'gpusched import --help'", "%q: %v", c.File, err)
	}
	a.Out.Printf("# From %s's %s, for a file such as /etc/gpusched/conf.d/50-%s.toml.\n%s",
		r.Kind, term.Clean(filepath.Base(c.File)), strings.Trim(term.Clean(nameStem(c.File)), "."), r.TOML)
	for _, line := range r.Report {
		a.Note("%s", line)
	}
	return nil
}

// accounts converts the accounts of a Slurm. It reads the named file, or asks Slurm with sacctmgr.
func (c *ImportCmd) accounts(ctx context.Context, a *cli.App) error {
	if len(c.Option) > 1 {
		return cli.Usagef("'gpusched import slurm' takes one file, or none")
	}
	if len(c.Option) == 0 {
		text, err := sacctmgr(ctx)
		if err != nil {
			return err
		}
		return c.printQuotas(a, text)
	}
	text, err := submit.FileText(ctx, c.Option[0], func(os.FileInfo) error { return nil }) // nothing in the file is run
	if err != nil {
		return err
	}
	return c.printQuotas(a, text)
}

// printQuotas prints settings for the accounts of a Slurm.
func (c *ImportCmd) printQuotas(a *cli.App, text string) error {
	r, err := oldconfig.ConvertAccounts(text)
	if err != nil {
		return cli.Refuse(api.CodeUsage, "see 'gpusched import --help'", "%v", err)
	}
	a.Out.Printf("# From the accounts of a Slurm, for a file such as /etc/gpusched/conf.d/50-slurm.toml.\n%s", r.TOML)
	for _, line := range r.Report {
		a.Note("%s", term.Clean(line))
	}
	return nil
}

// This list has the tables that sacctmgr must print: associations, classes and users.
var asked = [][]string{
	{"assoc", "format=Cluster,Account,ParentName,User,Partition,Share,GrpTRES,GrpJobs,GrpSubmit,GrpWall,GrpTRESMins,MaxTRES,MaxJobs,MaxSubmit,MaxWall,MaxTRESMins,QOS,DefaultQOS"},
	{"qos"}, {"user"},
}

// sacctmgrTime is the time limit for each run of sacctmgr.
const sacctmgrTime = 30 * time.Second

// sacctmgr runs sacctmgr and returns its output.
func sacctmgr(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, sacctmgrTime)
	defer cancel()
	var all strings.Builder
	for _, what := range asked {
		cmd := exec.CommandContext(ctx, "sacctmgr", append([]string{"-P", "show"}, what...)...) // sacctmgr gets no input
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return "", cli.Refuse(api.CodeUnavailable, "run it where Slurm is installed, or put what 'sacctmgr -P show assoc' and '… show qos' print "+
				"into a file and name that: gpusched import slurm FILE", "sacctmgr -P show %s: %v", what[0], err)
		}
		all.Write(out)
	}
	return all.String(), nil
}

// nameStem returns a file's name without its extension.
func nameStem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// queue queues the new entries and prints a summary.
func (c *ImportCmd) queue(ctx context.Context, r *fileReader, list []fileEntry, l *ledger) error {
	q := fileQueue{fileReader: r, ledger: l, list: list}
	failed := q.run(ctx)
	a := r.a
	if c.Form() == "table" {
		for _, j := range q.shown() {
			a.Out.Printf("job %s queued: %s\n", cli.NumberOfJob(j), term.Clean(j.Comment))
		}
		q.sayKnown(ctx)
		a.Out.Printf("%s\n", q.summary())
		return failed
	}
	state := func(j api.Job) string { return string(j.State) }
	return cmp.Or(act.ShowActed(a, c.OutputFlags, q.jobs, state), failed)
}

// printPlan prints the command line for each entry.
func (r *fileReader) printPlan(list []fileEntry) (failed error) {
	for i := range list {
		e := &list[i]
		err := e.Err
		if err == nil && e.known == 0 {
			_, _, err = r.request(context.Background(), e)
		}
		switch {
		case err != nil:
			r.complain(e, err)
			failed = cli.ExitStatus(api.CodeUsage.ExitStatus())
		case e.known != 0:
			r.a.Out.Printf("line %d: is job %s\n", e.Number, cli.NameAt(r.a.NamesEngine(), e.known.String()))
		default:
			r.a.Out.Printf("line %d: gpusched %s\n", e.Number, term.Clean(cli.Joined(e.words, " ", cli.ShellWord)))
		}
	}
	return failed
}

// complain prints the error of an entry.
func (r *fileReader) complain(e *fileEntry, err error) {
	r.a.Complain(fmt.Sprintf("%s line %d: %s", r.name, e.Number, err.Error()))
}

// A fileQueue queues the entries of a file, one after another.
type fileQueue struct {
	*fileReader
	ledger *ledger
	list   []fileEntry
	jobs   []api.Job   // queued in this run
	known  []knownLine // entries that became jobs in an earlier run
	began  time.Time
	wrong  int
	retry  bool // another try may succeed
	isNews func(e *fileEntry, err error) bool
}

// run queues the new entries. It goes on after a wrong entry. It stops if the daemon can't be
// reached, or if the daemon refuses many entries in a row.
func (q *fileQueue) run(ctx context.Context) (failed error) {
	defer q.a.Begin("%s", q.name)()
	q.began = time.Now()
	inRow := 0
	found, err := q.jobsByKey(ctx)
	if err != nil {
		return err
	}
	for i := range q.list {
		e := &q.list[i]
		q.a.Busy.Say("gpusched: %s: %d of %d lines read, %s queued", q.name, i, len(q.list), cli.Count(len(q.jobs), "job"))
		if e.known != 0 {
			q.known = append(q.known, knownLine{e.Number, "is", api.Job{ID: e.known}})
			continue
		}
		if id := found(e.key); id != 0 {
			q.known = append(q.known, knownLine{e.Number, "is", api.Job{ID: id}})
			if err := q.ledger.recordJob(e.key, id, time.Time{}); err != nil {
				return err
			}
			continue
		}
		err := q.queueOne(ctx, e)
		code := api.CodeInternal
		if refused := (*api.Error)(nil); errors.As(err, &refused) {
			code = refused.Code
		}
		switch {
		case err == nil:
			inRow = 0
			continue
		case code == api.CodeUnreachable || code == api.CodeInternal:
			q.a.Note("%s: %s queued; it stopped at line %d: the same command goes on there and queues nothing twice",
				q.name, cli.Count(len(q.jobs), "job"), e.Number)
			return err
		case code == api.CodePolicy || code == api.CodeUnavailable:
			inRow++
		}
		failed = cmp.Or(failed, error(cli.ExitStatus(code.ExitStatus())))
		q.reportRefusal(e, err)
		if inRow == submit.MaxWrong {
			q.retry = true
			q.a.Note("%s: %s in a row refused: no line is tried from line %d on", q.name, cli.Count(inRow, "line"), e.Number+1)
			break
		}
	}
	if more := q.wrong - submit.MaxWrong; more > 0 && q.isNews == nil {
		q.a.Note("%s: %s more are refused", q.name, cli.Count(more, "line"))
	}
	return failed
}

// jobsByKey returns a function that finds jobs by key. An earlier run may have been interrupted
// before it recorded a job in the ledger. A gpusched scheduler finds such jobs itself. For another
// engine, the function finds them.
func (q *fileQueue) jobsByKey(ctx context.Context) (func(key string) job.ID, error) {
	if e := q.a.Other(); e != nil && q.ledger.again {
		return e.Submitted(ctx)
	}
	return func(string) job.ID { return 0 }, nil
}

// reportRefusal prints why an entry was not queued. It prints nothing if the same error was printed
// before, or if too many entries are wrong.
func (q *fileQueue) reportRefusal(e *fileEntry, err error) {
	q.wrong++
	q.retry = q.retry || e.Err == nil
	if q.isNews == nil && q.wrong <= submit.MaxWrong || q.isNews != nil && q.isNews(e, err) {
		q.complain(e, err)
	}
}

// queueOne queues a single entry and records it in the ledger.
func (q *fileQueue) queueOne(ctx context.Context, e *fileEntry) error {
	err := e.Err
	if n := len(e.Command) + len(e.Args); err == nil && n > job.MaxPayloadBytes {
		err = fmt.Errorf("a command may have at most %d bytes, and this one has %d", job.MaxPayloadBytes, n)
	}
	if err != nil {
		return cli.Usagef("%v", err)
	}
	req, by, err := q.request(ctx, e)
	if err != nil {
		return err
	}
	reply, err := act.SubmitCapped(ctx, q.a, by, req, job.Priority{Number: e.capped(q.ledger.head.Top)})
	if err != nil {
		if reply.Job.ID != 0 { // the job was queued before the interruption
			q.jobs = append(q.jobs, reply.Job)
			err = errors.Join(err, q.ledger.recordJob(e.key, reply.Job.ID, reply.Job.SubmittedAt))
		}
		return err
	}
	submit.HintCommand(q.a, req)
	own := reply.Job.Comment == req.Comment
	switch {
	case !reply.Known, own && reply.Job.SubmittedAt.After(q.began): // the second case: the first answer was lost
		q.jobs = append(q.jobs, reply.Job)
	case own:
		q.known = append(q.known, knownLine{e.Number, "is", reply.Job})
	default:
		q.known = append(q.known, knownLine{e.Number, "runs the same as", reply.Job})
	}
	return q.ledger.recordJob(e.key, reply.Job.ID, reply.Job.SubmittedAt)
}

// A knownLine is a line whose job is already queued.
type knownLine struct {
	number int
	how    string
	job    api.Job // if it comes from the ledger, only its number is set
}

func (k *knownLine) String() string {
	text := fmt.Sprintf("line %d %s job %s", k.number, k.how, cli.NumberOfJob(k.job))
	if k.job.State != "" {
		text += ", " + string(k.job.State)
	}
	return text
}

// sayKnown names the jobs of known lines, with their states if the scheduler has them.
func (q *fileQueue) sayKnown(ctx context.Context) {
	if len(q.known) > mostShown {
		return
	}
	var ids []string
	for _, k := range q.known {
		if k.job.State == "" {
			ids = append(ids, k.job.ID.String())
		}
	}
	now := map[job.ID]api.Job{}
	if len(ids) > 0 {
		reply, _ := api.List(ctx, q.a.Client, api.ListQuery{IDs: strings.Join(ids, ",")}) // on failure, numbers only
		for _, j := range reply.Jobs {
			now[j.ID] = j
		}
	}
	for _, k := range q.known {
		if j, ok := now[k.job.ID]; ok {
			k.job = j
		}
		k.job.Engine = q.a.NamesEngine()
		q.a.Out.Printf("%s\n", term.Clean(k.String()))
	}
}

// mostShown is the largest number of new jobs that are listed one by one.
const mostShown = 20

func (q *fileQueue) shown() []api.Job {
	if len(q.jobs) > mostShown {
		return nil
	}
	return q.jobs
}

// summary returns the last line of the output.
func (q *fileQueue) summary() string {
	text := cli.Count(len(q.jobs), "job") + " queued"
	if n := len(q.jobs); n > 1 {
		text += fmt.Sprintf(" (%s to %s)", cli.NumberOfJob(q.jobs[0]), cli.NumberOfJob(q.jobs[n-1]))
	}
	if n := len(q.known); n > 0 {
		text += fmt.Sprintf(", %s known already (--again queues them again)", cli.Count(n, "line"))
	}
	if q.wrong > 0 {
		text += fmt.Sprintf(", %s refused", cli.Count(q.wrong, "line"))
	}
	return text
}
