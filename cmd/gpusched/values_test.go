package main

import (
	"encoding"
	"strings"
	"testing"
	"time"
)

func TestValues(t *testing.T) {
	for _, tt := range []struct {
		into func() encoding.TextUnmarshaler
		text string
		want any
		err  string
	}{
		{newPercent, "80", percent(80), ""},
		{newPercent, "80%", percent(80), ""},
		{newPercent, "0.8", percent(80), ""},
		{newPercent, "0.85", percent(85), ""},
		{newPercent, "1.0", percent(100), ""},
		{newPercent, "1%", percent(1), ""},
		{newPercent, "1", nil, "write which"},
		{newPercent, "0", nil, "not a threshold"},
		{newPercent, "0.0", nil, "not a threshold"},
		{newPercent, "101", nil, "not a threshold"},
		{newPercent, "1.5", nil, "not a threshold"},
		{newPercent, "0.8%", nil, "not a threshold"},
		{newPercent, "", nil, "not a threshold"},
		{newWarning, "USR1@60s", warning{10, time.Minute}, ""},
		{newWarning, "sigterm@2m", warning{15, 2 * time.Minute}, ""},
		{newWarning, "USR1", nil, "use USR1@60s"},
		{newWarning, "NOPE@60s", nil, "not a signal"},
		{newWarning, "USR1@", nil, "not a duration"},
		{newTimeoutAction, "requeue", timeoutAction("requeue"), ""},
		{newTimeoutAction, "stop", nil, "not kill or requeue"},
	} {
		v := tt.into()
		err := v.UnmarshalText([]byte(tt.text))
		switch {
		case tt.err == "" && (err != nil || dereferenced(v) != tt.want):
			t.Errorf("%q is %v, %v, want %v", tt.text, dereferenced(v), err, tt.want)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%q gives %v, want an error with %q", tt.text, err, tt.err)
		}
	}
}

func newPercent() encoding.TextUnmarshaler       { return new(percent) }
func newWarning() encoding.TextUnmarshaler       { return new(warning) }
func newTimeoutAction() encoding.TextUnmarshaler { return new(timeoutAction) }

func dereferenced(v encoding.TextUnmarshaler) any {
	switch v := v.(type) {
	case *percent:
		return *v
	case *warning:
		return *v
	case *timeoutAction:
		return *v
	}
	return nil
}
