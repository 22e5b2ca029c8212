package journal

import (
	"encoding/binary"
	"net"
)

// Socket is where journald takes entries with fields.
const Socket = "/run/systemd/journal/socket"

// identifier is what the journal calls us.
const identifier = "gpuschedd"

// native sends entries by journald's own protocol: one datagram each.
type native struct {
	path string
	conn *net.UnixConn // nil: none yet, or it failed
}

// send waits while journald does not read. A connection that fails is made
// anew once: journald's socket may be another than before.
func (n *native) send(e entry) error {
	d := datagram(e)
	if n.conn != nil {
		if _, err := n.conn.Write(d); err == nil {
			return nil
		}
		_ = n.conn.Close()
		n.conn = nil
	}
	// Connected, so that a full queue of journald's wakes us when it has room.
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

// datagram is an entry as in systemd's "Native Journal Protocol": of each field
// the name, the length and the bytes, so that no value can be taken for more
// than that.
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
