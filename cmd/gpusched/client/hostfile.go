package client

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/words"
)

// elsewhere makes the request of a line for another machine.
func (in *fileOfJobs) elsewhere(ctx context.Context, a *app, l *lineJob) (err error) {
	l.away, err = l.cmd.elsewhere(ctx, a, in.fleet, func(_ *app, req *api.SubmitRequest) (err error) {
		req.Array, err = arraySpec(l.cmd.Tasks, l.cmd.Param)
		return err
	})
	if err != nil {
		return err
	}
	l.req, l.away.ofFile = l.away.req, true
	if err := l.req.Request.Err(); err != nil {
		return usagef("%s", words.Error(err))
	}
	return nil
}

// reach connects with the machines that lines name, and says of which lines no machine has what they need. A machine
// that is named and does not answer is an error; of those of --host best it is left out.
func (in *fileOfJobs) reach(ctx context.Context, list []lineJob) (wrong []string, err error) {
	var away []*newElsewhere
	for i := range list {
		if n := list[i].away; n != nil {
			away = append(away, n)
		}
	}
	in.fleet.reach(ctx, away...)
	var left outLines
	for i := range list {
		l := &list[i]
		if l.away == nil || len(l.away.lacks) == 0 {
			continue
		}
		if len(l.away.lacks) == len(l.away.hosts) {
			e := wireError(l.away.refusedByAll(l.away.offers(ctx)))
			if e.Code == api.CodeUnreachable {
				return nil, refuse(e.Code, "no job is queued", "line %d: %s", l.number, e.Message)
			}
			wrong = append(wrong, fmt.Sprintf("line %d: %s", l.number, e))
			continue
		}
		for _, host := range l.away.hosts {
			if err := l.away.lacks[host]; err != nil {
				left.add(host, l.number, err)
			}
		}
	}
	left.tell(in.fleet)
	return wrong, ctx.Err()
}

// outLines are lines for which a machine is not asked, of each machine and reason together.
type outLines []struct {
	host  string
	err   error
	lines []int
}

func (l *outLines) add(host string, line int, err error) {
	for i := range *l {
		if o := &(*l)[i]; o.host == host && o.err.Error() == err.Error() {
			o.lines = append(o.lines, line)
			return
		}
	}
	*l = append(*l, outLines{{host, err, []int{line}}}...)
}

// tell says why a machine is not asked for lines, or for any.
func (l outLines) tell(f *fleet) {
	for _, o := range l {
		if wireError(o.err).Code == api.CodeUnreachable {
			f.lose(o.host, o.err)
			continue
		}
		f.a.note("%s not for %s: %s", linesAre(o.lines), o.host, plainError(o.err))
	}
}

// maxNamed is how many lines are named before the others are counted.
const maxNamed = 10

// linesAre is "line 1 is", or "lines 1, 2 and 3 are".
func linesAre(numbers []int) string {
	words := each(numbers, strconv.Itoa)
	if len(words) == 1 {
		return "line " + words[0] + " is"
	}
	if over := len(words) - maxNamed; over > 1 {
		words = append(words[:maxNamed:maxNamed], fmt.Sprintf("%d more", over))
	}
	last := len(words) - 1
	return "lines " + strings.Join(words[:last], ", ") + " and " + words[last] + " are"
}

// submit queues the job of a line. asked is the machine that has been asked to, of this one ""; none: nobody has.
func (l *lineJob) submit(ctx context.Context, a *app) (reply api.SubmitReply, asked *string, err error) {
	if l.away == nil {
		reply, err = l.engine.Submit(ctx, l.req)
		return reply, new(string), err
	}
	reply, p, err := l.away.submit(ctx)
	if p != nil {
		asked = &p.app.host
	}
	return reply, asked, err
}

// stopped says what is known of a file whose line at this place was cut off.
func (l *lineJob) stopped(a *app, done, of, at int, asked *string) {
	queued := fmt.Sprintf("%d of %s queued", done, count(of, "job"))
	if asked == nil {
		a.note("%s; those of line %d and the other %d are not", queued, l.number, of-at-1)
		return
	}
	see := "gpusched list"
	if *asked != "" {
		see = "gpusched " + hostsFlag + " " + *asked + " list --mine -a"
	}
	a.note("%s; line %d may be as well (see '%s'), and the other %d are not", queued, l.number, see, of-at-1)
}
