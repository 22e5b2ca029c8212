//go:build machine

package suite

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// auditFields are fields of an audit entry. The daemon sets some of them; journald adds the others,
// which are about the sender.
var auditFields = []string{
	"PRIORITY", "SYSLOG_IDENTIFIER", "_TRANSPORT", "_UID", "GPUSCHED_UID", "GPUSCHED_USER", "GPUSCHED_ACTION",
	"GPUSCHED_TARGET", "GPUSCHED_OUTCOME", "GPUSCHED_CODE", "GPUSCHED_JOB", "GPUSCHED_GPU",
}

// audited returns the journal entries that match the arguments of journalctl. Each entry is one
// line of "NAME=value" fields.
func audited(t *testing.T, words string) []string {
	t.Helper()
	var list []string
	awaitJournal(t)
	for line := range strings.Lines(sh(t, "", "journalctl -q --no-pager -o json "+words)) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		var told []string
		for _, name := range auditFields {
			if v, ok := entry[name]; ok {
				told = append(told, fmt.Sprint(name, "=", v))
			}
		}
		list = append(list, strings.Join(told, " "))
	}
	return list
}

// TestAuditLog: the journal has an entry with fields for each refused request, each act of an
// administrator and each reload. No entry contains a job's command or environment.
func TestAuditLog(t *testing.T) {
	begin(t)
	sh(t, "", "systemctl restart gpusched") // resets the rate limit of bob's logged refusals
	since := sh(t, "", "date '+%F %T.%6N'")
	id := submit(t, "alice", "-g 0 -m 50M -- env VERY=secret sleep 1000")
	waitRun(t, id)
	mustFail(t, "bob", fmt.Sprintf("gpusched cancel %d", id), 4, "belongs to alice")
	mustFail(t, "bob", "gpusched gpu drain 1", 4, "only administrators")
	sh(t, "", fmt.Sprintf("gpusched gpu drain 1 --reason fan; gpusched gpu undrain 1; gpusched cancel %d; systemctl reload gpusched", id))
	const asRoot, ofRoot = "PRIORITY=6 SYSLOG_IDENTIFIER=gpuschedd _TRANSPORT=journal _UID=0 ", "GPUSCHED_UID=0 GPUSCHED_USER=root "
	const refusal = "PRIORITY=4 SYSLOG_IDENTIFIER=gpuschedd _TRANSPORT=journal _UID=0 GPUSCHED_UID=1002 GPUSCHED_USER=bob "
	query := "-u gpusched GPUSCHED_AUDIT=1 --since '" + since + "'"
	poll(t, "the reload is in the audit log", func() bool {
		return slices.Contains(audited(t, query), asRoot+ofRoot+"GPUSCHED_ACTION=reload GPUSCHED_TARGET=settings GPUSCHED_OUTCOME=done")
	})
	for words, want := range map[string]string{
		fmt.Sprintf(" GPUSCHED_JOB=%d GPUSCHED_OUTCOME=refused", id):                  fmt.Sprintf(refusal+"GPUSCHED_ACTION=cancel GPUSCHED_TARGET=job %d GPUSCHED_OUTCOME=refused GPUSCHED_JOB=%[1]d", id),
		" GPUSCHED_GPU=1 GPUSCHED_USER=bob":                                           refusal + "GPUSCHED_ACTION=drain GPUSCHED_TARGET=GPU 1 GPUSCHED_OUTCOME=refused GPUSCHED_GPU=1",
		" GPUSCHED_ACTION=drain GPUSCHED_OUTCOME=done":                                asRoot + ofRoot + "GPUSCHED_ACTION=drain GPUSCHED_TARGET=GPU 1 GPUSCHED_OUTCOME=done GPUSCHED_GPU=1",
		fmt.Sprintf(" GPUSCHED_JOB=%d GPUSCHED_ACTION=cancel GPUSCHED_USER=root", id): asRoot + ofRoot + fmt.Sprintf("GPUSCHED_ACTION=cancel GPUSCHED_TARGET=job %d GPUSCHED_OUTCOME=done GPUSCHED_JOB=%[1]d", id),
	} {
		if got := audited(t, query+words); len(got) != 1 || got[0] != want {
			t.Errorf("%s finds %q, want %q", words, got, want)
		}
	}
	// A search for a job's number also finds all entries about its start and end.
	if got := sh(t, "", fmt.Sprintf("journalctl -q -o cat --since '%s' -u gpusched GPUSCHED_JOB=%d", since, id)); !strings.Contains(got, "job running") || !strings.Contains(got, "job cancelled") {
		t.Errorf("the journal has these lines of job %d:\n%s", id, got)
	}
	if all := sh(t, "", "journalctl -u gpusched -o export --since '"+since+"'"); strings.Contains(all, "secret") {
		t.Errorf("the daemon's journal has a command:\n%s", all)
	}
}

// TestWhatIsAskedIsInTheJournal: an administrator finds the journal entry about a user's request by
// the entry's fields, which include old and new values. Changes of settings can be found too. No
// field contains a private value, a job's name cannot set another field, and users cannot read the
// entries.
func TestWhatIsAskedIsInTheJournal(t *testing.T) {
	begin(t)
	since := sh(t, "", "date '+%F %T.%6N'")
	id := submit(t, "bob", "-g 0.5 --gpu-mem 1G -m 50M -t 2h --hold -n 'x GPUSCHED_UID=0' --tag k=v -e KEY=hush-value --param p=hush-param,two -- sh -c 'sleep 1000 hush-argument {p}'")
	sh(t, "bob", fmt.Sprintf("gpusched update %d -t 1h -g 1 -n other; gpusched cancel %[1]d", id))
	const dropIn = "/etc/gpusched/conf.d/50-asked.toml"
	t.Cleanup(func() { sh(t, "", "rm -f "+dropIn+"; systemctl reload gpusched") })
	sh(t, "", `printf '[limits]\nuser_waits = 99\n[notify.webhook.lab]\nurl = "https://chat.example.org/hush-hook"\n' >`+dropIn+"; systemctl reload gpusched")
	job := fmt.Sprintf("GPUSCHED_JOB=%d ", id)
	for words, want := range map[string]map[string]string{
		job + "GPUSCHED_USER=bob GPUSCHED_GPUS=0.5": {
			"MESSAGE":      fmt.Sprintf(`job queued job=%d state=queued uid=1002 user=bob held_by=bob name="x GPUSCHED_UID=0" gpus=0.5 `, id),
			"GPUSCHED_UID": "1002", "GPUSCHED_NAME": "x GPUSCHED_UID=0", "GPUSCHED_GPU_MEM": "1G", "GPUSCHED_MEM": "50M", "GPUSCHED_TIME": "2h",
			"GPUSCHED_PRIORITY": "normal", "GPUSCHED_TAGS": "k=v", "GPUSCHED_ARRAY": "0-1", "GPUSCHED_HELD_BY": "bob",
		},
		job + "GPUSCHED_TIME=1h": {
			"MESSAGE":              fmt.Sprintf("job updated job=%d ", id),
			"GPUSCHED_TIME_BEFORE": "2h", "GPUSCHED_GPUS": "1", "GPUSCHED_GPUS_BEFORE": "0.5", "GPUSCHED_NAME": "other", "GPUSCHED_NAME_BEFORE": "x GPUSCHED_UID=0", "GPUSCHED_BY": "bob",
		},
		job + "GPUSCHED_STATE=cancelled":                       {"GPUSCHED_BY": "bob", "GPUSCHED_USER": "bob"},
		"GPUSCHED_SETTING=limits.user_waits GPUSCHED_VALUE=99": {"MESSAGE": "a setting has changed "},
		"GPUSCHED_SETTING=notify.webhook.lab.url":              {"GPUSCHED_VALUE": "(not shown)", "GPUSCHED_VALUE_BEFORE": "not set"},
	} {
		var entry map[string]any
		poll(t, words+" is in the journal", func() bool {
			out := sh(t, "", "journalctl -q --no-pager -o json -u gpusched --since '"+since+"' "+words)
			return json.Unmarshal([]byte(out), &entry) == nil // true if exactly one entry was found
		})
		for name, value := range want {
			if got := fmt.Sprint(entry[name]); got != value && !(name == "MESSAGE" && strings.HasPrefix(got, value)) {
				t.Errorf("%s: %s is %q, want %q", words, name, got, value)
			}
		}
	}
	if all := sh(t, "", "journalctl -q -u gpusched -o export --since '"+since+"'"); strings.Contains(all, "hush") {
		t.Errorf("private values are in the journal:\n%s", all)
	}
	if out := try(t, "bob", "journalctl -q -u gpusched GPUSCHED_USER=bob --since '"+since+"'").Stdout; out != "" {
		t.Errorf("bob reads the daemon's journal:\n%s", out)
	}
}

// TestAttackerAuditLog: only the daemon writes audit entries. A user's text stays in its own field.
// What users send to journald or print in a job does not become an entry of the daemon.
func TestAttackerAuditLog(t *testing.T) {
	begin(t)
	installProgram(t, "../attacker", attackerPath)
	since := sh(t, "", "date '+%F %T.%6N'")
	const forged = `GPUSCHED_AUDIT=1\nGPUSCHED_OUTCOME=done\nGPUSCHED_USER=root\nGPUSCHED_ACTION=forged`
	const line = `audit uid=0 user=root action=forged outcome=done`
	try(t, "bob", `printf 'MESSAGE=`+line+`\n_SYSTEMD_UNIT=gpusched.service\n`+forged+`\n' | logger --journald`)
	name := `$'x\n` + forged + `\n<0>` + line + `'`
	try(t, "bob", "gpusched submit -q -g 0 -n "+name+" --comment "+name+" -- true")
	try(t, "bob", "gpusched gpu drain "+name)
	if r := try(t, "bob", attackerPath+" ask POST '/v1/gpus/0%0AGPUSCHED_OUTCOME%3Ddone/drain'"); !strings.HasPrefix(r.Stdout, "403") {
		t.Errorf("a GPU with a field in its name: %s%s", r.Stdout, r.Stderr)
	}
	id := submit(t, "bob", "-g 0 -- bash -c "+`"printf 'MESSAGE=`+line+`\n`+strings.ReplaceAll(forged, `\n`, `\\n`)+`\n' | logger --journald; echo '<0>`+line+`'"`)
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	mustFail(t, "bob", "gpusched gpu drain 3", 4, "only administrators")
	want := []string{"GPU 0\nGPUSCHED_OUTCOME=done GPUSCHED_OUTCOME=refused", "GPU 3 GPUSCHED_OUTCOME=refused GPUSCHED_GPU=3"}
	got := audited(t, "-u gpusched GPUSCHED_AUDIT=1 GPUSCHED_UID=1002 --since '"+since+"'")
	if len(got) != len(want) {
		t.Errorf("the log has %q", got)
	}
	for i, told := range got {
		const bob = "PRIORITY=4 SYSLOG_IDENTIFIER=gpuschedd _TRANSPORT=journal _UID=0 GPUSCHED_UID=1002 GPUSCHED_USER=bob GPUSCHED_ACTION=drain GPUSCHED_TARGET="
		if i >= len(want) || told != bob+want[i] {
			t.Errorf("the log has %q", told)
		}
	}
	for _, words := range []string{"GPUSCHED_ACTION=forged", "GPUSCHED_OUTCOME=done GPUSCHED_USER=bob", "-p 0"} {
		if got := audited(t, "-u gpusched "+words+" --since '"+since+"'"); len(got) > 0 {
			t.Errorf("%s finds %q", words, got)
		}
	}
}

// TestLogLevel: an administrator can change the log level of the running daemon. Health shows the
// level, and a restart resets it. The audit log is written at every level.
func TestLogLevel(t *testing.T) {
	begin(t)
	t.Cleanup(func() { sh(t, "", "gpusched daemon log-level default") })
	since := sh(t, "", "date '+%F %T.%6N'")
	entries := func(words string) string {
		awaitJournal(t)
		return sh(t, "", "journalctl -q --no-pager -o cat -u gpusched --since '"+since+"' "+words)
	}
	mustFail(t, "bob", "gpusched daemon log-level debug", 4, "only administrators")
	if got := sh(t, "bob", "gpusched list >/dev/null; gpusched daemon log-level"); got != "info, as the settings say" || entries("PRIORITY=7") != "" {
		t.Errorf("%s; at debug there is\n%s", got, entries("PRIORITY=7"))
	}
	if got := sh(t, "", "gpusched daemon log-level debug; gpusched list >/dev/null"); got != "debug until the daemon restarts (the settings say info)" {
		t.Error(got)
	}
	if got := entries("PRIORITY=7 GPUSCHED_ACTION=list GPUSCHED_UID=0"); !strings.HasPrefix(got, "request answered uid=0 action=list failed=false ") {
		t.Errorf("a request is logged as %q", got)
	}
	healthSays(t, "its level is debug until a restart")
	sh(t, "", "gpusched daemon log-level error; gpusched gpu pause 0; gpusched gpu resume 0")
	if got := entries("PRIORITY=6 GPUSCHED_AUDIT=1 GPUSCHED_ACTION=log-level GPUSCHED_LEVEL=error"); !strings.HasPrefix(got, "audit uid=0 user=root action=log-level outcome=done level=error") {
		t.Errorf("the audit entry of the change is %q", got)
	}
	if audit, others := entries("GPUSCHED_AUDIT=1 GPUSCHED_ACTION=pause"), entries("PRIORITY=6 GPUSCHED_PAUSED=true"); audit == "" || others != "" {
		t.Errorf("at error there is %q and %q", audit, others)
	}
	sh(t, "", "systemctl restart gpusched")
	if got := sh(t, "bob", "gpusched daemon log-level"); got != "info, as the settings say" {
		t.Errorf("after a restart: %s", got)
	}
}
