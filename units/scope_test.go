package units

import (
	"slices"
	"testing"
)

// The unit of a user's own systemd has only the properties that such a systemd can apply.
func TestPropertiesOfAUsersOwn(t *testing.T) {
	spec := fullSpec()
	ofMachine := Properties(spec)
	spec.Scope = Scope{User: true, Root: "/user.slice/user-1001.slice/user@1001.service"}
	own := Properties(spec)
	values := map[string]any{}
	for _, p := range own {
		values[p.Name] = p.Value
	}
	for _, p := range ofMachine {
		_, has := values[p.Name]
		if has == slices.Contains(forRoot, p.Name) {
			t.Errorf("%s: there %t", p.Name, has)
		}
	}
	if values["Slice"] != "gpujobs.slice" || values["SyslogIdentifier"] != "user-gpujob-42" {
		t.Errorf("in %v as %v", values["Slice"], values["SyslogIdentifier"])
	}
	for _, ofSite := range []bool{false, true} {
		m := MessageSpec{Job: 42, Event: "end", Program: "/p", File: "/f", UID: 1001, GID: 7, OfSite: ofSite, Scope: spec.Scope}
		for _, p := range MessageProperties(m) {
			if slices.Contains(forRoot, p.Name) {
				t.Errorf("a message of the site's (%t) has %s", ofSite, p.Name)
			}
		}
	}
}

// ControlGroup is where systemd puts the job's unit.
func TestControlGroup(t *testing.T) {
	own := Scope{User: true, Root: "/user.slice/user-1001.slice/user@1001.service"}
	if got := own.ControlGroup(1001, Name(3)); got != "/user.slice/user-1001.slice/user@1001.service/gpujobs.slice/gpujob-3.service" {
		t.Error(got)
	}
	if got := (Scope{}).ControlGroup(1001, Name(3)); got != "/gpujobs.slice/gpujobs-u1001.slice/gpujob-3.service" {
		t.Error(got)
	}
	if own, machine := own.Terminal(3), (Scope{}).Terminal(3); own != "user-3" || machine != "" {
		t.Errorf("%q, %q", own, machine)
	}
	if got := (Scope{}).Identifier(3); got != "gpujob-3" {
		t.Error(got)
	}
}
