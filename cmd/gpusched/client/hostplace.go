package client

import (
	"bytes"
	"context"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/units/contract"
)

// needs are what jobs need of a machine besides its scheduler: what several need is asked once.
type needs struct {
	remote.Question
	of map[*newElsewhere]int // the numbers of what they need
}

// add has the directory and the program of a job looked for. Of its arguments no more is told than the script that an
// interpreter is to run.
func (q *needs) add(n *newElsewhere) {
	req := &n.req
	if len(req.Argv) == 0 {
		return
	}
	c := remote.Need{Dir: req.Dir, Argv: req.Argv[:1], Setup: req.Setup.Command != ""}
	if script := scriptOf(req.Argv); script != nil {
		c.Argv = [][]byte{req.Argv[0], script}
	}
	var path []byte
	if req.EnvMode == string(contract.EnvInherit) && !bytes.Contains(req.Argv[0], []byte("/")) {
		path = pathOf(searched(*req))
	}
	q.of[n] = q.Add(c, path)
}

// pathOf is the PATH of an environment, nil if it has none.
func pathOf(env [][]byte) []byte {
	for _, entry := range slices.Backward(env) {
		if path, ok := bytes.CutPrefix(entry, []byte("PATH=")); ok {
			return path
		}
	}
	return nil
}

// reach connects with each machine on which one of the jobs may be, once, and asks what it lacks. One that does
// not answer lacks everything.
func (f *fleet) reach(ctx context.Context, jobs ...*newElsewhere) {
	var hosts []string
	for _, n := range jobs {
		n.lacks = map[string]error{}
		for _, host := range n.hosts {
			if !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
	}
	asked := questions(hosts, jobs) // before the time of a machine begins: there may be many jobs
	lacks := make([]func(*newElsewhere) error, len(hosts))
	errs := f.eachOf(ctx, hosts, func(ctx context.Context, i int) (err error) {
		lacks[i], err = f.ask(ctx, hosts[i], len(hosts), asked[i])
		return err
	})
	for i, host := range hosts {
		for _, n := range jobs {
			err := errs[i]
			if err == nil {
				err = lacks[i](n)
			}
			if err != nil && slices.Contains(n.hosts, host) {
				n.lacks[host] = err
			}
		}
	}
}

// questions are what each machine is asked. Machines that may have the same jobs share one.
func questions(hosts []string, jobs []*newElsewhere) []*needs {
	all, of := make([]*needs, len(hosts)), make([][]*newElsewhere, len(hosts))
	for i, host := range hosts {
		for _, n := range jobs {
			if !n.c.Force && slices.Contains(n.hosts, host) {
				of[i] = append(of[i], n)
			}
		}
		same := slices.IndexFunc(of[:i], func(o []*newElsewhere) bool { return slices.Equal(o, of[i]) })
		if same >= 0 {
			all[i] = all[same]
			continue
		}
		all[i] = &needs{of: map[*newElsewhere]int{}}
		for _, n := range of[i] {
			all[i].add(n)
		}
	}
	return all
}

// ask connects with a machine; lacks is what it has not for a job.
func (f *fleet) ask(
	ctx context.Context, host string, among int, q *needs,
) (lacks func(*newElsewhere) error, err error) {
	p, err := f.join(ctx, host, among, q.Question)
	return func(n *newElsewhere) error {
		if i, asked := q.of[n]; asked {
			return p.Lack(i)
		}
		return nil
	}, err
}

// place is a machine on which the job may be.
func (n *newElsewhere) place(host string) (*peer, error) {
	if err := n.lacks[host]; err != nil {
		return nil, err
	}
	if err := n.fleet.lost[host]; err != nil {
		return nil, err
	}
	return n.fleet.has(host), nil
}
