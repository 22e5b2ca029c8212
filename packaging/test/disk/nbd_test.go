package disk

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// guest is a client that behaves like QEMU.
type guest struct {
	t    *testing.T
	conn net.Conn
}

func (g *guest) send(values ...any) {
	g.t.Helper()
	for _, v := range values {
		if err := binary.Write(g.conn, binary.BigEndian, v); err != nil {
			g.t.Fatal(err)
		}
	}
}

func (g *guest) want(values ...any) {
	g.t.Helper()
	var text bytes.Buffer
	for _, v := range values {
		binary.Write(&text, binary.BigEndian, v)
	}
	got := make([]byte, text.Len())
	if _, err := io.ReadFull(g.conn, got); err != nil || !bytes.Equal(got, text.Bytes()) {
		g.t.Fatalf("%v: got % x, want % x", err, got, text.Bytes())
	}
}

func (g *guest) request(cmd uint16, cookie, off uint64, n uint32) {
	g.t.Helper()
	g.send(uint32(magicRequest), uint16(0), cmd, cookie, off, n)
}

// connect connects as a guest. It begins with an option that the server does not support.
func connect(t *testing.T, socket string) *guest {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(time.Minute))
	g := &guest{t: t, conn: conn}
	g.want([]byte("NBDMAGICIHAVEOPT"), uint16(3))
	g.send(uint32(3), []byte("IHAVEOPT"), uint32(8), uint32(0)) // option: structured replies
	g.want(uint64(magicAnswer), uint32(8), uint32(repErrUnknown), uint32(0))
	g.send([]byte("IHAVEOPT"), uint32(optGo), uint32(6), uint32(0), uint16(0))
	g.want(uint64(magicAnswer), uint32(optGo), uint32(repInfo), uint32(12), uint16(0), uint64(4*blockSize), uint16(5))
	g.want(uint64(magicAnswer), uint32(optGo), uint32(repAck), uint32(0))
	return g
}

// The server answers requests in their order. A flush makes all earlier writes durable.
func TestNBD(t *testing.T) {
	d := open(t, 4)
	socket := filepath.Join(t.TempDir(), "s")
	s, err := Serve(d, socket)
	if err != nil {
		t.Fatal(err)
	}
	g := connect(t, socket)
	g.request(cmdWrite, 1, 4090, 10)
	g.send([]byte("0123456789"))
	g.request(cmdRead, 2, 4092, 4)
	g.request(cmdWrite, 3, 4*blockSize, 1)
	g.send([]byte("x"))
	g.request(cmdRead, 4, 4*blockSize-1, 2)
	g.request(4, 5, 0, 512) // trim, which the server does not support
	g.want(uint32(magicReply), uint32(0), uint64(1))
	g.want(uint32(magicReply), uint32(0), uint64(2), []byte("2345"))
	g.want(uint32(magicReply), uint32(errIO), uint64(3))
	g.want(uint32(magicReply), uint32(errIO), uint64(4))
	g.want(uint32(magicReply), uint32(errInvalid), uint64(5))
	if d.Flushes() != 0 {
		t.Error("the disk was flushed and nobody asked for it")
	}
	g.request(cmdFlush, 6, 0, 0)
	g.want(uint32(magicReply), uint32(0), uint64(6))
	if loss, err := d.Cut(0); err != nil || loss != (Loss{}) || d.Flushes() != 1 {
		t.Errorf("after a flush %+v can be lost, %v", loss, err)
	}
	g.request(cmdDisc, 7, 0, 0)
	if _, err := g.conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after a disconnect: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A client does not leave, as when QEMU hangs in the kernel. Close disconnects it and returns an
// error.
func TestNBDClientStays(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	s, err := Serve(open(t, 4), socket)
	if err != nil {
		t.Fatal(err)
	}
	s.leave = 10 * time.Millisecond
	g := connect(t, socket)
	const want = "waiting for the clients of the disk to go: not within 10ms; seen last: 1 are connected"
	if err := s.Close(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := g.conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the client reads %v", err)
	}
}
