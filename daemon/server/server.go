package server

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/metrics"
)

// The limits of invariant 4 that are the same on every site. config.Limits has the others.
const (
	maxHeaderBytes = api.MaxHead
	maxBodyBytes   = 64 << 10
	headerTime     = 5 * time.Second
	bodyTime       = 20 * time.Second
	replyTime      = 30 * time.Second
	idleTime       = 60 * time.Second
	drainTime      = 5 * time.Second
)

// Options configures a Server. Backend is required.
// The server knows accounts only through the functions given here.
type Options struct {
	// Backend returns the present backend. If there is none, it may wait until ctx is done.
	Backend func(ctx context.Context) Backend
	Log     *slog.Logger
	Version string
	Commit  string
	// UserName returns the name of an account, or "" if the host knows none. Rights depend on the
	// answers of UserName, UserID, GroupID and Member, so these functions may ask a directory
	// service and wait a moment. KnownName does not wait. It is used in answers with many names. If
	// KnownName is nil, UserName is used.
	UserName, KnownName func(uid int) string
	// UserID returns the uid of the account with this name. The argument asker is the uid that the
	// search is charged to. The result ok is false if there is no such account. An error says why
	// it is unknown whether the account exists.
	UserID func(asker int, name string) (uid int, ok bool, err error)
	// Person returns the uid whose limits apply to a uid: the uid itself, or the owner of a
	// subordinate uid. The result certain is false if the uid might also belong to an account that
	// the host does not know yet. If Person is nil, each uid is its own person.
	Person func(uid int) (person int, certain bool)
	// Config returns the settings in force, and is called for each request. If Config is nil, the
	// defaults are in force.
	Config func() *config.Config
	// Printed waits until the journal has everything that jobs have printed. If Printed is nil,
	// that is unknown.
	Printed func(ctx context.Context) error
	// HasMail reports whether the machine has a mail program. If HasMail is nil, the machine has
	// one.
	HasMail func() bool
	// GroupID returns the gid of a group. The result ok is false if there is no such group.
	GroupID func(name string) (gid int, ok bool)
	// Member reports whether an account is in a group today. The result known is false if the host
	// does not know the account or the group. The server calls Member at each submission, for each
	// group with a quota.
	Member func(uid, gid int) (in, known bool)
	// Holds reports whether an account is still in a group that one of its processes has. If the
	// membership is unknown, Holds returns false. The server calls it at each request of a process
	// with the administrators' group. If Holds is nil, such a process always has the right.
	Holds func(uid, gid int) bool
	// Own is the user whose own scheduler this is. That user has every right. Nobody else is served
	// except root, who may not submit. If Own is nil, this is the scheduler of the machine.
	Own *job.Account
	// Unlimited returns the cgroup controllers that a user's own scheduler lacks.
	// If Unlimited is nil, the scheduler lacks none.
	Unlimited func() []string
	// Verbosity is the daemon's log level. If it is nil, a change of the level has no effect.
	Verbosity *Verbosity
	// Process returns what this process uses. If Process is nil, the metrics leave this out.
	Process func() metrics.Process
}

// Server answers clients.
type Server struct {
	opt       Options
	backend   func(context.Context) Backend
	log       *slog.Logger
	mux       *http.ServeMux
	clientLog *limitedLog
	limits    limits
	accounts  accounts
	jobs      jobFinder
	answers   requestCounter

	peerOf    func(net.Conn) (peer, error)
	processOf func(peer) (process, error)

	closing context.Context // done as soon as the server starts to stop
	close   context.CancelFunc
}

// New returns a server. Serve starts it.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.UserName == nil {
		o.UserName = func(int) string { return "" }
	}
	if o.KnownName == nil {
		o.KnownName = o.UserName
	}
	if o.UserID == nil {
		o.UserID = func(int, string) (int, bool, error) { return 0, false, nil }
	}
	if o.GroupID == nil {
		o.GroupID = func(string) (int, bool) { return 0, false }
	}
	if o.Member == nil {
		o.Member = func(int, int) (bool, bool) { return false, false }
	}
	if o.Holds == nil {
		o.Holds = func(int, int) bool { return true }
	}
	if o.Person == nil {
		o.Person = func(uid int) (int, bool) { return uid, true }
	}
	if o.Config == nil {
		cfg := config.Default()
		o.Config = func() *config.Config { return &cfg }
	}
	if o.Verbosity == nil {
		o.Verbosity = NewVerbosity(new(slog.LevelVar))
	}
	s := &Server{
		opt: o, backend: o.Backend, log: o.Log, mux: http.NewServeMux(),
		clientLog: newLimitedLog(o.Log), peerOf: peerOf, processOf: newProcessOf(),
	}
	s.limits = newLimits(func() config.Limits { return s.opt.Config().Limits })
	s.accounts, s.jobs = accounts{opt: &s.opt}, jobFinder{backend: s.backend}
	s.closing, s.close = context.WithCancel(context.Background())
	s.mount()
	return s
}

// Serve answers on the listeners until ctx is done. Then it tells clients of long polls to ask
// again, completes all other requests, and returns nil. If a listener breaks, Serve returns an
// error earlier. In both cases it closes the listeners. Serve may be called only once.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	hs := s.httpServer()
	broken := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() {
			broken <- hs.Serve(&peerListener{
				Listener: l, peerOf: s.peerOf, conns: s.limits.conns, person: s.accounts.person, clientLog: s.clientLog,
			})
		}()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-broken:
		err = fmt.Errorf("serve the socket: %w", err)
	}
	return errors.Join(err, s.drain(hs))
}

// httpServer limits what one connection can cost.
// Body and reply have deadlines of their own (decode, writeJSON), so that a long poll can last.
// WriteTimeout begins after the header, and limits answers that net/http makes itself.
func (s *Server) httpServer() *http.Server {
	return &http.Server{
		Handler:           s.mux,
		ConnContext:       withPeer,
		ReadHeaderTimeout: headerTime,
		WriteTimeout:      replyTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          log.New(s.clientLog, "", 0),
	}
}

// drain ends long polls at once, and lets all other requests continue for drainTime.
func (s *Server) drain(hs *http.Server) error {
	s.close()
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if err := hs.Shutdown(ctx); err != nil {
		s.log.Warn("closing connections that did not finish", "after", drainTime)
		hs.Close()
	}
	s.clientLog.flush()
	return nil
}
