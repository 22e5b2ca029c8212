package server

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
)

// Each api.Route has one row in the table. The server answers a client's request with the reply
// that the route declares, or refuses the request because of its content.
func TestClientAndServerHaveTheSameRoutes(t *testing.T) {
	rows := map[*api.Route]int{}
	for _, rt := range routes() {
		rows[rt.Route]++
	}
	for _, r := range api.Routes() {
		if rows[r] != 1 {
			t.Errorf("%s %s has %d rows", r.Method, r.Path, rows[r])
		}
		delete(rows, r)
		t.Run(r.Name, func(t *testing.T) {
			socket, _ := listenAs(t, testServer(queue(), nil), root)
			client, on := &api.Client{Socket: socket}, ""
			if strings.Contains(r.Path, "{") {
				on = "1"
			}
			var text []byte
			out, err := any(&text), error(nil)
			if r.Reply != nil {
				out = empty(r.Reply)
			}
			switch {
			case r == api.RouteMany, r == api.RouteEvents:
				asked := r.Query
				if asked == nil {
					asked = r.Body
				}
				for _, err = range client.Stream(t.Context(), r, asked) {
				}
			case r == api.RouteWait:
				return // this request would wait; package api tests it
			case r.Method == "GET":
				err = client.Get(t.Context(), r, on, r.Query, out)
			default:
				err = client.Do(t.Context(), r, on, r.Body, out)
			}
			var e *api.Error
			if errors.As(err, &e) && (e.Code == api.CodeInternal || strings.Contains(e.Message, "does not know") || strings.HasPrefix(e.Message, "unknown ")) ||
				err != nil && e == nil {
				t.Fatal(err)
			}
			if schema := reflect.ValueOf(out).Elem(); err == nil && r.Reply != nil && schema.FieldByName("Schema").String() != api.Schema {
				t.Errorf("the answer is %+v", schema)
			}
		})
	}
	if len(rows) > 0 {
		t.Errorf("%d rows are of no declared route", len(rows))
	}
}
