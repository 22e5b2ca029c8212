package main

import (
	"strings"
	"testing"
)

func TestRefusesPublicAddresses(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen", "0.0.0.0:9837"}, "is not a loopback address"},
		{[]string{"--listen", ":9837"}, "is not a loopback address"},
		{[]string{"--listen", "192.0.2.7:9837"}, "is not a loopback address"},
		{[]string{"--listen", "9837"}, "must be an address with a port"},
		{nil, "systemctl enable --now gpusched-web.socket"},
		{[]string{"serve"}, "unexpected argument"},
		{[]string{"--bogus"}, "bogus"},
	} {
		var talk strings.Builder
		if code := run(tt.args, func(string) string { return "" }, &talk); code != 2 || !strings.Contains(talk.String(), tt.want) {
			t.Errorf("%q: exit %d, %s", tt.args, code, talk.String())
		}
	}
}
