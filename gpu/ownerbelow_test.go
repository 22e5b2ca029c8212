package gpu

import "testing"

// Jobs of a user's own scheduler are below the user's systemd. Units with the same names elsewhere
// belong to the machine's scheduler or to another user.
func TestUnitBelow(t *testing.T) {
	const below = "/user.slice/user-1001.slice/user@1001.service"
	for path, want := range map[string]string{
		below + "/gpujobs.slice/gpujob-5.service":                                           "gpujob-5.service",
		below + "/gpujobs.slice/gpujob-5.service/sub":                                       "gpujob-5.service",
		below + "/app.slice/tune.service":                                                   "tune.service",
		below + "/app.slice/app-x.scope/gpujob-5.service":                                   "app-x.scope",
		"/gpujobs.slice/gpujobs-u1001.slice/gpujob-5.service":                               "gpujobs-u1001.slice",
		"/user.slice/user-1002.slice/user@1002.service/gpujobs.slice/gpujob-5.service":      "gpujobs.slice",
		"/user.slice/user-1001.slice/user@1001.service.evil/gpujobs.slice/gpujob-5.service": "gpujobs.slice",
		"/user.slice/user-1001.slice/session-3.scope":                                       "session-3.scope",
		below: "user@1001.service",
	} {
		if got := UnitOfCgroup("0::"+path+"\n", below); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
