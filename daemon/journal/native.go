package journal

import (
	"encoding/binary"
	"net"
)

// Socket is the path at which journald accepts entries with fields.
const Socket = "/run/systemd/journal/socket"

// identifier is the daemon's name in the journal.
const identifier = "gpuschedd"

// nativeSender sends entries by journald's own protocol, one per datagram.
type nativeSender struct {
	path string
	conn *net.UnixConn // nil: not connected
}

// send sends an entry. While journald does not read, send waits. If sending fails, send connects
// again and retries once, because journald may have a new socket.
func (n *nativeSender) send(e entry) error {
	d := datagram(e)
	if n.conn != nil {
		if _, err := n.conn.Write(d); err == nil {
			return nil
		}
		_ = n.conn.Close()
		n.conn = nil
	}
	// A send waits for room in journald's queue only if the socket is connected.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.path, Net: "unixgram"})
	if err != nil {
		return err
	}
	if _, err := conn.Write(d); err != nil {
		_ = conn.Close()
		return err
	}
	n.conn = conn
	return nil
}

// datagram encodes an entry by systemd's "Native Journal Protocol".
// Each field has its name, its length and its bytes, so that no value can look like another field.
func datagram(e entry) []byte {
	var d []byte
	for _, f := range []field{{"MESSAGE", e.text}, {"PRIORITY", string(priority(e.level))}, {"SYSLOG_IDENTIFIER", identifier}} {
		d = appendField(d, f)
	}
	for _, f := range e.fields {
		if len(d)+len(f.name)+len(f.value) <= maxEntry {
			d = appendField(d, f)
		}
	}
	return d
}

func appendField(d []byte, f field) []byte {
	d = append(append(d, f.name...), '\n')
	d = binary.LittleEndian.AppendUint64(d, uint64(len(f.value)))
	return append(append(d, f.value...), '\n')
}
