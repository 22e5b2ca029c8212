package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

func TestNamesThatSSHOrAShellWouldTakeForMore(t *testing.T) {
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

// Invariant 1.
func TestWordsMeanNothingToAShell(t *testing.T) {
	argv := [][]byte{[]byte("logs"), []byte("a b'\"$(id)`\n\\!\x00\xff"), {}, []byte("-é")}
	word, err := Words{Argv: argv, Leashed: true}.Encode()
	if err != nil || strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || word[0] == '-' {
		t.Fatalf("%q: %v", word, err)
	}
	got, err := Decode(word)
	if err != nil || !got.Leashed || len(got.Argv) != len(argv) {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range argv {
		if !bytes.Equal(got.Argv[i], argv[i]) {
			t.Errorf("%q came as %q", argv[i], got.Argv[i])
		}
	}
	if _, err := (Words{Argv: [][]byte{make([]byte, 200<<10)}}).Encode(); err == nil {
		t.Error("a word is longer than Linux takes")
	}
	for _, bad := range []string{"", "w", "x", "w!", "w" + "AAAA"} {
		if _, err := Decode(bad); err == nil {
			t.Errorf("%q is a command", bad)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("weyJhcmd2IjpbXX0")
	f.Fuzz(func(t *testing.T, word string) {
		if w, err := Decode(word); err == nil {
			again, err := w.Encode()
			if back, err2 := Decode(again); err != nil || err2 != nil || len(back.Argv) != len(w.Argv) {
				t.Errorf("%q: %v, %v", word, err, err2)
			}
		}
	})
}

func FuzzGreeting(f *testing.F) {
	f.Add([]byte("noise\n" + mark + `{"uid":1}` + "\nrest"))
	f.Add([]byte(mark))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, noise, err := readGreeting(bytes.NewReader(text))
		if err != nil && noise != said(noise) {
			t.Errorf("%q is not harmless", noise)
		}
	})
}

// ssh puts a program of this name into PATH.
func ssh(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

const greets = "read q\necho '" + mark + `{"version":"1","uid":7,"home":"/h"}` + "'\n"

func TestAConnectionIsWhatTheOtherSideSaysAndHears(t *testing.T) {
	ssh(t, "echo welcome\n"+greets+"cat\n")
	conn, g, err := new(Calls).Dial(t.Context(), "a", Question{})
	if err != nil || g.UID != 7 || g.Home != "/h" {
		t.Fatal(g, err)
	}
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 5)
	if _, err := io.ReadFull(conn, b); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	await(t, conn)
}

// await waits until ssh has ended.
func await(t *testing.T, c net.Conn) {
	t.Helper()
	select {
	case <-c.(*conn).over:
	case <-time.After(10 * time.Second):
		t.Error("ssh is left behind")
	}
}

// Invariant 2: ssh is told to ask nothing, and no name is an option of it.
func TestHowSSHIsCalled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "called")
	ssh(t, `echo "$SSH_ASKPASS_REQUIRE $SSH_ASKPASS $*" >`+file+`; exit 255`)
	_, _, err := new(Calls).Dial(t.Context(), "ann@b", Question{})
	want := "force /bin/false -T -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=15 -o ServerAliveCountMax=4 -o LogLevel=ERROR " +
		"-o RemoteCommand=none -o ClearAllForwardings=yes -o ForwardAgent=no -o ForwardX11=no -- ann@b gpusched dial-stdio\n"
	if got, _ := os.ReadFile(file); err == nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}

// Invariant 3.
func TestWhatTheOtherSideSaysIsCleanedAndBounded(t *testing.T) {
	for name, script := range map[string]string{
		"escapes":   `printf '\033]0;evil\007\033[2Jhi \302\233 \342\200\256rtl\n' >&2; exit 255`,
		"in noise":  `printf '\033[31mhi\r\n'; exit 0`,
		"long":      `head -c 300000 /dev/zero | tr '\0' x; exit 0`,
		"long line": `head -c 9000000 /dev/zero | tr '\0' x >&2; exit 255`,
		"binary":    `head -c 100000 /dev/urandom; exit 1`,
		"no line":   `exit 0`,
		"bad JSON":  `read q; echo '` + mark + `{'`,
	} {
		ssh(t, script)
		_, _, err := new(Calls).Dial(t.Context(), "a", Question{})
		var e *api.Error
		if !errors.As(err, &e) || e.Code != api.CodeUnreachable || len(e.Message) > 1500 || strings.ContainsAny(e.Message, "\x1b\r\n\a\u202e") {
			t.Errorf("%s: %q", name, err)
		}
	}
}

func TestAMachineThatHangsIsLeft(t *testing.T) {
	for name, script := range map[string]string{"at once": "exec sleep 1000", "after noise": "echo hi; exec sleep 1000"} {
		ssh(t, script)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		began := time.Now()
		_, _, err := new(Calls).Dial(ctx, "a", Question{})
		cancel()
		var e *api.Error
		if !errors.As(err, &e) || e.Code != api.CodeUnreachable || time.Since(began) > time.Minute {
			t.Errorf("%s: %v after %s", name, err, time.Since(began))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := new(Calls).Dial(ctx, "a", Question{}); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits: %v", err)
	}
}

// An ssh that is left is told to end: killed, it would leave the socket of a connection that it shares. One that does
// not listen is killed.
func TestAnSSHThatIsLeftIsToldToEnd(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	ssh(t, "touch "+socket+"\ntrap 'rm "+socket+"; exit' TERM\necho >"+filepath.Join(dir, "began")+"\nwhile :; do sleep 0.05; done\n")
	if err := syscall.Mkfifo(filepath.Join(dir, "began"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := begin("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(filepath.Join(dir, "began")); err != nil {
		t.Fatal(err)
	}
	c.kill()
	await(t, c)
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("its socket is left behind: %v", err)
	}
	ssh(t, "trap '' TERM\nwhile :; do sleep 0.05; done\n")
	if c, err = begin("a"); err != nil {
		t.Fatal(err)
	}
	c.kill()
	await(t, c)
}

// A shared connection that ssh leaves behind holds its error output open.
func TestAnSSHThatLeavesAMasterBehind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	ssh(t, "sleep 1000 </dev/null >/dev/null &\necho $! >"+file+"\necho no >&2\nexit 255\n")
	_, _, err := new(Calls).Dial(t.Context(), "a", Question{})
	if err == nil || !strings.HasPrefix(err.Error(), "ssh says: no ") {
		t.Errorf("%v", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("its end was waited for: %v", err)
	}
}

func TestTheEndOfAConnectionSaysWhy(t *testing.T) {
	ssh(t, greets+"read line; echo 'Connection reset by peer' >&2; exit 255\n")
	conn, _, err := new(Calls).Dial(t.Context(), "a", Question{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("x\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err == nil || !strings.Contains(err.Error(), "Connection reset") {
		t.Errorf("%v", err)
	}
}

// Invariant 4, from the other side: nothing is passed on before the question is read, all is after it.
func TestServe(t *testing.T) {
	mine, its := net.Pipe()
	daemon, socket := net.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Serve(its, its, func(q Question) (Greeting, io.ReadWriteCloser) {
			if len(q.Needs) != 1 || string(q.Needs[0].Dir) != "/d" {
				return Greeting{Refused: &api.Error{Message: "what?"}}, nil
			}
			return Greeting{UID: 5}, socket
		})
	}()
	go func() {
		_, _ = mine.Write([]byte(`{"needs":[{"argv":[],"dir":"L2Q="}]}` + "\nGET"))
	}()
	b := make([]byte, 3)
	if _, err := io.ReadFull(daemonAfter(t, mine, daemon), b); err != nil || string(b) != "GET" {
		t.Errorf("%q, %v", b, err)
	}
	mine.Close()
	if err := <-done; err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// daemonAfter is the daemon's end once the greeting has come.
func daemonAfter(t *testing.T, mine io.Reader, daemon io.Reader) io.Reader {
	t.Helper()
	g, _, err := readGreeting(byteReader{mine})
	if err != nil || g.UID != 5 {
		t.Fatal(g, err)
	}
	return daemon
}
