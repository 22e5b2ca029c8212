package feed

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/jobsfile"
	"github.com/gpusched/gpusched/cmd/gpusched/submit"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// WatchCmd queues the lines of a file, including lines that are added later.
type WatchCmd struct {
	Format   string   `name:"format" placeholder:"FORMAT" enum:"auto,commands,columns,spec" default:"auto" group:"self"`
	Interval job.Span `name:"interval" type:"span" placeholder:"TIME" default:"30s" group:"self"`
	Follow   bool     `name:"follow" short:"f" group:"self"`
	Shared   bool     `name:"shared" group:"self"`
	File     string   `arg:"" name:"file" help:"The file. It need not exist yet."`
	Option   []string `arg:"" optional:"" name:"option" help:"Options of submit for every line, after --."`
}

func (*WatchCmd) About() cli.About {
	return cli.About{
		Host: cli.OnlyHere, Hosts: cli.OneAtATime,
		Slurm: cli.NotForSlurm("it needs the request keys of this machine's queue",
			"'gpusched submit --file' queues the lines of a file once"),
	}
}

// shortly is the delay between a change and the reading of the file. After the delay openTime, a
// last line without a line end counts as complete.
const (
	shortly  = 200 * time.Millisecond
	openTime = 2 * time.Second
)

func (c *WatchCmd) Run(ctx context.Context, a *cli.App) error {
	if info, err := os.Stat(c.File); err == nil && !info.Mode().IsRegular() {
		return cli.Refuse(api.CodeUsage, "'gpusched import' reads it once", "%q is not a file that can be watched", c.File)
	}
	path, err := absolute(a, c.File)
	if err != nil {
		return err
	}
	r, err := newFileReader(a, filepath.Base(path), jobsfile.Format(c.Format), c.Option)
	if err != nil {
		return err
	}
	l, err := openLedger(a, path, false)
	if err != nil {
		return err
	}
	defer l.close()
	changes, err := fsnotify.NewBufferedWatcher(64)
	if err != nil {
		return cli.Refuse(api.CodeInternal, "see fs.inotify.max_user_instances in sysctl(8)", "watch %q: %v", c.File, err)
	}
	defer changes.Close()
	if err := changes.Add(filepath.Dir(path)); err != nil {
		return cli.Refuse(api.CodeUsage, "", "watch the directory of %q: %v", c.File, err)
	}
	a.RestoreLimits()
	w := watcher{fileReader: r, ledger: l, path: path, said: map[string]string{}, shared: c.Shared}
	if c.Follow {
		if w.output, err = newOutput(a); err != nil {
			return err
		}
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer w.output.all.Wait()
		defer stop()
	}
	a.Note("watching %q: %s known already", c.File, cli.Count(len(l.jobs), "line"))
	if err := w.loop(ctx, changes, c.Interval.Duration()); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil // only a signal ends a watch
}

// A watcher watches one file.
type watcher struct {
	*fileReader
	ledger  *ledger
	path    string
	shared  bool              // other users may write to the file
	said    map[string]string // the last message on each entry, and on the file (""), so that no message is repeated
	last    os.FileInfo       // the file's state when it was last read; nil: it must be read again
	seen    os.FileInfo       // the file's state at its last change
	seenAt  time.Time
	refused bool // a refused entry may be accepted later
	output  *watchedOutput
}

// loop reads the file after each change. If the file does not change, loop checks it after each
// interval.
func (w *watcher) loop(ctx context.Context, changes *fsnotify.Watcher, interval time.Duration) error {
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-changes.Events:
			if ok && filepath.Base(e.Name) == filepath.Base(w.path) {
				next.Reset(shortly)
			}
		case <-changes.Errors: // the event queue may have overflowed
			next.Reset(shortly)
		case <-next.C:
			changes.Add(filepath.Dir(w.path)) // needed if the directory was deleted and made again
			wait, err := w.readFile(ctx, time.Now())
			if err != nil {
				return err
			}
			w.a.Out.W.Flush()
			w.a.Err.W.Flush()
			if wait == 0 || wait > interval {
				wait = interval
			}
			next.Reset(wait)
		}
	}
}

// readFile reads the file if it has changed, and queues new entries. It returns the time until its
// next call, or 0 if the next call can wait for a change. An error ends the watch.
func (w *watcher) readFile(ctx context.Context, now time.Time) (time.Duration, error) {
	f, info := jobenv.OpenRegular(w.path)
	if f == nil {
		w.sayOnce(w.absence())
		w.last = nil
		return 0, nil
	}
	defer f.Close()
	if !w.shared {
		if err := submit.RefuseShared(w.a, w.path, info); err != nil {
			w.sayOnce(err.Error())
			w.last = nil
			return 0, nil
		}
	}
	if w.last != nil && sameContent(w.last, info) && !w.refused {
		return 0, nil
	}
	text, err := submit.ReadFileOfJobs(f, w.name)
	if err != nil {
		w.sayOnce(err.Error())
		w.last = info
		return 0, nil
	}
	if w.seen == nil || !sameContent(w.seen, info) {
		w.seen, w.seenAt = info, now
	}
	if err := w.ledger.check(ctx, w.a); err != nil {
		return 0, w.handleError(err)
	}
	whole := max(now.Sub(info.ModTime()), now.Sub(w.seenAt)) >= openTime
	list, err := w.entries(text, w.ledger)
	if err != nil {
		return 0, err
	}
	w.last, w.refused = info, false
	wait := time.Duration(0)
	if n := len(list); n > 0 && list[n-1].Open && list[n-1].known == 0 && !whole {
		list, w.last, wait = list[:n-1], nil, openTime
	}
	return wait, w.queue(ctx, list)
}

// queue queues new entries. If the scheduler can't be reached, it is asked again later.
func (w *watcher) queue(ctx context.Context, list []fileEntry) error {
	q := fileQueue{fileReader: w.fileReader, ledger: w.ledger, list: list, isNews: w.isNews}
	err := q.run(ctx)
	for _, j := range q.jobs {
		w.a.Out.Printf("job %s queued: %s\n", cli.NumberOfJob(j), term.Clean(j.Comment))
	}
	if w.output != nil && len(q.jobs) > 0 {
		w.a.Out.W.Flush()
		w.output.printOutput(ctx, q.jobs)
	}
	for _, k := range q.known {
		if k.job.State != "" { // the ledger did not have this job
			w.a.Out.Printf("%s %s\n", term.Clean(w.name), &k)
		}
	}
	w.refused = q.retry
	if status := cli.ExitStatus(0); err == nil || errors.As(err, &status) {
		delete(w.said, "")
		return nil
	}
	return w.handleError(err)
}

// handleError handles an error. If the scheduler does not answer, handleError prints a message and
// returns nil. Other errors are returned and end the watch.
func (w *watcher) handleError(err error) error {
	var refused *api.Error
	if !errors.As(err, &refused) {
		return err
	}
	w.refused = true
	w.sayOnce(refused.Error())
	return nil
}

// isNews reports whether an entry's error has not been printed yet.
func (w *watcher) isNews(e *fileEntry, err error) bool {
	key := e.key
	if key == "" { // the entry can't be parsed
		key = e.Err.Error()
	}
	news := w.said["line "+key] != err.Error()
	w.said["line "+key] = err.Error()
	return news
}

func (w *watcher) sayOnce(text string) {
	if w.said[""] != text {
		w.said[""] = text
		w.a.Note("%s", text)
	}
}

// absence returns why the file can't be read.
func (w *watcher) absence() string {
	info, err := os.Stat(w.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return w.name + " does not exist yet: it is read once it does"
	case err == nil && !info.Mode().IsRegular():
		return w.name + " is not a regular file: it is read once it is"
	case err == nil:
		return w.name + " can't be opened"
	}
	return err.Error()
}

// sameContent reports whether a file is unchanged. It compares inode, size and modification time.
func sameContent(old, now os.FileInfo) bool {
	return os.SameFile(old, now) && old.Size() == now.Size() && old.ModTime().Equal(now.ModTime())
}
