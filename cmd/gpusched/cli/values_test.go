package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

func TestValues(t *testing.T) {
	for _, tt := range []struct {
		parse func(string) (any, error)
		text  string
		want  any
		err   string
	}{
		{anyParser(parsePercent), "80", 80, ""},
		{anyParser(parsePercent), "80%", 80, ""},
		{anyParser(parsePercent), "0.8", 80, ""},
		{anyParser(parsePercent), "0.85", 85, ""},
		{anyParser(parsePercent), "1.0", 100, ""},
		{anyParser(parsePercent), "1%", 1, ""},
		{anyParser(parsePercent), "1", nil, "write which"},
		{anyParser(parsePercent), "0", nil, "not a threshold"},
		{anyParser(parsePercent), "0.0", nil, "not a threshold"},
		{anyParser(parsePercent), "101", nil, "not a threshold"},
		{anyParser(parsePercent), "1.5", nil, "not a threshold"},
		{anyParser(parsePercent), "0.8%", nil, "not a threshold"},
		{anyParser(parsePercent), "", nil, "not a threshold"},
		{anyParser(parseWarning), "USR1@60s", Warning{Aimed{10, false}, time.Minute}, ""},
		{anyParser(parseWarning), "main:USR1@60s", Warning{Aimed{10, true}, time.Minute}, ""},
		{anyParser(parseWarning), "main:@60s", nil, "not a signal"},
		{anyParser(parseAimed), "main:SIGTERM", Aimed{15, true}, ""},
		{anyParser(parseWarning), "sigterm@2m", Warning{Aimed{15, false}, 2 * time.Minute}, ""},
		{anyParser(parseWarning), "USR1", nil, "use USR1@60s"},
		{anyParser(parseWarning), "NOPE@60s", nil, "not a signal"},
		{anyParser(parseWarning), "USR1@", nil, "not a duration"},
		{anyParser(parseTimeoutAction), "requeue", job.TimeoutRequeue, ""},
		{anyParser(parseTimeoutAction), "stop", nil, "not kill or requeue"},
	} {
		v, err := tt.parse(tt.text)
		switch {
		case tt.err == "" && (err != nil || v != tt.want):
			t.Errorf("%q is %v, %v, want %v", tt.text, v, err, tt.want)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%q gives %v, want an error with %q", tt.text, err, tt.err)
		}
	}
}

// anyParser converts a parser, so that its result has the type any.
func anyParser[T any](parse func(string) (T, error)) func(string) (any, error) {
	return func(s string) (any, error) { return parse(s) }
}
