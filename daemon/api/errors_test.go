package api

import "testing"

// The statuses are those of the table in CLI.md.
func TestEveryCodeHasItsStatuses(t *testing.T) {
	want := map[Code]int{
		CodeInternal: 1, CodeUsage: 2, CodeNotFound: 3, CodeForbidden: 4, CodeUnreachable: 5, CodeNever: 6,
		CodeWaitTimeout: 7, CodePolicy: 8, CodeConflict: 1, CodeUnavailable: 1,
	}
	seen := map[int]Code{}
	for code, exit := range want {
		if code.ExitStatus() != exit {
			t.Errorf("%s exits %d, want %d", code, code.ExitStatus(), exit)
		}
		if other, dup := seen[code.HTTPStatus()]; dup {
			t.Errorf("%s and %s share HTTP status %d", code, other, code.HTTPStatus())
		}
		seen[code.HTTPStatus()] = code
	}
	if len(want) != len(exitStatus) || len(want) != len(httpStatus) {
		t.Error("a code is missing in one of the tables")
	}
	if Code("new").ExitStatus() != 1 || Code("new").HTTPStatus() != 500 {
		t.Error("an unknown code is not a plain failure")
	}
}
