package client

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/daemon/api"
)

// cutHosts takes the option with the names of machines from the front of a command line, or has them from
// the environment where the command is one that shows several.
func (a *app) cutHosts(args []string) ([]string, error) {
	if !a.manyHosts(args) {
		return args, nil
	}
	list, err := a.goodHosts()
	rest := args
	given := len(args) > 0 && strings.HasPrefix(args[0], hostsFlag)
	if given {
		value, has := strings.CutPrefix(args[0], hostsFlag+"=")
		rest = args[1:]
		switch {
		case has:
			list = value
		case len(rest) == 0 || strings.HasPrefix(rest[0], "-"):
			return nil, refuse(api.CodeUsage, "such as: gpusched --hosts a,b,c list", "%s needs the names of machines", hostsFlag)
		default:
			list, rest = rest[0], rest[1:]
		}
	}
	if err != nil && !given {
		return nil, err
	}
	if a.own {
		return nil, usagef("%s asks your own scheduler of this machine, and %s those of others: use one of them", ownFlag, hostsFlag)
	}
	hosts, err := hostList(list)
	if err != nil {
		return nil, err
	}
	a.hosts, a.hostsGiven = hosts, given
	return rest, notOn(hostsFlag, rest)
}

// hostList reads names of machines with commas between them.
func hostList(list string) ([]string, error) {
	hosts, err := remote.Hosts(list)
	if err != nil {
		return nil, usagef("%v", err)
	}
	for _, h := range hosts {
		if _, _, ok := hostOf(h + ":1"); !ok {
			return nil, refuse(api.CodeUsage, "give the machine another name: a Host in ~/.ssh/config", "%q means something else in ids", h)
		}
	}
	return hosts, nil
}

// goodHosts are usualHosts, where a mistake in settings is told with its file.
func (a *app) goodHosts() (string, error) {
	list, err := a.usualHosts()
	if s := a.chosen; err == nil && s != nil && list == strings.Join(s.hosts, ",") {
		err = checkHosts(*s)
	}
	return list, err
}

// checkHosts checks the names of machines in settings.
func checkHosts(s chosen) error {
	for _, name := range s.hosts {
		if list, err := hostList(name); err != nil || len(list) != 1 {
			return refuse(api.CodeUsage, `hosts = ["a", "b"] has the name of one machine in each pair of quotation marks`,
				"%s: hosts: %q is not the name of a machine, as ssh has it", s.path, name)
		}
	}
	return nil
}

// fleet are machines that a command asks. Each is connected with when it is first needed.
type fleet struct {
	engine // of this machine, or of the only one that is named: for words without a machine
	a      *app

	mu   sync.Mutex // guards open
	open map[string]*peer

	given map[string]int   // jobs that machines have got
	lost  map[string]error // what kept machines from answering that are asked no more
}

func (f *fleet) here() engine { return f.engine }

// peer is a machine that has answered.
type peer struct {
	app   *app          // as that of a user there; what it prints comes here
	ahead time.Duration // how far its clock is ahead of ours
	remote.Greeting
}

func (a *app) fleet() *fleet {
	return &fleet{engine: a.client, a: a, open: map[string]*peer{}, given: map[string]int{}, lost: map[string]error{}}
}

// at is the place of a machine.
func (f *fleet) at(ctx context.Context, host string) (*peer, error) {
	if p := f.has(host); p != nil {
		return p, nil
	}
	return f.join(ctx, host, len(f.a.hosts), remote.Question{})
}

// has is a machine that has answered already.
func (f *fleet) has(host string) *peer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[host]
}

// join connects with a machine, and asks it something first.
func (f *fleet) join(ctx context.Context, host string, among int, q remote.Question) (*peer, error) {
	p, err := f.a.reachHost(ctx, host, among, q)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[host] = p
	return p, nil
}

// What the answers of several machines that are asked at once may hold together, and each in any case: a
// listing of 100 000 jobs is about 60 MB.
const (
	allAnswers  = 1 << 30
	leastAnswer = 64 << 20
)

// reachHost connects with a machine, one of so many that are asked at once, and asks it something first.
func (a *app) reachHost(ctx context.Context, host string, among int, q remote.Question) (*peer, error) {
	there := *a
	there.host, there.own = host, false
	there.away, there.noted = nil, map[string]bool{}
	if host == remote.Here {
		d := a.daemon()
		there.client = &api.Client{Socket: d.Socket, Own: d.Own, Host: host}
		return &peer{app: &there, Greeting: remote.Greeting{UID: a.uid, Looked: a.lookFor(ctx, q)}}, nil
	}
	began := time.Now()
	conn, g, err := a.ssh.Dial(ctx, host, q)
	if err != nil {
		return nil, err
	}
	first := make(chan net.Conn, 1)
	first <- conn
	there.uid = g.UID
	most := max(leastAnswer, allAnswers/max(among, 1))
	there.client = &api.Client{Host: host, MaxReply: most, Dial: func(ctx context.Context) (net.Conn, error) {
		select {
		case conn := <-first:
			return conn, nil
		default:
		}
		conn, _, err := a.ssh.Dial(ctx, host, remote.Question{})
		return conn, err
	}}
	return &peer{app: &there, ahead: g.Now.Sub(began.Add(time.Since(began) / 2)), Greeting: g}, nil
}

// each asks all machines at once, each for no longer than patience, and returns what kept it from answering.
func (f *fleet) each(ctx context.Context, hosts []string, ask func(ctx context.Context, i int, p *peer) error) []error {
	return f.eachOf(ctx, hosts, func(ctx context.Context, i int) error {
		p, err := f.at(ctx, hosts[i])
		if err == nil {
			err = ask(ctx, i, p)
		}
		return err
	})
}

// eachOf is each for what connects in its own way.
func (f *fleet) eachOf(ctx context.Context, hosts []string, ask func(ctx context.Context, i int) error) []error {
	errs := make([]error, len(hosts))
	var all sync.WaitGroup
	for i, host := range hosts {
		all.Go(func() {
			limited, cancel := context.WithTimeout(ctx, remote.Patience)
			defer cancel()
			err := ask(limited, i)
			if errors.Is(err, context.DeadlineExceeded) {
				err = refuse(api.CodeUnreachable, "see 'ssh "+host+" gpusched status'", "no answer within %s", remote.Patience)
			}
			errs[i] = err
		})
	}
	all.Wait()
	return errs
}

// complainOf says which machines have not answered, and returns the exit status for that.
func (f *fleet) complainOf(hosts []string, errs []error) (first error) {
	for i, err := range errs {
		if err == nil {
			continue
		}
		there := *f.a
		there.host = hosts[i]
		code := exitStatus(there.finish(plainError(err)))
		if first == nil {
			first = code
		}
	}
	return first
}

// plainError is an error without what is said to whoever waits for a job.
func plainError(err error) error {
	var e *api.Error
	if errors.As(err, &e) {
		return e
	}
	return err
}

// hostAnswers begins the part of a document that is about the machines.
func hostAnswers(hosts []string, errs []error) []api.HostAnswer {
	list := make([]api.HostAnswer, len(hosts))
	for i, host := range hosts {
		list[i].Host = host
		if errs[i] != nil {
			list[i].Error = wireError(errs[i])
		}
	}
	return list
}

// wireError is an error as it stands in a document.
func wireError(err error) *api.Error {
	var e *api.Error
	if errors.As(err, &e) {
		return &api.Error{Code: e.Code, Message: e.Message, Hint: e.Hint}
	}
	return &api.Error{Code: api.CodeInternal, Message: err.Error()}
}

// placed is a word for jobs, and the machine it is about; "": this one.
type placed struct{ host, word string }

// placedWords divides a word at the machines that it names: a:12,14,b:7_3,5 is 12,14 of a and 7_3,5 of b.
func placedWords(word string) (list []placed) {
	if strings.HasPrefix(word, "name:") {
		return []placed{{"", word}}
	}
	for part := range strings.SplitSeq(word, ",") {
		host, rest, named := hostOf(part)
		switch {
		case named && strings.HasPrefix(rest, "name:"):
			_, whole, _ := strings.Cut(word, host+":")
			return append(list, placed{host, whole}) // a name may have commas
		case named || len(list) == 0:
			list = append(list, placed{host, rest})
		default:
			list[len(list)-1].word += "," + part
		}
	}
	return list
}

// placesOf are the machines that words for jobs name, each once, "" for this one.
func placesOf(words []string) (hosts []string) {
	for _, w := range words {
		for _, p := range placedWords(w) {
			if !slices.Contains(hosts, p.host) {
				hosts = append(hosts, p.host)
			}
		}
	}
	return hosts
}

// machinesOf are they where this one is among several: ".", as another one.
func machinesOf(hosts []string) (list []string) {
	for _, h := range hosts {
		if h = cmp.Or(h, remote.Here); !slices.Contains(list, h) {
			list = append(list, h)
		}
	}
	return list
}

// wordsByHost are words for jobs by the machines that have them, without these.
func wordsByHost(words []string) map[string][]string {
	of := map[string][]string{}
	for _, w := range words {
		for _, p := range placedWords(w) {
			host := cmp.Or(p.host, remote.Here)
			of[host] = append(of[host], p.word)
		}
	}
	return of
}
