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

// The bounds of invariant 4 that are the same everywhere; those of the site are
// in config.Limits.
const (
	maxHeaderBytes = 16 << 10
	maxBodyBytes   = 64 << 10
	headerTime     = 5 * time.Second
	bodyTime       = 20 * time.Second
	replyTime      = 30 * time.Second
	idleTime       = 60 * time.Second
	drainTime      = 5 * time.Second
)

// Options are what a Server is made of. Backend is required; absent functions
// know no account.
type Options struct {
	// Backend returns what answers now. It may wait for it until ctx is done.
	Backend func(ctx context.Context) Backend
	Log     *slog.Logger
	Version string
	Commit  string
	// UserName returns the name of an account, "" if the host has none. It may ask a
	// directory and wait for a moment, as UserID, GroupID and Member may, since a name gives
	// rights; KnownName does not, for answers with many names. Nil is UserName.
	UserName, KnownName func(uid int) string
	// UserID returns the uid of an account that somebody asks for, false if the host has none;
	// the error says why that is not known.
	UserID func(asker int, name string) (uid int, ok bool, err error)
	// Person returns the uid that a uid's limits are counted by: its own, or that
	// of the user whose subordinate uid it is, and whether that is certain: a uid of a range may
	// be of an account that is not known yet. Nil is its own.
	Person func(uid int) (person int, certain bool)
	// Config returns the settings in force. It is asked at each request; nil is
	// the default of package config.
	Config func() *config.Config
	// Printed returns when all that jobs have printed is in the journal. Nil: nobody can tell.
	Printed func(ctx context.Context) error
	// HasMail reports whether the machine has a mail program. Nil is that it has.
	HasMail func() bool
	// GroupID returns the gid of a group, false if the host has none.
	GroupID func(name string) (gid int, ok bool)
	// Member reports whether an account is in a group today, if the host knows both.
	// It is asked at each submit for the groups that have a quota.
	Member func(uid, gid int) (in, known bool)
	// Holds reports whether an account that the kernel says is in a group is in it today; what
	// is not known gives no right. It is asked at each request of a member of the administrators'
	// group. Nil: the kernel's word is enough.
	Holds func(uid, gid int) bool
	// Own is the user whose own scheduler it is: nobody else is served but root, who
	// submits nothing, and the user has every right. Nil: it is the machine's.
	Own *job.Account
	// Unlimited lists the controllers of control groups that jobs are without, of a
	// user's own scheduler. Nil is that none is missing.
	Unlimited func() []string
	// Verbosity is how much is logged. Nil: nothing depends on it.
	Verbosity *Verbosity
	// Process says what this process uses. Nil: that is not told.
	Process func() metrics.Process
}

// Server answers clients.
type Server struct {
	opt      Options
	backend  func(context.Context) Backend
	log      *slog.Logger
	mux      *http.ServeMux
	lines    *limitedLog
	limits   limits
	accounts accounts
	jobs     jobFinder
	answers  answers

	peerOf    func(net.Conn) (peer, error)
	processOf func(peer) (process, error)

	closing context.Context // done as soon as the server begins to stop
	close   context.CancelFunc
}

// New makes a server; Serve starts it.
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
		lines: newLimitedLog(o.Log), peerOf: peerOf, processOf: newProcessOf(),
	}
	s.limits = newLimits(func() config.Limits { return s.opt.Config().Limits })
	s.accounts, s.jobs = accounts{opt: &s.opt}, jobFinder{backend: s.backend}
	s.closing, s.close = context.WithCancel(context.Background())
	s.mount()
	return s
}

// Serve answers on the listeners until ctx is done, then lets requests that
// are being answered finish (long polls are told to come back) and returns nil.
// It returns early only if a listener breaks. It closes the listeners, and may
// be called once.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	hs := s.httpServer()
	broken := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() {
			known := &peerListener{Listener: l, peerOf: s.peerOf, conns: s.limits.conns, person: s.accounts.person, lines: s.lines}
			broken <- hs.Serve(known)
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

// httpServer bounds what one connection may cost. The body and the reply have
// deadlines of their own (decode, writeJSON), so that a long poll may last: the
// WriteTimeout, from the header on, is for what net/http itself answers.
func (s *Server) httpServer() *http.Server {
	return &http.Server{
		Handler:           s.mux,
		ConnContext:       withPeer,
		ReadHeaderTimeout: headerTime,
		WriteTimeout:      replyTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          log.New(s.lines, "", 0),
	}
}

// drain ends long polls at once and gives everything else drainTime.
func (s *Server) drain(hs *http.Server) error {
	s.close()
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if err := hs.Shutdown(ctx); err != nil {
		s.log.Warn("closing connections that did not finish", "after", drainTime)
		hs.Close()
	}
	s.lines.flush()
	return nil
}
