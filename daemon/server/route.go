package server

import (
	"net/http"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// right is who may use a route.
type right int

const (
	undeclared    right = iota // a route without a right refuses everybody
	anyone                     // every local account
	ownerOrAdmin               // the owner of the job {id} in the path, or an admin
	ownersOrAdmin              // the owner of each job in the body, or an admin: the backend refuses the others'
	adminOnly                  // root and members of the admin group
)

// visibility is what an answer reveals of a job to a user who is neither its owner
// nor an admin.
type visibility int

const (
	unset     visibility = iota // a route that does not say fails the test that walks the table
	ownerOnly                   // nothing of other people's jobs
	redacted                    // all but command, parameters, environment, directory and, of processes on a GPU, the name
)

// route is one thing a client can ask for. Rows are written without the names
// of the fields, so that one that leaves something undeclared does not compile.
type route struct {
	method, pattern string
	action          string // what the audit log calls it
	right           right
	shows           visibility
	query           []string // the query words it knows
	handle          func(*Server, *request) (reply any, err error)
}

// routes is the whole interface (invariant 1). Gpuschedd(8) has the same table
// for people.
func routes() []route {
	return []route{
		{"POST", "/v1/jobs", "submit", anyone, ownerOnly, nil, (*Server).submit},
		{"GET", "/v1/jobs", "list", anyone, redacted, listWords, (*Server).list},
		{"GET", "/v1/jobs/{id}", "show", anyone, redacted, []string{"results", "why", "printed"}, (*Server).show},
		{"POST", "/v1/jobs/{id}/cancel", "cancel", ownerOrAdmin, ownerOnly, nil, (*Server).cancel},
		{"POST", "/v1/jobs/{id}/hold", "hold", ownerOrAdmin, ownerOnly, nil, (*Server).hold},
		{"POST", "/v1/jobs/{id}/release", "release", ownerOrAdmin, ownerOnly, nil, (*Server).release},
		{"POST", "/v1/jobs/{id}/requeue", "requeue", ownerOrAdmin, ownerOnly, nil, (*Server).requeue},
		{"POST", "/v1/jobs/{id}/suspend", "suspend", ownerOrAdmin, ownerOnly, nil, (*Server).suspend},
		{"POST", "/v1/jobs/{id}/resume", "resume", ownerOrAdmin, ownerOnly, nil, (*Server).goOn},
		{"POST", "/v1/jobs/{id}/open", "open", ownerOrAdmin, ownerOnly, nil, (*Server).open},
		{"POST", "/v1/jobs/{id}/update", "update", ownerOrAdmin, ownerOnly, nil, (*Server).update},
		{"GET", "/v1/jobs/{id}/wait", "wait", anyone, redacted, []string{"timeout_seconds"}, (*Server).wait},
		{"POST", "/v1/commands", "many", ownersOrAdmin, ownerOnly, nil, (*Server).many},
		{"GET", "/v1/history", "history", anyone, redacted, historyWords, (*Server).history},
		{"GET", "/v1/report", "report", anyone, redacted, reportWords, (*Server).report},
		{"GET", "/v1/usage", "usage", anyone, ownerOnly, usageWords, (*Server).usage},
		{"GET", "/v1/events", "events", anyone, redacted, []string{"since", "follow"}, (*Server).events},
		{"GET", "/v1/gpus", "gpus", anyone, redacted, nil, (*Server).gpus},
		{"POST", "/v1/gpus/{index}/pause", "pause", adminOnly, ownerOnly, nil, (*Server).pause},
		{"POST", "/v1/gpus/{index}/resume", "resume", adminOnly, ownerOnly, nil, (*Server).resume},
		{"POST", "/v1/gpus/{index}/drain", "drain", adminOnly, ownerOnly, nil, (*Server).drainGPU},
		{"POST", "/v1/gpus/{index}/undrain", "undrain", adminOnly, ownerOnly, nil, (*Server).resume},
		{"POST", "/v1/drain", "drain-all", adminOnly, ownerOnly, nil, (*Server).drainAll},
		{"POST", "/v1/undrain", "undrain-all", adminOnly, ownerOnly, nil, (*Server).undrainAll},
		{"GET", "/v1/reservations", "reservations", anyone, ownerOnly, nil, (*Server).reservations},
		{"POST", "/v1/reservations", "reserve", adminOnly, ownerOnly, nil, (*Server).reserve},
		{"DELETE", "/v1/reservations/{id}", "unreserve", adminOnly, ownerOnly, nil, (*Server).unreserve},
		{"GET", "/v1/plan", "plan", anyone, redacted, []string{"horizon_seconds"}, (*Server).plan},
		{"GET", "/v1/status", "status", anyone, redacted, nil, (*Server).status},
		{"GET", "/v1/health", "health", anyone, ownerOnly, nil, (*Server).health},
		{"GET", "/v1/metrics", "metrics", anyone, ownerOnly, []string{"format"}, (*Server).metrics},
		{"GET", "/v1/log-level", "show-level", anyone, ownerOnly, nil, (*Server).logLevel},
		{"POST", "/v1/log-level", "log-level", adminOnly, ownerOnly, nil, (*Server).setLogLevel},
		{"GET", "/v1/version", "version", anyone, ownerOnly, nil, (*Server).version},
	}
}

// request is one request with who is asking.
type request struct {
	*http.Request
	w       http.ResponseWriter
	peer    peer
	who     job.Actor
	came    time.Time
	person  int      // the uid that limits are counted by
	certain bool     // it is the right one
	asAdmin bool     // it is allowed by the right of an admin alone
	reports bool     // it has its user's turn at what reads much of the state file
	asked   any      // its body, once that is read
	leave   []func() // give back what it holds
}

// mount builds the handler from the table. What is not in the table is
// answered in the same form as any other refusal.
func (s *Server) mount() {
	for _, rt := range routes() {
		s.mux.HandleFunc(rt.method+" "+rt.pattern, func(w http.ResponseWriter, r *http.Request) {
			s.serve(rt, w, r)
		})
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.serve(route{action: "unknown", right: anyone, shows: ownerOnly, handle: (*Server).unknown}, w, r)
	})
}
