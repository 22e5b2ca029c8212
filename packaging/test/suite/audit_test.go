//go:build machine

package suite

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// auditFields are those of ours, and what journald itself says of the sender.
var auditFields = []string{
	"PRIORITY", "SYSLOG_IDENTIFIER", "_TRANSPORT", "_UID", "GPUSCHED_UID", "GPUSCHED_USER", "GPUSCHED_ACTION",
	"GPUSCHED_TARGET", "GPUSCHED_OUTCOME", "GPUSCHED_CODE", "GPUSCHED_JOB", "GPUSCHED_GPU",
}

// audited finds entries of the journal by the words of a journalctl command: of
// each the fields, as "NAME=value" in one line.
func audited(t *testing.T, words string) []string {
	t.Helper()
	var list []string
	synced(t)
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

// TestAuditLog: what was refused and what an administrator did is in the journal,
// each with its fields, a reload too; no command or environment is with it.
func TestAuditLog(t *testing.T) {
	begin(t)
	sh(t, "", "systemctl restart gpusched") // which forgets how many refusals of bob it has logged lately
	since := sh(t, "", "date '+%F %T.%6N'")
	id := submit(t, "alice", "-g 0 -m 50M -- env VERY=secret sleep 1000")
	running(t, id)
	refused(t, "bob", fmt.Sprintf("gpusched cancel %d", id), 4, "belongs to alice")
	refused(t, "bob", "gpusched gpu drain 1", 4, "only administrators")
	sh(t, "", fmt.Sprintf("gpusched gpu drain 1 --reason fan; gpusched gpu undrain 1; gpusched cancel %d; systemctl reload gpusched", id))
	const asRoot, ofRoot = "PRIORITY=6 SYSLOG_IDENTIFIER=gpuschedd _TRANSPORT=journal _UID=0 ", "GPUSCHED_UID=0 GPUSCHED_USER=root "
	const refusal = "PRIORITY=4 SYSLOG_IDENTIFIER=gpuschedd _TRANSPORT=journal _UID=0 GPUSCHED_UID=1002 GPUSCHED_USER=bob "
	query := "-u gpusched GPUSCHED_AUDIT=1 --since '" + since + "'"
	until(t, "the reload is in the audit log", func() bool {
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
	// The life of a job is found by its number too.
	if got := sh(t, "", fmt.Sprintf("journalctl -q -o cat --since '%s' -u gpusched GPUSCHED_JOB=%d", since, id)); !strings.Contains(got, "job running") || !strings.Contains(got, "job cancelled") {
		t.Errorf("of job %d the journal has\n%s", id, got)
	}
	if all := sh(t, "", "journalctl -u gpusched -o export --since '"+since+"'"); strings.Contains(all, "secret") {
		t.Errorf("the daemon's journal tells of a command:\n%s", all)
	}
}

// TestAttackerAuditLog: nobody but the daemon writes a line of it. What users name
// stays in the field that it belongs to, and what they send to journald
// themselves, or print in a job, is not the daemon's.
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
	ended(t, wait(t, id), "completed", "exit code 0")
	refused(t, "bob", "gpusched gpu drain 3", 4, "only administrators")
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
