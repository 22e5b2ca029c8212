package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// maxPart bounds a line of an answer about many jobs.
const maxPart = 16 << 20

// Many does something to many jobs in one request, and calls told with what became of some after the other.
// What was told is done, whatever the error is. A daemon that has no place for it, and so has done nothing,
// is asked again.
func (c *Client) Many(ctx context.Context, r ManyRequest, told func(ManyPart)) error {
	body, err := json.Marshal(r)
	if err != nil {
		return &Error{Code: CodeInternal, Message: fmt.Sprintf("encode the request: %v", err)}
	}
	return patiently(ctx, func() error { return c.many(ctx, body, told) })
}

// many is Many without patience.
func (c *Client) many(ctx context.Context, body []byte, told func(ManyPart)) error {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(answerTime, cancel) // a daemon that hangs sends no line
	defer silent.Stop()
	resp, err := c.send(limited, nil, http.MethodPost, "/v1/commands", body)
	if err != nil {
		return c.explain(ctx, err)
	}
	defer resp.Body.Close()
	if err := refused(resp); err != nil {
		return err
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxPart)
	for lines.Scan() {
		silent.Reset(answerTime)
		var part ManyPart
		switch err := json.Unmarshal(lines.Bytes(), &part); {
		case err != nil && lines.Err() != nil: // half a line, with which the connection ended
			continue
		case err != nil:
			return &Error{Code: CodeInternal, Message: fmt.Sprintf("the scheduler's answer is not the JSON that is expected: %v", err),
				Hint: "see 'gpusched version'"}
		}
		told(part)
		switch {
		case part.Error != nil:
			return part.Error
		case part.Done:
			return nil
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	message := "the scheduler closed the connection before all was done"
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		message = "the scheduler's answer has a line that is too long to read"
	}
	return &Error{Code: CodeUnreachable, Message: message,
		Hint: "jobs that are not named above may or may not be done: see 'gpusched list'", sent: true}
}

// Takes returns the jobs of a listing that a command can be done to, in the order in which it is best
// done, and of how many users they are.
func (c *Client) Takes(ctx context.Context, q ListQuery, command job.CommandKind) (ids []string, users int, err error) {
	words := q.values()
	words.Set("form", "owners")
	words.Set("for", string(command))
	var text []byte
	if err := c.call(ctx, http.MethodGet, "/v1/jobs?"+words.Encode(), nil, &text); err != nil {
		return nil, 0, err
	}
	owners := map[int]bool{}
	for line := range strings.Lines(string(text)) {
		id, owner, _ := strings.Cut(strings.TrimSpace(line), " ")
		uid, err := strconv.Atoi(owner)
		if err != nil {
			return nil, 0, &Error{Code: CodeInternal, Message: fmt.Sprintf("the scheduler's answer has the line %q", line)}
		}
		ids, owners[uid] = append(ids, id), true
	}
	return ids, len(owners), nil
}
