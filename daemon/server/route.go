package server

import (
	"net/http"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// This type says who may use a route.
type right int

const (
	undeclared    right = iota // refuses everybody: each route must declare a right
	anyone                     // every local account
	ownerOrAdmin               // the owner of the job {id} in the path, and administrators
	ownersOrAdmin              // owner of each job in the body, and administrators; checked by the backend
	adminOnly                  // root and the members of the administrators' group
)

// visibility says how much of a job an answer shows to users who are neither
// its owner nor administrators.
type visibility int

const (
	unset     visibility = iota // not allowed: the test of the table fails for such a route
	ownerOnly                   // nothing of other people's jobs
	redacted                    // everything except command, parameters, environment, directory and names of processes
)

// route has an api.Route, who may use it, and its handler. Literals of route are unkeyed, so that
// an incomplete literal does not compile.
type route struct {
	*api.Route
	right      right
	visibility visibility
	handle     func(*Server, *request) (reply any, err error)
}

// routes is the table of the whole API (invariant 1). gpuschedd(8) has the same table for people.
func routes() []route {
	return []route{
		{api.RouteSubmit, anyone, ownerOnly, (*Server).submit},
		{api.RouteList, anyone, redacted, (*Server).list},
		{api.RouteShow, anyone, redacted, (*Server).show},
		{api.RouteCancel, ownerOrAdmin, ownerOnly, (*Server).cancel},
		{api.RouteHold, ownerOrAdmin, ownerOnly, simpleCommand(job.CommandHold)},
		{api.RouteRelease, ownerOrAdmin, ownerOnly, simpleCommand(job.CommandRelease)},
		{api.RouteRequeue, ownerOrAdmin, ownerOnly, simpleCommand(job.CommandRequeue)},
		{api.RouteSuspend, ownerOrAdmin, ownerOnly, simpleCommand(job.CommandSuspend)},
		{api.RouteResume, ownerOrAdmin, ownerOnly, simpleCommand(job.CommandResume)},
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

// request is one request together with its caller.
type request struct {
	*http.Request
	w        http.ResponseWriter
	peer     peer
	who      job.Actor
	received time.Time
	person   int      // uid whose limits apply
	certain  bool     // the server is certain about person
	asAdmin  bool     // allowed only by an administrator's right
	reports  bool     // the request has one of the user's report slots
	query    any      // pointer to the query
	body     any      // pointer to the body
	asked    any      // the body, if one was sent
	leave    []func() // functions that free what the request uses
}

// mount makes the handler from the table. A path that is not in the table is refused
// like any other wrong request.
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
