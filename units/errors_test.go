package units

import "testing"

// A start is tried again where it may go better, not where the unit itself is refused.
func TestTemporary(t *testing.T) {
	for _, c := range []struct {
		e    StartError
		want bool
	}{
		{StartError{JobResult: "failed"}, false},
		{StartError{JobResult: "canceled"}, true},
		{StartError{JobResult: "failed", Status: Status{Result: ResultResources}}, true},
		{StartError{JobResult: "timeout", Status: Status{Result: ResultTimeout}}, true},
		{StartError{JobResult: "failed", Status: Status{Result: ResultExitCode}}, false},
	} {
		if got := c.e.Temporary(); got != c.want {
			t.Errorf("%+v: %t", c.e, got)
		}
	}
}
