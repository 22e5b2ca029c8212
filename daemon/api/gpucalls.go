package api

import (
	"context"
	"fmt"
	"net/http"
)

// GPUs lists the GPUs.
func (c *Client) GPUs(ctx context.Context) (out GPUsReply, err error) {
	return out, c.call(ctx, http.MethodGet, "/v1/gpus", nil, &out)
}

// PauseGPU keeps new jobs off a GPU.
func (c *Client) PauseGPU(ctx context.Context, index int, r PauseRequest) (out GPUsReply, err error) {
	return out, c.call(ctx, http.MethodPost, fmt.Sprintf("/v1/gpus/%d/pause", index), r, &out)
}

// ResumeGPU undoes PauseGPU.
func (c *Client) ResumeGPU(ctx context.Context, index int) (out GPUsReply, err error) {
	return out, c.call(ctx, http.MethodPost, fmt.Sprintf("/v1/gpus/%d/resume", index), nil, &out)
}

// DrainGPU keeps new jobs off a GPU that is to be taken out of service.
func (c *Client) DrainGPU(ctx context.Context, index int, r PauseRequest) (out GPUsReply, err error) {
	return out, c.call(ctx, http.MethodPost, fmt.Sprintf("/v1/gpus/%d/drain", index), r, &out)
}

// UndrainGPU undoes DrainGPU.
func (c *Client) UndrainGPU(ctx context.Context, index int) (out GPUsReply, err error) {
	return out, c.call(ctx, http.MethodPost, fmt.Sprintf("/v1/gpus/%d/undrain", index), nil, &out)
}

// Reservations lists those that have not ended.
func (c *Client) Reservations(ctx context.Context) (out ReservationsReply, err error) {
	return out, c.call(ctx, http.MethodGet, "/v1/reservations", nil, &out)
}

// Reserve keeps GPUs for some users over a time. A request that was cut off
// after it was sent is not asked again.
func (c *Client) Reserve(ctx context.Context, r ReserveRequest) (out ReservationsReply, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/reservations", r, &out)
}

// Unreserve ends a reservation.
func (c *Client) Unreserve(ctx context.Context, id int64) (out ReservationsReply, err error) {
	return out, c.call(ctx, http.MethodDelete, fmt.Sprintf("/v1/reservations/%d", id), nil, &out)
}

// Drain keeps all jobs from starting, those without a GPU included.
func (c *Client) Drain(ctx context.Context, r PauseRequest) (out StatusReply, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/drain", r, &out)
}

// Undrain undoes Drain.
func (c *Client) Undrain(ctx context.Context) (out StatusReply, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/undrain", nil, &out)
}

// LogLevel says how much the daemon logs.
func (c *Client) LogLevel(ctx context.Context) (out LogLevelReply, err error) {
	return out, c.call(ctx, http.MethodGet, "/v1/log-level", nil, &out)
}

// SetLogLevel changes that until the daemon restarts.
func (c *Client) SetLogLevel(ctx context.Context, r LogLevelRequest) (out LogLevelReply, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/log-level", r, &out)
}
