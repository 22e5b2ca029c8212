package units

import "testing"

// A removal runs with its user's rights, within the limits of the user's jobs. Its threads stay below
// TasksMax on a machine with many CPUs: a large directory makes the Go runtime use all it may.
func TestDirectoryProperties(t *testing.T) {
	got := map[string]string{}
	for _, l := range Render(DirectoryProperties(DirectorySpec{What: RemovalName(7, 1), Program: "/p", UID: 1001})) {
		got[l.Name] += l.Text
	}
	for name, text := range map[string]string{
		"User": "1001", "NoNewPrivileges": "yes", "Environment": "GOMAXPROCS=1", "TasksMax": "32",
	} {
		if got[name] != text {
			t.Errorf("%s is %q, want %q", name, got[name], text)
		}
	}
	if got["Slice"] == "" {
		t.Error("it has no slice of its user")
	}
}
