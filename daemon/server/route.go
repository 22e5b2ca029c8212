package server

import (
	"net/http"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A right says who may use a route.
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

// route has an api.Route, the right that a caller needs, and the handler. Literals of route are
// unkeyed, so that an incomplete literal does not compile.
type route struct {
	*api.Route
	right      right
	visibility visibility
	handle     func(*Server, *request) (reply any, err error)
}

// routes is the table of the whole API (invariant 1). gpuschedd(8) has the same table for people.
func routes() []route {
	return []route{
		{api.RouteSubmit, anyone, ownerOnly, (*Server).handleSubmit},
		{api.RouteList, anyone, redacted, (*Server).handleList},
		{api.RouteShow, anyone, redacted, (*Server).handleShow},
		{api.RouteCancel, ownerOrAdmin, ownerOnly, (*Server).handleCancel},
		{api.RouteHold, ownerOrAdmin, ownerOnly, simpleCommand(job.CommandHold)},
		{api.RouteRelease, ownerOrAdmin, ownerOnly, simpleCommand(job.CommandRelease)},
		{api.RouteRequeue, ownerOrAdmin, ownerOnly, simpleCommand(job.CommandRequeue)},
		{api.RouteSuspend, ownerOrAdmin, ownerOnly, simpleCommand(job.CommandSuspend)},
		{api.RouteResume, ownerOrAdmin, ownerOnly, simpleCommand(job.CommandResume)},
		{api.RoutePark, ownerOrAdmin, ownerOnly, simpleCommand(job.CommandPark)},
		{api.RouteUnpark, ownerOrAdmin, ownerOnly, simpleCommand(job.CommandUnpark)},
		{api.RouteOpen, ownerOrAdmin, ownerOnly, (*Server).handleOpen},
		{api.RouteUpdate, ownerOrAdmin, ownerOnly, (*Server).handleUpdate},
		{api.RouteWait, anyone, redacted, (*Server).handleWait},
		{api.RouteMany, ownersOrAdmin, ownerOnly, (*Server).handleMany},
		{api.RouteHistory, anyone, redacted, (*Server).handleHistory},
		{api.RouteReport, anyone, redacted, (*Server).handleReport},
		{api.RouteUsage, anyone, redacted, (*Server).handleUsage},
		{api.RouteEvents, anyone, redacted, (*Server).handleEvents},
		{api.RouteGPUs, anyone, redacted, (*Server).handleGPUs},
		{api.RoutePauseGPU, adminOnly, ownerOnly, control(job.CommandPauseGPU, (*Server).handleGPUs)},
		{api.RouteResumeGPU, adminOnly, ownerOnly, control(job.CommandResumeGPU, (*Server).handleGPUs)},
		{api.RouteDrainGPU, adminOnly, ownerOnly, control(job.CommandDrainGPU, (*Server).handleGPUs)},
		{api.RouteUndrainGPU, adminOnly, ownerOnly, control(job.CommandResumeGPU, (*Server).handleGPUs)},
		{api.RouteDrain, adminOnly, ownerOnly, control(job.CommandDrain, (*Server).handleStatus)},
		{api.RouteUndrain, adminOnly, ownerOnly, control(job.CommandUndrain, (*Server).handleStatus)},
		{api.RouteReservations, anyone, ownerOnly, (*Server).handleReservations},
		{api.RouteReserve, adminOnly, ownerOnly, (*Server).handleReserve},
		{api.RouteUnreserve, adminOnly, ownerOnly, (*Server).handleUnreserve},
		{api.RoutePlan, anyone, redacted, (*Server).handlePlan},
		{api.RouteStatus, anyone, redacted, (*Server).handleStatus},
		{api.RouteHealth, anyone, redacted, (*Server).handleHealth},
		{api.RouteMetrics, anyone, ownerOnly, (*Server).handleMetrics},
		{api.RouteLogLevel, anyone, ownerOnly, (*Server).handleLogLevel},
		{api.RouteSetLogLevel, adminOnly, ownerOnly, (*Server).handleSetLogLevel},
		{api.RouteVersion, anyone, ownerOnly, (*Server).handleVersion},
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
		s.serve(route{&api.Route{Name: "unknown", Method: http.MethodGet}, anyone, ownerOnly, (*Server).handleUnknown}, w, r)
	})
}
