package units

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/units/contract"
)

// Each row is the state of a unit that systemd 252 has reported or, if the row says so, that a
// later or faulty systemd might report.
func TestDecode(t *testing.T) {
	loaded := func(active, sub, result string, change func(*Status)) Status {
		s := Status{Name: Name(1), Load: LoadLoaded, Active: active, Sub: sub, Result: result, InvocationID: "a", WasActive: true}
		if change != nil {
			change(&s)
		}
		return s
	}
	exited := func(code int32) func(*Status) {
		return func(s *Status) { s.MainCode, s.MainStatus = CLDExited, code }
	}
	killed := func(sig int32) func(*Status) {
		return func(s *Status) { s.MainCode, s.MainStatus = CLDKilled, sig }
	}
	lives := func(s *Status) { s.MainPID = 4711 }
	early := func(code int32, text string) func(*Status) {
		return func(s *Status) {
			s.WasActive = false
			s.MainCode, s.MainStatus = CLDExited, code
			s.StatusText, s.StatusErrno = text, 2
		}
	}
	said := func(code int32, text string) func(*Status) {
		return func(s *Status) { early(code, text)(s); s.WasActive = true }
	}
	const sites = "a program that the site set to run after the start of jobs in gpujob-.service.d failed or took too long"
	post := func(ends func(*Status)) func(*Status) {
		return func(s *Status) {
			ends(s)
			s.WasActive, s.PostFailed, s.StatusText = false, true, contract.StatusBegun
		}
	}
	for _, c := range []struct {
		name  string
		s     Status
		phase Phase
		exit  contract.Exit
	}{
		{"zero", Status{Name: Name(1)}, PhaseAbsent, contract.Exit{}},
		{"never loaded", Status{Load: LoadNotFound, Active: ActiveInactive, Sub: SubDead, Result: ResultSuccess}, PhaseAbsent, contract.Exit{}},
		{"queued", loaded(ActiveInactive, SubDead, ResultSuccess, func(s *Status) { s.JobPending, s.WasActive = true, false }), PhaseStarting, contract.Exit{}},
		{"activating", loaded(ActiveActivating, SubStart, ResultSuccess, nil), PhaseStarting, contract.Exit{}},
		{"running", loaded(ActiveActive, SubRunning, ResultSuccess, nil), PhaseRunning, contract.Exit{}},
		{"says that it reloads", loaded(ActiveReloading, "reload", ResultSuccess, nil), PhaseRunning, contract.Exit{}},
		{"running although its file became bad", loaded(ActiveActive, SubRunning, ResultSuccess, func(s *Status) { s.Load = "bad-setting" }), PhaseRunning, contract.Exit{}},
		{"exit 0", loaded(ActiveActive, SubExited, ResultSuccess, exited(0)), PhaseExited, contract.Exit{}},
		{"exit 7", loaded(ActiveFailed, SubFailed, ResultExitCode, exited(7)), PhaseExited, contract.Exit{Code: 7}},
		{"exit 217 of its own", loaded(ActiveFailed, SubFailed, ResultExitCode, exited(217)), PhaseExited, contract.Exit{Code: 217}},
		{"TERM", loaded(ActiveActive, SubExited, ResultSuccess, killed(15)), PhaseExited, contract.Exit{Signal: 15}},
		{"KILL", loaded(ActiveFailed, SubFailed, ResultSignal, killed(9)), PhaseExited, contract.Exit{Signal: 9}},
		{"core", loaded(ActiveFailed, SubFailed, ResultCoreDump, func(s *Status) { s.MainCode, s.MainStatus = CLDDumped, 11 }), PhaseExited, contract.Exit{Signal: 11}},
		{"memory", loaded(ActiveFailed, SubFailed, ResultOOM, killed(9)), PhaseExited, contract.Exit{Signal: 9, OOM: true}},
		{"a child's memory", loaded(ActiveFailed, SubFailed, ResultOOM, exited(1)), PhaseExited, contract.Exit{Code: 1, OOM: true}},
		{"time", loaded(ActiveFailed, SubFailed, ResultTimeout, killed(15)), PhaseExited, contract.Exit{Signal: 15, Stopped: true}},
		{"time, with an exit of its own", loaded(ActiveFailed, SubFailed, ResultTimeout, exited(0)), PhaseExited, contract.Exit{Stopped: true}},
		{"being stopped", loaded(ActiveDeactivating, "stop-sigterm", ResultSuccess, lives), PhaseRunning, contract.Exit{}},
		{"says that it stops, before systemd saw it begin", loaded(ActiveDeactivating, "stop-sigterm", ResultSuccess, func(s *Status) { lives(s); s.WasActive = false }), PhaseRunning, contract.Exit{}},
		{"being swept, main process gone without a word", loaded(ActiveDeactivating, "stop-sigterm", ResultSuccess, nil), PhaseStopping, contract.Exit{}},
		{"ended, and being swept", loaded(ActiveDeactivating, "stop-sigterm", ResultExitCode, exited(7)), PhaseStopping, contract.Exit{Code: 7}},
		{"stopped by hand, not yet forgotten", loaded(ActiveInactive, SubDead, ResultSuccess, killed(15)), PhaseExited, contract.Exit{Signal: 15}},
		{"inactive without a history", loaded(ActiveInactive, SubDead, ResultSuccess, func(s *Status) { s.WasActive = false }), PhaseAbsent, contract.Exit{}},

		{"launcher: exec", loaded(ActiveFailed, SubFailed, ResultExitCode, said(203, contract.StatusPrefix+"exec")), PhaseExited, contract.Exit{Code: 203, Launch: contract.StepExec, Errno: 2}},
		{"launcher: chdir", loaded(ActiveFailed, SubFailed, ResultExitCode, said(200, contract.StatusPrefix+"chdir")), PhaseExited, contract.Exit{Code: 200, Launch: contract.StepChdir, Errno: 2}},
		{"launcher: filter", loaded(ActiveFailed, SubFailed, ResultExitCode, said(226, contract.StatusPrefix+"filter")), PhaseExited, contract.Exit{Code: 226, Launch: contract.StepFilter, Errno: 2}},
		{"launcher: spec", loaded(ActiveFailed, SubFailed, ResultExitCode, said(225, contract.StatusPrefix+"spec")), PhaseExited, contract.Exit{Code: 225, Launch: contract.StepSpec, Errno: 2}},
		{"launcher: limits", loaded(ActiveFailed, SubFailed, ResultExitCode, said(227, contract.StatusPrefix+"limits")), PhaseExited, contract.Exit{Code: 227, Launch: contract.StepLimits, Errno: 2}},
		{"launcher: before systemd saw it begin", loaded(ActiveFailed, SubFailed, ResultExitCode, early(203, contract.StatusPrefix+"exec")), PhaseExited, contract.Exit{Code: 203, Launch: contract.StepExec, Errno: 2}},
		{"the word with another status", loaded(ActiveFailed, SubFailed, ResultExitCode, said(200, contract.StatusPrefix+"exec")), PhaseExited, contract.Exit{Code: 200}},
		{"a word that is none", loaded(ActiveFailed, SubFailed, ResultExitCode, said(255, contract.StatusPrefix+"unit")), PhaseExited, contract.Exit{Code: 255}},
		{"the word with a signal", loaded(ActiveFailed, SubFailed, ResultSignal, func(s *Status) { killed(203)(s); s.StatusText = contract.StatusPrefix + "exec" }), PhaseExited, contract.Exit{Signal: 203}},
		{"set-up fails", loaded(ActiveFailed, SubFailed, ResultExitCode, said(223, contract.StatusSetup)), PhaseExited, contract.Exit{Code: 223, Launch: contract.StepSetup, Errno: 2}},
		{"no command after the set-up", loaded(ActiveFailed, SubFailed, ResultExitCode, said(203, contract.StatusSetup)), PhaseExited, contract.Exit{Code: 203, Launch: contract.StepExec, Errno: 2}},
		{"the command fails after the set-up", loaded(ActiveFailed, SubFailed, ResultExitCode, said(1, contract.StatusSetup)), PhaseExited, contract.Exit{Code: 1}},
		{"the command exits as for limits after the set-up", loaded(ActiveFailed, SubFailed, ResultExitCode, said(227, contract.StatusSetup)), PhaseExited, contract.Exit{Code: 227}},
		{"killed after the set-up", loaded(ActiveFailed, SubFailed, ResultSignal, func(s *Status) { killed(223)(s); s.StatusText = contract.StatusSetup }), PhaseExited, contract.Exit{Signal: 223}},
		{"the login shell ends", loaded(ActiveFailed, SubFailed, ResultExitCode, said(3, contract.StatusLogin)), PhaseExited, contract.Exit{Code: 3, Launch: contract.StepShell, Errno: 2}},
		{"killed in the login shell", loaded(ActiveFailed, SubFailed, ResultSignal, func(s *Status) { killed(9)(s); s.StatusText = contract.StatusLogin }), PhaseExited, contract.Exit{Signal: 9}},
		{"begun and exit 203", loaded(ActiveFailed, SubFailed, ResultExitCode, said(203, contract.StatusBegun)), PhaseExited, contract.Exit{Code: 203}},

		{"so fast that it never was active", loaded(ActiveFailed, SubFailed, ResultExitCode, early(1, "")), PhaseExited, contract.Exit{Code: 1}},
		{"so fast, and one of systemd's numbers", loaded(ActiveFailed, SubFailed, ResultExitCode, early(217, contract.StatusBegun)), PhaseExited, contract.Exit{Code: 217}},
		{"so fast, and it said something else", loaded(ActiveFailed, SubFailed, ResultExitCode, early(217, "gpusched-filter:inactive")), PhaseExited, contract.Exit{Code: 217}},
		{"killed before it was active", loaded(ActiveFailed, SubFailed, ResultSignal, func(s *Status) { killed(9)(s); s.WasActive = false }), PhaseExited, contract.Exit{Signal: 9}},
		{"no such user", loaded(ActiveFailed, SubFailed, ResultExitCode, early(217, "")), PhaseFailedToStart,
			contract.Exit{Code: 217, Launch: contract.StepUnit, Detail: "systemd could not take on its user: the account may be gone (217)"}},
		{"no launcher", loaded(ActiveFailed, SubFailed, ResultExitCode, early(203, "")), PhaseFailedToStart,
			contract.Exit{Code: 203, Launch: contract.StepUnit, Detail: "systemd could not execute the launcher (203)"}},
		{"no resources", loaded(ActiveFailed, SubFailed, "resources", func(s *Status) { s.WasActive = false }), PhaseFailedToStart,
			contract.Exit{Launch: contract.StepUnit, Detail: "systemd: resources"}},
		{"the site's program failed", loaded(ActiveFailed, SubFailed, ResultExitCode, post(killed(15))), PhaseFailedToStart,
			contract.Exit{Signal: 15, Launch: contract.StepUnit, Detail: sites}},
		{"the site's program failed, and SIGTERM is answered", loaded(ActiveFailed, SubFailed, ResultExitCode, post(exited(5))), PhaseFailedToStart,
			contract.Exit{Code: 5, Launch: contract.StepUnit, Detail: sites}},
		{"the site's program hung", loaded(ActiveFailed, SubFailed, ResultTimeout, post(killed(9))), PhaseFailedToStart,
			contract.Exit{Signal: 9, Launch: contract.StepUnit, Detail: sites}},
		{"start hung", loaded(ActiveFailed, SubFailed, ResultTimeout, func(s *Status) { killed(15)(s); s.WasActive = false }), PhaseFailedToStart,
			contract.Exit{Signal: 15, Launch: contract.StepUnit, Detail: "systemd: timeout"}},
	} {
		phase, exit := Decode(c.s)
		if phase != c.phase || exit != c.exit {
			t.Errorf("%s: got %s %+v, want %s %+v", c.name, phase, exit, c.phase, c.exit)
		}
	}
}

// Whatever systemd reports, the result of Decode keeps invariants 5 and 6, on which the daemon
// relies.
func FuzzDecode(f *testing.F) {
	f.Add(LoadLoaded, ActiveFailed, SubFailed, ResultExitCode, uint32(0), int32(1), int32(203), contract.StatusPrefix+"exec", int32(2), true, false)
	f.Add(LoadNotFound, ActiveInactive, SubDead, ResultSuccess, uint32(0), int32(0), int32(0), "", int32(0), false, true)
	f.Fuzz(func(t *testing.T, load, active, sub, result string, pid uint32, code, status int32, text string, errno int32, was, pending bool) {
		s := Status{Load: load, Active: active, Sub: sub, Result: result, MainPID: pid, MainCode: code, MainStatus: status,
			StatusText: text, StatusErrno: errno, WasActive: was, JobPending: pending}
		phase, exit := Decode(s)
		again, exitAgain := Decode(s)
		if again != phase || exitAgain != exit {
			t.Fatal("not the same twice")
		}
		switch phase {
		case PhaseAbsent, PhaseStarting, PhaseRunning:
			if exit != (contract.Exit{}) {
				t.Errorf("%s with %+v", phase, exit)
			}
		case PhaseFailedToStart:
			if was || exit.Launch != contract.StepUnit || exit.Detail == "" {
				t.Errorf("%s with %+v", phase, exit)
			}
		case PhaseStopping, PhaseExited:
			if exit.Launch != "" && (!strings.HasPrefix(text, contract.StatusPrefix) || code != CLDExited || exit.Code < 200) {
				t.Errorf("launch failure %+v", exit)
			}
			if exit.Code != 0 && exit.Signal != 0 {
				t.Errorf("both an exit and a signal: %+v", exit)
			}
		default:
			t.Errorf("phase %q", phase)
		}
		if (active == ActiveActive || active == ActiveActivating) && phase == PhaseAbsent {
			t.Error("a living unit is absent")
		}
		if active == ActiveDeactivating && pid != 0 && phase != PhaseRunning {
			t.Error("a unit whose main process lives does not run")
		}
	})
}

// Each error says what it means for the caller.
func TestErrors(t *testing.T) {
	err := &StartError{JobResult: "failed", Status: Status{Name: Name(3), Load: LoadLoaded, Active: ActiveFailed, Result: ResultExitCode, MainCode: CLDExited, MainStatus: 217}}
	if got := err.Error(); !strings.Contains(got, "gpujob-3.service") || !strings.Contains(got, "user") {
		t.Errorf("got %q", got)
	}
}
