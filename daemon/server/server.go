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

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/metrics"
)

// The bounds of invariant 4 that are the same on every site. config.Limits has the others.
const (
	maxHeaderBytes = 16 << 10
	maxBodyBytes   = 64 << 10
	headerTime     = 5 * time.Second
	bodyTime       = 20 * time.Second
	replyTime      = 30 * time.Second
	idleTime       = 60 * time.Second
	drainTime      = 5 * time.Second
)

// Options configures a Server. Backend is required. Without the functions for accounts the server
// knows none.
type Options struct {
	// Backend returns the current backend. It may wait for one until ctx is done.
	Backend func(ctx context.Context) Backend
	Log     *slog.Logger
	Version string
	Commit  string
	// UserName returns the name of an account, "" if the host has none. UserName, UserID, GroupID
	// and Member may ask a directory and wait for a moment, since rights depend on the answer.
	// KnownName does not wait; it is for answers with many names. A nil KnownName is UserName.
	UserName, KnownName func(uid int) string
	// UserID returns the uid of the account that the asker named; ok is false if the host has none.
	// The error says why that is not known.
	UserID func(asker int, name string) (uid int, ok bool, err error)
	// Person returns the uid whose limits a uid counts against: the uid itself, or that of the user
	// whose subordinate uid it is. It is not certain if a uid of a range may belong to an account
	// that is not known yet. A nil Person returns the uid itself.
	Person func(uid int) (person int, certain bool)
	// Config returns the settings in force. The server calls it for each request. Nil means the
	// defaults.
	Config func() *config.Config
	// Printed returns when everything that jobs have printed is in the journal. Nil means that this
	// is unknown.
	Printed func(ctx context.Context) error
	// HasMail reports whether the machine has a mail program. Nil means that it has.
	HasMail func() bool
	// GroupID returns the gid of a group; ok is false if the host has none.
	GroupID func(name string) (gid int, ok bool)
	// Member reports whether an account is in a group today, if the host knows both. The server
	// calls it at each submit, for the groups with a quota.
	Member func(uid, gid int) (in, known bool)
	// Holds reports whether an account is still in a group that the kernel says it has. An unknown
	// membership gives no right. The server calls it at each request of a member of the
	// administrators' group. Nil trusts the kernel.
	Holds func(uid, gid int) bool
	// Own is the user whose own scheduler this is. That user has every right; nobody else is served
	// but root, who submits nothing. Nil means the machine's scheduler.
	Own *job.Account
	// Unlimited returns the control group controllers that are missing for a user's own scheduler.
	// Nil means that none is.
	Unlimited func() []string
	// Verbosity is the daemon's log level. If it is nil, changing the level has no effect.
	Verbosity *Verbosity
	// Process returns what this process uses. Nil leaves that out of the metrics.
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
	answers   answers

	peerOf    func(net.Conn) (peer, error)
	processOf func(peer) (process, error)

	closing context.Context // done as soon as the server begins to stop
	close   context.CancelFunc
}

// New returns a server; Serve starts it.
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

// Serve answers on the listeners until ctx is done. Then it tells long polls to come back, lets all
// other requests finish, and returns nil. It returns early only if a listener breaks. It closes the
// listeners. It may be called once.
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

// httpServer bounds what one connection may cost. Body and reply have deadlines of their own
// (decode, writeJSON), so that a long poll may last. WriteTimeout, counted from the header on,
// bounds what net/http answers by itself.
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

// drain ends long polls at once and gives all other requests drainTime.
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
