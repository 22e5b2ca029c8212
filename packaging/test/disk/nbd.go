package disk

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// The part of the NBD protocol that this package needs (doc/proto.md of the NBD project): the fixed
// newstyle handshake with one nameless export, and simple replies to read, write, flush and
// disconnect. The server does not offer FUA, so clients flush instead.
const (
	magicInit    = 0x4e42444d41474943 // "NBDMAGIC"
	magicOption  = 0x49484156454f5054 // "IHAVEOPT"
	magicAnswer  = 0x3e889045565a9    // begins the reply to an option
	magicRequest = 0x25609513
	magicReply   = 0x67446698

	flagsServer = 1<<0 | 1<<1 // fixed newstyle, no zeroes
	flagsExport = 1<<0 | 1<<2 // the export has flags and supports flush

	optExportName = 1
	optAbort      = 2
	optInfo       = 6
	optGo         = 7

	repAck        = 1
	repInfo       = 3
	repErrUnknown = 1<<31 + 1

	cmdRead, cmdWrite, cmdDisc, cmdFlush = 0, 1, 2, 3

	errIO, errInvalid = 5, 22

	longestOption  = 4096
	longestRequest = 64 << 20
)

// A Server serves a disk on a socket. A client may be silent while it has nothing to read or write.
// The server waits for the client's next request until the client ends or Close is called.
type Server struct {
	disk   *Disk
	listen net.Listener
	work   sync.WaitGroup
	leave  time.Duration // how long Close waits for clients to leave
	conns  sync.Map      // the net.Conn of each connected client
}

// leaveLimit is long enough for the pending requests of a client that was killed.
const leaveLimit = 20 * time.Second

// Serve serves the disk to all clients of a unix socket until Close is called.
func Serve(d *Disk, socket string) (*Server, error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("serve disk: %w", err)
	}
	s := &Server{disk: d, listen: l, leave: leaveLimit}
	s.work.Go(s.accept)
	return s, nil
}

// accept accepts clients until the listener is closed.
func (s *Server) accept() {
	for {
		conn, err := s.listen.Accept()
		if err != nil {
			return
		}
		s.conns.Store(conn, true)
		s.work.Go(func() {
			defer s.conns.Delete(conn)
			defer conn.Close()
			serve(conn, s.disk)
		})
	}
}

// Close stops accepting clients and waits until the connected clients are gone. The caller should
// therefore end them first. If a client stays, Close disconnects it and returns an error.
func (s *Server) Close() error {
	err := s.listen.Close()
	gone := make(chan struct{})
	go func() { s.work.Wait(); close(gone) }()
	ctx, stop := await.For(context.Background(), "the clients of the disk to go", s.leave)
	defer stop()
	select {
	case <-gone:
		return err
	case <-ctx.Done():
	}
	left := 0
	for conn := range s.conns.Range {
		conn.(net.Conn).Close()
		left++
	}
	<-gone
	return errors.Join(err, fmt.Errorf("%w; seen last: %d are connected", context.Cause(ctx), left))
}

// serve serves one client until the client is gone.
func serve(conn io.ReadWriter, d *Disk) error {
	c := client{bufio.NewReaderSize(conn, 1<<20), bufio.NewWriterSize(conn, 1<<20)}
	if err := c.handshake(d.size); err != nil {
		return fmt.Errorf("nbd handshake: %w", err)
	}
	for {
		if err := c.request(d); err != nil {
			return fmt.Errorf("nbd request: %w", err)
		}
		if c.r.Buffered() == 0 {
			if err := c.w.Flush(); err != nil {
				return fmt.Errorf("nbd reply: %w", err)
			}
		}
	}
}

type client struct {
	r *bufio.Reader
	w *bufio.Writer
}

// put writes numbers in the protocol's byte order. If a write fails, a later Flush of the client's
// writer returns the error.
func (c client) put(values ...any) {
	for _, v := range values {
		binary.Write(c.w, binary.BigEndian, v)
	}
}

// handshake returns nil when the client has asked to begin with its requests.
func (c client) handshake(size int64) error {
	c.put(uint64(magicInit), uint64(magicOption), uint16(flagsServer))
	if err := c.w.Flush(); err != nil {
		return err
	}
	var flags uint32
	if err := binary.Read(c.r, binary.BigEndian, &flags); err != nil {
		return err
	}
	for {
		var option struct {
			Magic          uint64
			Option, Length uint32
		}
		if err := binary.Read(c.r, binary.BigEndian, &option); err != nil {
			return err
		}
		if option.Magic != magicOption || option.Length > longestOption {
			return errors.New("the client does not speak this protocol")
		}
		if _, err := c.r.Discard(int(option.Length)); err != nil {
			return err
		}
		begin, err := c.answerOption(option.Option, size)
		if err == nil {
			err = c.w.Flush()
		}
		if begin || err != nil {
			return err
		}
	}
}

// answerOption answers one option of the handshake. It reports whether the client's requests
// follow.
func (c client) answerOption(option uint32, size int64) (begin bool, err error) {
	switch option {
	case optExportName:
		c.put(uint64(size), uint16(flagsExport))
		return true, nil
	case optInfo, optGo:
		c.put(uint64(magicAnswer), option, uint32(repInfo), uint32(12), uint16(0), uint64(size), uint16(flagsExport))
		c.put(uint64(magicAnswer), option, uint32(repAck), uint32(0))
		return option == optGo, nil
	case optAbort:
		c.put(uint64(magicAnswer), option, uint32(repAck), uint32(0))
		return false, errors.Join(c.w.Flush(), io.EOF)
	}
	c.put(uint64(magicAnswer), option, uint32(repErrUnknown), uint32(0))
	return false, nil
}

// request performs one request and writes its reply. Requests run one after another; a flush
// therefore covers all earlier requests.
func (c client) request(d *Disk) error {
	var r struct {
		Magic       uint32
		Flags, Type uint16
		Cookie      uint64
		Offset      uint64
		Length      uint32
	}
	if err := binary.Read(c.r, binary.BigEndian, &r); err != nil {
		return err
	}
	if r.Magic != magicRequest || r.Length > longestRequest {
		return errors.New("the client does not speak this protocol")
	}
	reply := func(err error) {
		code := uint32(0)
		if err != nil {
			code = errIO
		}
		c.put(uint32(magicReply), code, r.Cookie)
	}
	data := make([]byte, r.Length)
	switch r.Type {
	case cmdDisc:
		return io.EOF
	case cmdFlush:
		reply(d.Flush())
	case cmdRead:
		_, err := d.ReadAt(data, int64(r.Offset))
		reply(err)
		if err == nil {
			c.w.Write(data)
		}
	case cmdWrite:
		if _, err := io.ReadFull(c.r, data); err != nil {
			return err
		}
		_, err := d.WriteAt(data, int64(r.Offset))
		reply(err)
	default:
		c.put(uint32(magicReply), uint32(errInvalid), r.Cookie)
	}
	return nil
}
