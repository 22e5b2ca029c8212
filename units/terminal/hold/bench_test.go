package hold

import (
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/gpusched/gpusched/units/terminal"
)

const echoes = "stty raw -echo; echo ready; exec cat"

// BenchmarkEcho sends a typed character through the holder to a program and back.
func BenchmarkEcho(b *testing.B) {
	h := start(b, "sh", "-c", echoes)
	conn := h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	readUntil(b, conn, "ready\n")
	for b.Loop() {
		say(b, conn, terminal.Data, "x")
		if _, _, err := terminal.Read(conn); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEchoBare sends a character to a program and back in a terminal without a holder.
func BenchmarkEchoBare(b *testing.B) {
	master, err := pty.Start(exec.Command("sh", "-c", echoes))
	if err != nil {
		b.Fatal(err)
	}
	defer master.Close()
	key := make([]byte, 100)
	for shown := ""; !strings.Contains(shown, "ready\n"); {
		n, err := master.Read(key)
		if err != nil {
			b.Fatal(err)
		}
		shown += string(key[:n])
	}
	for b.Loop() {
		if _, err := master.Write(key[:1]); err != nil {
			b.Fatal(err)
		}
		if _, err := master.Read(key); err != nil {
			b.Fatal(err)
		}
	}
}

const prints = "read x; stty raw; exec head -c 104857600 /dev/zero"

// BenchmarkOutput sends 100 MiB through the holder to a client and the journal.
func BenchmarkOutput(b *testing.B) {
	for b.Loop() {
		b.SetBytes(100 << 20)
		h := start(b, "sh", "-c", prints)
		conn := h.greet(terminal.Greeting{Rows: 24, Cols: 80})
		say(b, conn, terminal.Data, "\n")
		for kind := terminal.Data; kind != terminal.Ended; {
			var err error
			if kind, _, err = terminal.Read(conn); err != nil {
				b.Fatal(err)
			}
		}
		_ = h.Cmd.Wait()
	}
}

// BenchmarkOutputBare sends 100 MiB through a terminal without a holder.
func BenchmarkOutputBare(b *testing.B) {
	for b.Loop() {
		b.SetBytes(100 << 20)
		cmd := exec.Command("sh", "-c", prints)
		master, err := pty.Start(cmd)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = master.Write([]byte("\n"))
		_, _ = io.Copy(io.Discard, master)
		_ = cmd.Wait()
		master.Close()
	}
}
