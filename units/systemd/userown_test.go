package systemd

import (
	"testing"
	"testing/synctest"

	"github.com/godbus/dbus/v5"
)

// A user's own systemd is reached without a bus, even if it reads the first call only when more
// arrives. Its signals count, whatever name they come from.
func TestUsersOwnSystemd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
			if method == "Get" && args[1] == "ControlGroup" {
				return []any{dbus.MakeVariant("/user.slice")}, nil
			}
			return starter(method, args)
		})
		b.nudged = make(chan struct{})
		m, err := Connect(t.Context(), Options{dial: b.dial, User: true})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		for _, method := range []string{"Hello", "AddMatch", "GetNameOwner"} {
			if b.countCalls(method) != 0 {
				t.Errorf("%s is called, and there is no bus", method)
			}
		}
		started := make(chan error, 1)
		go func() { _, err := m.Start(t.Context(), job1, props("OOMPolicy")); started <- err }()
		synctest.Wait()
		b.jobRemoved(destination, job1, 1, jobDone)
		if err := <-started; err != nil {
			t.Error(err)
		}
		if group, err := m.ControlGroup(t.Context()); group != "/user.slice" || err != nil {
			t.Errorf("%q, %v", group, err)
		}
		if o, err := m.Origin(t.Context(), job1); err != nil || o.User == "" {
			t.Errorf("%+v, %v: it does not say whose the job is", o, err)
		}
		m.tidy.keepUnlimited(job1)
		if left, err := m.tidy.files(); left != nil || err != nil {
			t.Errorf("%v, %v are tidied", left, err)
		}
	})
}
