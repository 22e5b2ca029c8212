package config

import (
	"testing"
	"time"
)

const gib = int64(1) << 30

func TestDefaultMemFor(t *testing.T) {
	auto := DefaultMem{Kind: MemAuto}
	tests := []struct {
		name  string
		mem   DefaultMem
		milli int
		ram   int64
		gpus  int
		want  int64
	}{
		{"one of four GPUs", auto, 1000, 400 * gib, 4, 400 * gib / 4 * 3 / 4 / 1000 * 1000},
		{"all GPUs stay below the machine", auto, 4000, 400 * gib, 4, 400 * gib / 4 * 3 / 4 / 1000 * 4000},
		{"half a GPU", auto, 500, 400 * gib, 4, 400 * gib / 4 * 3 / 4 / 1000 * 500},
		{"no GPU, large machine", auto, 0, 400 * gib, 4, 8 * gib},
		{"no GPU, middling machine", auto, 0, 64 * gib, 4, 2 * gib},
		{"no GPU, small machine", auto, 0, 4 * gib, 4, gib / 2},
		{"no GPU, tiny machine", auto, 0, gib / 2, 0, gib / 2},
		{"GPUs not seen yet", auto, 1000, 64 * gib, 0, 2 * gib},
		{"more GPUs than there are", auto, 8000, 64 * gib, 4, 64 * gib},
		{"none", DefaultMem{Kind: MemNone}, 1000, 64 * gib, 4, 0},
		{"fixed", DefaultMem{Kind: MemFixed, Bytes: 5}, 1000, 64 * gib, 4, 5},
	}
	for _, tt := range tests {
		if got := tt.mem.For(tt.milli, tt.ram, 0, tt.gpus); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
	if got := auto.For(2000, 400*gib, 100*gib, 4); got > 50*gib || got < 50*gib-2000 {
		t.Errorf("two of four GPUs where a user may have 100G: got %d", got)
	}
}

func TestShareOf(t *testing.T) {
	for _, tt := range []struct {
		share Share
		want  int64
	}{{Share{}, 0}, {Share{Percent: 5}, 5 * gib}, {Share{Bytes: 3}, 3}, {Share{Bytes: 200 * gib}, 100 * gib}} {
		if got := tt.share.Of(100 * gib); got > tt.want || tt.want-got > 100 {
			t.Errorf("%v of 100G: got %d, want %d", tt.share, got, tt.want)
		}
	}
}

func TestSpellings(t *testing.T) {
	for d, want := range map[time.Duration]string{
		30 * time.Second: "30s", time.Minute: "1m", 90 * time.Second: "1m30s", 2 * time.Hour: "2h", 24 * time.Hour: "24h",
		48 * time.Hour: "2d", 61 * time.Hour: "2d13h", 100 * time.Millisecond: "100ms", longest: "3650d", time.Hour + time.Second: "1h0m1s",
	} {
		if got := spellDuration(d); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for n, want := range map[int64]string{0: "0B", 1: "1B", 1024: "1K", 512 << 20: "512M", 3 << 29: "1536M", 1 << 40: "1T"} {
		if got := spellSize(n); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
