package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// Route is one kind of request. Clients send routes, and package server answers them.
type Route struct {
	Name         string // name in the audit log
	Method, Path string
	Query        any // zero struct of the query (DecodeQuery); nil: no query
	Body         any // zero value of the body; nil: no body
	Reply        any // zero value of the reply; nil: lines or text
}

// Routes returns all routes.
func Routes() []*Route { return slices.Clone(routes) }

var routes []*Route

func get(name, path string, query, reply any) *Route {
	return declared(&Route{Name: name, Method: http.MethodGet, Path: path, Query: query, Reply: reply})
}

func post(name, path string, body, reply any) *Route {
	return declared(&Route{Name: name, Method: http.MethodPost, Path: path, Body: body, Reply: reply})
}

func declared(r *Route) *Route {
	routes = append(routes, r)
	return r
}

// The routes. In a path, a request replaces {id} with the name of a job, such as "12" or "7_3", or
// with the number of a reservation.
var (
	RouteSubmit  = post("submit", "/v1/jobs", SubmitRequest{}, SubmitReply{})
	RouteList    = get("list", "/v1/jobs", ListQuery{}, ListReply{})
	RouteShow    = get("show", "/v1/jobs/{id}", JobQuery{}, JobReply{})
	RouteCancel  = post("cancel", "/v1/jobs/{id}/cancel", CancelRequest{}, JobReply{})
	RouteHold    = post("hold", "/v1/jobs/{id}/hold", nil, JobReply{})
	RouteRelease = post("release", "/v1/jobs/{id}/release", nil, JobReply{})
	RouteRequeue = post("requeue", "/v1/jobs/{id}/requeue", nil, JobReply{})
	RouteSuspend = post("suspend", "/v1/jobs/{id}/suspend", nil, JobReply{})
	RouteResume  = post("resume", "/v1/jobs/{id}/resume", nil, JobReply{})
	RoutePark    = post("park", "/v1/jobs/{id}/park", nil, JobReply{})
	RouteUnpark  = post("unpark", "/v1/jobs/{id}/unpark", nil, JobReply{})
	RouteOpen    = post("open", "/v1/jobs/{id}/open", nil, JobReply{})
	RouteUpdate  = post("update", "/v1/jobs/{id}/update", job.Change{}, JobReply{})
	RouteWait    = get("wait", "/v1/jobs/{id}/wait", WaitQuery{}, JobReply{})
	RouteMany    = post("many", "/v1/commands", ManyRequest{}, nil)

	RouteHistory = get("history", "/v1/history", HistoryQuery{}, HistoryReply{})
	RouteReport  = get("report", "/v1/report", ReportQuery{}, ReportReply{})
	RouteUsage   = get("usage", "/v1/usage", UsageQuery{}, UsageReply{})
	RouteEvents  = get("events", "/v1/events", EventsQuery{}, nil)

	RouteGPUs       = get("gpus", "/v1/gpus", nil, GPUsReply{})
	RoutePauseGPU   = post("pause", "/v1/gpus/{index}/pause", PauseRequest{}, GPUsReply{})
	RouteResumeGPU  = post("resume", "/v1/gpus/{index}/resume", nil, GPUsReply{})
	RouteDrainGPU   = post("drain", "/v1/gpus/{index}/drain", PauseRequest{}, GPUsReply{})
	RouteUndrainGPU = post("undrain", "/v1/gpus/{index}/undrain", nil, GPUsReply{})
	RouteDrain      = post("drain-all", "/v1/drain", DrainRequest{}, StatusReply{})
	RouteUndrain    = post("undrain-all", "/v1/undrain", nil, StatusReply{})

	RouteReservations = get("reservations", "/v1/reservations", nil, ReservationsReply{})
	RouteReserve      = post("reserve", "/v1/reservations", ReserveRequest{}, ReservationsReply{})
	RouteUnreserve    = declared(&Route{Name: "unreserve", Method: http.MethodDelete, Path: "/v1/reservations/{id}", Reply: ReservationsReply{}})

	RoutePlan        = get("plan", "/v1/plan", PlanQuery{}, PlanReply{})
	RouteStatus      = get("status", "/v1/status", nil, StatusReply{})
	RouteHealth      = get("health", "/v1/health", nil, HealthReply{})
	RouteMetrics     = get("metrics", "/v1/metrics", MetricsQuery{}, nil)
	RouteLogLevel    = get("show-level", "/v1/log-level", nil, LogLevelReply{})
	RouteSetLogLevel = post("log-level", "/v1/log-level", LogLevelRequest{}, LogLevelReply{})
	RouteVersion     = get("version", "/v1/version", nil, VersionReply{})
)

// pathOf returns the path of a request. The given name replaces {id} or {index}.
func (r *Route) pathOf(name string, query any) string {
	path := r.Path
	if before, rest, named := strings.Cut(path, "{"); named {
		_, after, _ := strings.Cut(rest, "}")
		path = before + url.PathEscape(name) + after
	}
	if words := EncodeQuery(query).Encode(); words != "" {
		path += "?" + words
	}
	return path
}
