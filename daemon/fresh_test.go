package daemon

import (
	"context"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

func argument(text string) *job.Payload {
	return &job.Payload{Program: contract.Program{Argv: []string{text}}}
}

// Each is there once, and of too many the oldest is not.
func TestFreshPayloads(t *testing.T) {
	var p payloads
	if y := p.take(1); y != nil {
		t.Errorf("%+v of nothing", y)
	}
	for i := range freshPayloads + 1 {
		p.put(job.ID(1+i), argument("x"))
	}
	if y := p.take(1); y != nil {
		t.Error("the oldest was kept")
	}
	for i := range freshPayloads {
		id := job.ID(2 + i)
		if y := p.take(id); y == nil {
			t.Errorf("%d is not there", id)
		}
		if y := p.take(id); y != nil {
			t.Errorf("%d is there twice", id)
		}
	}
	for i := range 3 * freshPayloads {
		p.put(job.ID(100+i), argument("x"))
	}
	if len(p.of) != freshPayloads || len(p.order) != freshPayloads {
		t.Errorf("%d are kept, in an order of %d", len(p.of), len(p.order))
	}
}

// They are bounded by their bytes as well, each by its last size.
func TestFreshPayloadsAreFew(t *testing.T) {
	var p payloads
	large := strings.Repeat("x", freshBytes-1)
	for i := range 2 * freshInAll / freshBytes {
		p.put(job.ID(1+i), argument(large))
		p.put(job.ID(1+i), argument(large))
	}
	if p.bytes != freshInAll || len(p.of) != freshInAll/freshBytes {
		t.Errorf("%d of %d bytes are kept", len(p.of), p.bytes)
	}
	for id := range p.of {
		p.take(id)
	}
	if p.bytes != 0 {
		t.Errorf("nothing is kept, of %d bytes", p.bytes)
	}
}

func TestALargePayloadIsNotFresh(t *testing.T) {
	var p payloads
	fits := argument(strings.Repeat("x", freshBytes-1)) // a byte is its end
	p.put(1, fits)
	p.put(2, argument(strings.Repeat("x", freshBytes)))
	if fits.Size() != freshBytes || p.take(1) != fits || p.take(2) != nil {
		t.Errorf("of %d bytes: %d are kept", fits.Size(), len(p.of))
	}
}

// storedPayloads are those on the disk, each with its job's number.
type storedPayloads struct {
	Store
	read []job.ID
}

func (s *storedPayloads) Payload(_ context.Context, id job.ID) (job.Payload, error) {
	s.read = append(s.read, id)
	return *argument("stored " + id.String()), nil
}

// The first start takes what is in memory; the next, and the other tasks of an array, read the disk.
func TestAPayloadIsFreshOnce(t *testing.T) {
	disk := &storedPayloads{}
	d := &Daemon{opt: Options{Store: disk}}
	d.fresh.put(7, argument("fresh"))
	for i, want := range []string{"fresh", "stored 7", "stored 7"} {
		y, err := d.payload(t.Context(), sweepTask(i)) // a job of its own, with the payload of its array
		if err != nil || y.Argv[0] != want {
			t.Errorf("task %d: %+v, %v", i, y, err)
		}
	}
	if len(disk.read) != 2 {
		t.Errorf("read %v", disk.read)
	}
}
