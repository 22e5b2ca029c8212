package server

import (
	"net/http"

	"github.com/gpusched/gpusched/daemon/job"
)

// right is what somebody must be to use a route.
type right int

const (
	undeclared   right = iota // a route without a right refuses everybody
	anyone                    // every local account
	ownerOrAdmin              // the owner of the job {id} in the path, or an admin
	adminOnly                 // root and members of the admin group
)

// route is one thing a client can ask for.
type route struct {
	method, pattern string
	right           right
	query           []string // the query words it knows
	handle          func(*Server, *request) (reply any, err error)
}

// routes is the whole interface (invariant 1).
func routes() []route {
	return []route{
		{"POST", "/v1/jobs", anyone, nil, (*Server).submit},
		{"GET", "/v1/jobs", anyone, listWords, (*Server).list},
		{"GET", "/v1/jobs/{id}", anyone, nil, (*Server).show},
		{"POST", "/v1/jobs/{id}/cancel", ownerOrAdmin, nil, (*Server).cancel},
		{"POST", "/v1/jobs/{id}/hold", ownerOrAdmin, nil, (*Server).hold},
		{"POST", "/v1/jobs/{id}/release", ownerOrAdmin, nil, (*Server).release},
		{"POST", "/v1/jobs/{id}/requeue", ownerOrAdmin, nil, (*Server).requeue},
		{"POST", "/v1/jobs/{id}/update", ownerOrAdmin, nil, (*Server).update},
		{"GET", "/v1/jobs/{id}/wait", anyone, []string{"timeout_seconds"}, (*Server).wait},
		{"GET", "/v1/gpus", anyone, nil, (*Server).gpus},
		{"POST", "/v1/gpus/{index}/pause", adminOnly, nil, (*Server).pause},
		{"POST", "/v1/gpus/{index}/resume", adminOnly, nil, (*Server).resume},
		{"POST", "/v1/gpus/{index}/drain", adminOnly, nil, (*Server).drainGPU},
		{"POST", "/v1/gpus/{index}/undrain", adminOnly, nil, (*Server).resume},
		{"GET", "/v1/reservations", anyone, nil, (*Server).reservations},
		{"POST", "/v1/reservations", adminOnly, nil, (*Server).reserve},
		{"DELETE", "/v1/reservations/{id}", adminOnly, nil, (*Server).unreserve},
		{"GET", "/v1/status", anyone, nil, (*Server).status},
		{"GET", "/v1/health", anyone, nil, (*Server).health},
		{"GET", "/v1/version", anyone, nil, (*Server).version},
	}
}

// request is one request with who is asking.
type request struct {
	*http.Request
	w    http.ResponseWriter
	peer peer
	who  job.Actor
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
		s.serve(route{right: anyone, handle: (*Server).unknown}, w, r)
	})
}
