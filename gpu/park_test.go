package gpu

import "testing"

// The UUIDs of a move are as the driver spells them, and each byte has its place.
func TestParkMoveOf(t *testing.T) {
	const old, next = "GPU-00112233-4455-6677-8899-aabbccddeeff", "GPU-ffeeddcc-bbaa-9988-7766-554433221100"
	m, ok := ParkMoveOf(ParkMoveArgument(old, next))
	for i := range m.Old {
		ok = ok && m.Old[i] == byte(0x11*i) && m.New[15-i] == m.Old[i]
	}
	if !ok {
		t.Errorf("%x", m)
	}
	for _, bad := range []string{"", old, old + "=", "=" + next, old + "=" + next + "0", old + "=" + next[:39], old + "=" + next[4:],
		old + "=GPU-FFEEDDCC-bbaa-9988-7766-554433221100", old + "=GPU-ffeeddccb-baa-9988-7766-554433221100", old + "=" + next + "=" + next} {
		if m, ok := ParkMoveOf(bad); ok {
			t.Errorf("%q names %x", bad, m)
		}
	}
}
