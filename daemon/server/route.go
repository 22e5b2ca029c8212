package server

import (
	"net/http"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
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

// route says who may use a route, and answers it. Rows are written without the names
// of the fields, so that one that leaves something undeclared does not compile.
type route struct {
	*api.Route
	right  right
	shows  visibility
	handle func(*Server, *request) (reply any, err error)
}

// routes is the whole interface (invariant 1). Gpuschedd(8) has the same table
// for people.
func routes() []route {
	return []route{
		{api.RouteSubmit, anyone, ownerOnly, (*Server).submit},
		{api.RouteList, anyone, redacted, (*Server).list},
		{api.RouteShow, anyone, redacted, (*Server).show},
		{api.RouteCancel, ownerOrAdmin, ownerOnly, (*Server).cancel},
		{api.RouteHold, ownerOrAdmin, ownerOnly, plain(job.CommandHold)},
		{api.RouteRelease, ownerOrAdmin, ownerOnly, plain(job.CommandRelease)},
		{api.RouteRequeue, ownerOrAdmin, ownerOnly, plain(job.CommandRequeue)},
		{api.RouteSuspend, ownerOrAdmin, ownerOnly, plain(job.CommandSuspend)},
		{api.RouteResume, ownerOrAdmin, ownerOnly, plain(job.CommandResume)},
		{api.RouteOpen, ownerOrAdmin, ownerOnly, (*Server).open},
		{api.RouteUpdate, ownerOrAdmin, ownerOnly, (*Server).update},
		{api.RouteWait, anyone, redacted, (*Server).wait},
		{api.RouteMany, ownersOrAdmin, ownerOnly, (*Server).many},
		{api.RouteHistory, anyone, redacted, (*Server).history},
		{api.RouteReport, anyone, redacted, (*Server).report},
		{api.RouteUsage, anyone, ownerOnly, (*Server).usage},
		{api.RouteEvents, anyone, redacted, (*Server).events},
		{api.RouteGPUs, anyone, redacted, (*Server).gpus},
		{api.RoutePauseGPU, adminOnly, ownerOnly, control(job.CommandPauseGPU, (*Server).gpus)},
		{api.RouteResumeGPU, adminOnly, ownerOnly, control(job.CommandResumeGPU, (*Server).gpus)},
		{api.RouteDrainGPU, adminOnly, ownerOnly, control(job.CommandDrainGPU, (*Server).gpus)},
		{api.RouteUndrainGPU, adminOnly, ownerOnly, control(job.CommandResumeGPU, (*Server).gpus)},
		{api.RouteDrain, adminOnly, ownerOnly, control(job.CommandDrain, (*Server).status)},
		{api.RouteUndrain, adminOnly, ownerOnly, control(job.CommandUndrain, (*Server).status)},
		{api.RouteReservations, anyone, ownerOnly, (*Server).reservations},
		{api.RouteReserve, adminOnly, ownerOnly, (*Server).reserve},
		{api.RouteUnreserve, adminOnly, ownerOnly, (*Server).unreserve},
		{api.RoutePlan, anyone, redacted, (*Server).plan},
		{api.RouteStatus, anyone, redacted, (*Server).status},
		{api.RouteHealth, anyone, ownerOnly, (*Server).health},
		{api.RouteMetrics, anyone, ownerOnly, (*Server).metrics},
		{api.RouteLogLevel, anyone, ownerOnly, (*Server).logLevel},
		{api.RouteSetLogLevel, adminOnly, ownerOnly, (*Server).setLogLevel},
		{api.RouteVersion, anyone, ownerOnly, (*Server).version},
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
	query   any      // a pointer to what its route has of it, as is
	body    any      // this
	asked   any      // the body, if one was sent
	leave   []func() // give back what it holds
}

// mount builds the handler from the table. What is not in the table is
// answered in the same form as any other refusal.
func (s *Server) mount() {
	for _, rt := range routes() {
		s.mux.HandleFunc(rt.Method+" "+rt.Path, func(w http.ResponseWriter, r *http.Request) {
			s.serve(rt, w, r)
		})
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.serve(route{&api.Route{Name: "unknown", Method: http.MethodGet}, anyone, ownerOnly, (*Server).unknown}, w, r)
	})
}
