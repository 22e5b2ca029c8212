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

// connLimiter counts the places that each user holds, and bounds them. It keeps the last quarter of
// the places for users who hold few. Root has only its own bound, so that other users cannot lock
// it out together.
type connLimiter struct {
	bounds func() (most, perUID int)

	mu    sync.Mutex // guards the fields that follow
	total int
	held  map[int]int
}

func newConnLimiter(bounds func() (most, perUID int)) *connLimiter {
	return &connLimiter{bounds: bounds, held: map[int]int{}}
}

// fewPlaces is the number of places at which a user gets none of the last quarter.
const fewPlaces = 4

// enter takes a place for the user. It returns false if there is none.
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

// leave gives a place back.
func (g *connLimiter) leave(uid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total--
	if g.held[uid]--; g.held[uid] == 0 {
		delete(g.held, uid)
	}
}

// rejectConn answers a connection for which there is no place, without reading from it. The text
// fits into the socket's buffer; the deadline is there in case it ever does not.
func rejectConn(c net.Conn) {
	defer c.Close()
	body, _ := json.Marshal(api.ErrorReply{Schema: api.Schema, Error: *errTooMany("connections")})
	c.SetDeadline(time.Now().Add(100 * time.Millisecond))
	fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nConnection: close\r\n"+retryAfter+": 1\r\nContent-Length: %d\r\n\r\n%s",
		http.StatusServiceUnavailable, http.StatusText(http.StatusServiceUnavailable), len(body), body)
}

// retryAfter is the header that tells a client that its request was not looked at, and when to
// repeat it.
const retryAfter = "Retry-After"

func errTooMany(what string) *api.Error {
	return &api.Error{
		Code: api.CodeUnavailable, Message: "too many " + what + " to the scheduler are open",
		Hint: "end some of your waiting gpusched commands, or try again in a moment",
	}
}
