package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

func TestReservationsAreMadeListedAndEnded(t *testing.T) {
	b := queue()
	s := testServer(b, nil)
	to := time.Now().Add(time.Hour).UTC().Round(0)
	ask1 := func(body string) (int, string) { return ask(s, operator, "POST", "/v1/reservations", body) }
	status, body := ask1(fmt.Sprintf(`{"gpus":[0,0],"to":%q,"users":["alice","1099"],"groups":["lab"],"reason":"a course"}`, to.Format(time.RFC3339Nano)))
	made := answerOf[api.ReservationsReply](t, status, body)
	if made.Made != 1 || len(made.Reservations) != 1 {
		t.Fatalf("%+v", made)
	}
	r := made.Reservations[0]
	if fmt.Sprintln(r.Users, r.Groups, r.Reason, r.By) != "[alice 1099] [lab] a course operator\n" || !r.To.Equal(to) || time.Since(r.From) > time.Minute ||
		len(r.GPUs) != 1 || r.GPUs[0].UUID != "GPU-a" || !r.At.Equal(noon) {
		t.Errorf("%+v", r)
	}
	status, body = ask(s, bob, "GET", "/v1/gpus", "")
	if status != 200 || !strings.Contains(body, `"reservations":[{"id":1,`) {
		t.Errorf("the GPUs do not show it: %s", body)
	}
	status, body = ask(s, operator, "DELETE", "/v1/reservations/1", "")
	if left := answerOf[api.ReservationsReply](t, status, body); len(left.Reservations) != 0 || left.Reservations == nil {
		t.Errorf("%+v", left)
	}
	if _, body = ask(s, operator, "DELETE", "/v1/reservations/1", ""); refusal(t, body).Code != api.CodeNotFound {
		t.Error(body)
	}
}

func TestBadReservationsAreRefusedWithAllThatIsWrong(t *testing.T) {
	for body, wants := range map[string][]string{
		`{}`: {"names the GPUs", "ends after its beginning"},
		`{"gpus":[-1],"to":"2001-01-01T00:00:00Z","users":["nobody-here"],"groups":["other"],"reason":"\u001b"}`: {
			"names the GPUs", "in the future", `no account named "nobody-here"`, `no group named "other"`, "--reason"},
		`{"gpus":[0],"from":"2100-01-02T00:00:00Z","to":"2100-01-01T00:00:00Z"}`: {"ends after its beginning"},
		`{"gpus":[0],"to":"2100-01-01T00:00:00Z"}`:                               {"within 10 years"},
	} {
		b := queue()
		_, reply := ask(testServer(b, nil), root, "POST", "/v1/reservations", body)
		e := refusal(t, reply)
		for _, want := range wants {
			if e.Code != api.CodeUsage || !strings.Contains(e.Message, want) || len(b.Commands()) > 0 {
				t.Errorf("%s: %s, want %q", body, e.Message, want)
			}
		}
	}
}
