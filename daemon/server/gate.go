package server

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// connLimiter counts and limits the places of each user, such as connections. The last quarter of
// the places is kept for users who have few places. For root only root's own limit counts, so that
// other users together cannot lock root out.
type connLimiter struct {
	bounds func() (most, perUID int)

	mu    sync.Mutex // guards the fields below
	total int
	held  map[int]int
}

func newConnLimiter(bounds func() (most, perUID int)) *connLimiter {
	return &connLimiter{bounds: bounds, held: map[int]int{}}
}

// When only a quarter of all places is free, a user who has at least fewPlaces gets no more.
const fewPlaces = 4

// enter takes a place for the user. It returns false if no place is free for that user.
func (g *connLimiter) enter(uid int) bool {
	most, perUID := g.bounds()
	g.mu.Lock()
	defer g.mu.Unlock()
	free, held := most-g.total, g.held[uid]
	if held >= perUID || uid != 0 && (free <= 0 || free <= most/4 && held >= fewPlaces) {
		return false
	}
	g.held[uid]++
	g.total++
	return true
}

// release frees a place of the user.
func (g *connLimiter) release(uid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total--
	if g.held[uid]--; g.held[uid] == 0 {
		delete(g.held, uid)
	}
}

// rejectConn answers a connection for which there is no place. It reads nothing from the
// connection. The answer should always fit into the socket's buffer. If it does not fit, the
// deadline ends the write.
func rejectConn(c net.Conn) {
	defer c.Close()
	body, _ := json.Marshal(api.ErrorReply{Schema: api.Schema, Error: *errTooMany("connections")})
	c.SetDeadline(time.Now().Add(100 * time.Millisecond))
	fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nConnection: close\r\n"+retryAfter+": 1\r\nContent-Length: %d\r\n\r\n%s",
		http.StatusServiceUnavailable, http.StatusText(http.StatusServiceUnavailable), len(body), body)
}

// retryAfter is the header that says when to repeat a request. If the server answers a request with
// this header, it has not carried out the request.
const retryAfter = "Retry-After"

func errTooMany(what string) *api.Error {
	return &api.Error{
		Code: api.CodeUnavailable, Message: "too many " + what + " to the scheduler are open",
		Hint: "end some of your waiting gpusched commands, or try again in a moment",
	}
}
