//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// agent is a script that runs 'gpusched mcp' with the script's arguments. For each line of its
// input, the script makes one tool call and prints the answer.
const agent = `#!/bin/bash
coproc M { gpusched mcp "$@"; }
ask() { printf '%s\n' "$1" >&"${M[1]}"; }
ask '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"suite","version":"1"}}}'
read -r _ <&"${M[0]}"
ask '{"jsonrpc":"2.0","method":"notifications/initialized"}'
while read -r line; do
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'"$line"'}'
	read -r answer <&"${M[0]}"
	printf '%s\n' "$answer"
done
exec {M[1]}>&-
wait
`

// TestAgent: an agent has the rights of the user who runs
// it, and changes nothing unless that user allows it.
func TestAgent(t *testing.T) {
	begin(t)
	sh(t, "alice", "cat > ~/agent <<'END'\n"+agent+"END\nchmod 755 ~/agent")
	t.Cleanup(func() { sh(t, "alice", "rm ~/agent") })
	call := func(how, tool, in string) string {
		t.Helper()
		return sh(t, "alice", fmt.Sprintf(`echo '{"name":"%s","arguments":%s}' | ~/agent %s`, tool, in, how))
	}
	const job = `{"command":["/bin/sh","-c","echo the last words; exit 3"],"directory":"/home/alice","options":{"gpus":1,"name":"by-agent"}}`
	if text := call("", "submit", job); !strings.Contains(text, `"error"`) || strings.Contains(sh(t, "alice", "gpusched list -a"), "by-agent") {
		t.Errorf("it submits although the user did not allow that: %s", text)
	}
	if text := call("", "dry_run", job); !strings.Contains(text, "CUDA_VISIBLE_DEVICES") && !strings.Contains(text, "DeviceAllow") {
		t.Errorf("the dry run says %s", text)
	}
	if text := call("--write", "submit", job); strings.Contains(text, `"isError":true`) || !strings.Contains(text, "by-agent") || !strings.Contains(text, "queued") {
		t.Fatalf("it does not submit: %s", text)
	}
	id := sh(t, "alice", "gpusched list -a -o ids --name by-agent")
	if text := call("", "wait", fmt.Sprintf(`{"ids":%s}`, id)); !strings.Contains(text, `"ended":true`) || !strings.Contains(text, "exit code 3") {
		t.Errorf("it waits and gets %s", text)
	}
	for tool, want := range map[string]string{"triage": "the last words", "logs": "the last words", "show": `exit code 3`} {
		if text := call("", tool, fmt.Sprintf(`{"id":"%s"}`, id)); !strings.Contains(text, want) {
			t.Errorf("%s says %s", tool, text)
		}
	}
	theirs := submit(t, "bob", "-g 1 -n theirs -- sleep 1000")
	waitRun(t, theirs)
	if text := call("--write", "cancel", fmt.Sprintf(`{"ids":["%d"]}`, theirs)); !strings.Contains(text, "belongs to bob") {
		t.Errorf("another user's job: %s", text)
	}
	if text := call("", "logs", fmt.Sprintf(`{"id":"%d"}`, theirs)); !strings.Contains(text, `"isError":true`) {
		t.Errorf("another user's output: %s", text)
	}
}
