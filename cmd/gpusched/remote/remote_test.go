package remote

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
)

func TestHostNamesAreHarmlessToSSHAndShells(t *testing.T) {
	for _, good := range []string{"a", "a,b,c", "a.b-c_d", "ann@b", ".", "a, b", "10.0.0.1"} {
		if _, err := Hosts(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", ",", "a,", "-oProxyCommand=x", "ann@-oProxyCommand=x", "-l@b", "a b", "a;b", "$(id)", "`id`", "a\nb", "a'b", "a/b", "a:22", "[::1]",
		"..", "@b", "a@", "a@b@c", "ä", "a\x1b", "*", strings.Repeat("a", 300), strings.Repeat("a,b", 1) + ",%h",
	} {
		if names, err := Hosts(bad); err == nil {
			t.Errorf("%q is taken as %q", bad, names)
		}
	}
	if names, _ := Hosts("a,b,a"); len(names) != 2 {
		t.Errorf("named twice: %q", names)
	}
	var many []string
	for i := range maxHosts + 1 {
		many = append(many, strings.Repeat("x", i+1))
	}
	if _, err := Hosts(strings.Join(many, ",")); err == nil {
		t.Error("any number is taken")
	}
}

// This table lists words that a shell would change.
var hostile = []string{
	"", "a b", "'", "''", `"`, `\`, `\\`, `\'`, `'\''`, "$(id)", "`id`", "$HOME", "~", "*", "?", "[a]", "{a,b}", "!!", "!x", "a\nb", "\n", "\t", "\r", ";", "&", "|", "<x", ">x",
	"#a", "-e", "--", "-oProxyCommand=x", "a=b", "é", "\x01\xff", "%n", "^a^b", "(a)", `a\nb`, `'"'"'`, "a'b\"c\\d!e$f", "=ls", "@", "if",
}

// Invariant 1, tested with each shell that is installed.
func TestShellsPassWordsUnchanged(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "gpusched")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nfor w; do printf '%s\\0' \"$w\"; done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	words := append([]string{}, hostile...)
	for _, w := range hostile {
		words = append(words, strings.Repeat(w, 3)+"x"+w)
	}
	cmd := commandWith(t, words...)
	line := cmd.Args[len(cmd.Args)-1]
	for _, shell := range []string{"sh", "dash", "bash", "zsh", "fish"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		c := exec.Command(path, "-c", line)
		c.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "HOME=" + dir}
		out, err := c.Output()
		if want := strings.Join(words, "\x00") + "\x00"; err != nil || string(out) != want {
			t.Errorf("%s: %v\n%q\n%q", shell, err, out, want)
		}
	}
}

func commandWith(t *testing.T, words ...string) *exec.Cmd {
	t.Helper()
	ssh(t, "exit 0")
	cmd, err := Command("a", false, words...)
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestCommandsThatCantBeSent(t *testing.T) {
	ssh(t, "exit 0")
	for _, word := range []string{"a\x00b", strings.Repeat("x", maxLine)} {
		if _, err := Command("a", false, word); err == nil {
			t.Errorf("%.10q is sent", word)
		}
	}
	t.Setenv("PATH", t.TempDir())
	var e *api.Error
	if _, err := Command("a", false, "list"); !errors.As(err, &e) || e.Code != api.CodeUnreachable || !strings.Contains(e.Message, "is not installed here") {
		t.Errorf("without ssh: %v", err)
	}
}

// ssh puts a script in place of the program ssh.
func ssh(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// Invariant 2: the options keep ssh from asking questions, and a name is never taken for an option.
func TestHowSSHIsCalled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "called")
	ssh(t, `echo "$SSH_ASKPASS_REQUIRE $SSH_ASKPASS $*" >`+file+`; exit 255`)
	_, err := Ask(t.Context(), "ann@b", Typed{}, 1)
	want := "force /bin/false -T -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=15 -o ServerAliveCountMax=4 -o LogLevel=ERROR " +
		"-o RemoteCommand=none -o ClearAllForwardings=yes -o ForwardAgent=no -o ForwardX11=no -o ControlPersist=10m -- ann@b gpusched __document\n"
	if got, _ := os.ReadFile(file); err == nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}

// An answer has the document, the messages and the status. It does not contain the output of
// start-up files.
func TestAnAnswerLeavesOutStartupOutput(t *testing.T) {
	ssh(t, `echo "welcome {"; echo "gpusched begins"; head -c 10 >/dev/null; echo '{"a":1}'; echo "gpusched: a note" >&2; exit 3`)
	a, err := Ask(t.Context(), "a", Typed{Words: api.Words{"list"}, Called: "a"}, 1)
	if err != nil || string(a.Doc) != `{"a":1}` || a.Said != "a note" || a.Status != 3 {
		t.Errorf("%+v, %q, %v", a, a.Doc, err)
	}
	pid := filepath.Join(t.TempDir(), "pid")
	t.Cleanup(func() { _ = exec.Command("sh", "-c", "kill $(cat "+pid+")").Run() })
	// The sleep acts as a shared connection.
	ssh(t, `echo "gpusched begins"; echo '{}'; sleep 1000 & echo $! >`+pid+`; exit 0`)
	if a, err := Ask(t.Context(), "a", Typed{}, 1); err != nil || string(a.Doc) != "{}" {
		t.Errorf("a master is left behind: %+v, %v", a, err)
	}
	ssh(t, `echo "gpusched begins"; echo "gpusched: no such job" >&2; exit 3`)
	if a, err := Ask(t.Context(), "a", Typed{}, 1); err != nil || a.Doc != nil || a.Said != "no such job" || a.Status != 3 {
		t.Errorf("%+v, %v", a, err)
	}
}

// A gpusched that has not begun to answer has got no request, so it can't have carried one out.
func TestWhatHasNotBegunIsNotAsked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "asked")
	ssh(t, `echo "welcome"; timeout 0.5 cat >`+file+`; exit 255`)
	_, err := Ask(t.Context(), "a", Typed{Job: &NewJob{Environ: api.Words{"TOKEN=hunter2"}}}, 1)
	if asked, e := os.ReadFile(file); len(asked) > 0 || e != nil || err == nil || errors.As(err, new(*CutError)) {
		t.Errorf("%q, %v, %v", asked, e, err)
	}
}

// Invariant 3: the other side's output is limited in size and cleaned.
func TestRemoteOutputIsCleanedAndBounded(t *testing.T) {
	cutOff := []string{"bad JSON", "more JSON", "cut off", "ended", "silent", "gone", "no end", "no items"}
	for name, script := range map[string]string{
		"escapes":   `printf '\033]0;evil\007\033[2Jhi \302\233 \342\200\256rtl\n' >&2; exit 255`,
		"in noise":  `printf '\033[31mhi\r\n'; exit 0`,
		"long":      `head -c 300000 /dev/zero | tr '\0' x; exit 0`,
		"long line": `head -c 9000000 /dev/zero | tr '\0' x >&2; exit 255`,
		"binary":    `head -c 100000 /dev/urandom; exit 1`,
		"nothing":   `exit 0`,
		"status":    `exit 9`,
		"bad JSON":  `echo "gpusched begins"; echo '{'`,
		"more JSON": `echo "gpusched begins"; echo '{}'; echo '{}'`,
		"cut off":   `echo "gpusched begins"; printf '{"a":'; exit 255`,
		"ended":     `echo "gpusched begins"; exit 130`,
		"silent":    `echo "gpusched begins"`,
		"gone":      `echo "gpusched begins"; kill -9 $$`,
		"no shell":  `echo "sh: gpusched: not found" >&2; exit 127`,
		"no end":    `echo "gpusched begins"; exec cat /dev/zero`,
		"no items":  `echo "gpusched begins"; printf '['; head -c 3000000 /dev/zero | tr '\0' ,; printf ']'`,
	} {
		ssh(t, script)
		_, err := Ask(t.Context(), "a", Typed{}, 64)
		var e *api.Error
		if !errors.As(err, &e) || len(e.Message) > 2500 || strings.ContainsAny(e.Error(), "\x1b\r\n\a\u202e") {
			t.Errorf("%s: %q", name, err)
		}
		if cut := errors.As(err, new(*CutError)); cut != slices.Contains(cutOff, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Invariant 4: Ask gives up if a machine does not answer.
func TestAHangingMachineIsGivenUp(t *testing.T) {
	for name, script := range map[string]string{
		"at once": "", "after noise": "echo hi", "begun": "echo 'gpusched begins'; read -r question", "does not listen": "trap '' TERM",
	} {
		hangs := filepath.Join(t.TempDir(), "hangs")
		if err := syscall.Mkfifo(hangs, 0o600); err != nil {
			t.Fatal(err)
		}
		ssh(t, script+"\n: >"+hangs+"\nwhile :; do sleep 0.1; done")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			_, _ = os.ReadFile(hangs)
			cancel(context.DeadlineExceeded)
		}()
		_, err := Ask(ctx, "a", Typed{}, 1)
		var e *api.Error
		if !errors.As(err, &e) || e.Code != api.CodeUnreachable || errors.As(err, new(*CutError)) != (name == "begun") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Ask(ctx, "a", Typed{}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits: %v", err)
	}
}

// Begin is the other side of Ask.
func TestBegin(t *testing.T) {
	in, typed := io.Pipe()
	gone := make(chan bool, 1)
	go func() {
		_ = json.NewEncoder(typed).Encode(Typed{Words: api.Words{"\xff"}, Called: "a", Job: &NewJob{Key: "k"}})
	}()
	var out strings.Builder
	got, err := Begin(in, &out, func() { gone <- true })
	if err != nil || got.Words[0] != "\xff" || got.Job.Key != "k" || out.String() != "gpusched begins\n" {
		t.Errorf("%+v, %v, %q", got, err, out.String())
	}
	select {
	case <-gone:
		t.Error("it has gone already")
	default:
	}
	typed.Close()
	<-gone
	for _, bad := range []string{"", "{", `{"called":"-x"}`, `{"called":""}`} {
		if _, err := Begin(strings.NewReader(bad), io.Discard, func() {}); err == nil {
			t.Errorf("%q is a question", bad)
		}
	}
}

// A machine can't fill the client's memory with many small items. A job of three bytes in JSON
// takes more than a thousand bytes in memory.
func TestListItemsOfAnAnswerAreBounded(t *testing.T) {
	for text, want := range map[string]int{
		`{"a":[1,2,{"b":[3,4]}],"c":"[,,,","d":["\\",",","\",["]}`: 3 + 2 + 3, `[]`: 0, `[[],[]]`: 2, `{"a":1,"b":2}`: 0, `[[[`: 2, `]]],`: 0, ``: 0, `["`: 1,
	} {
		if got := countItems([]byte(text)); got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
	for n, want := range map[int]bool{1000: false, leastItems + 70_000: true} {
		if got := tooMany([]byte("[" + strings.Repeat("{},", n) + "{}]")); got != want {
			t.Errorf("%d items: %v", n, got)
		}
	}
}
