//go:build machine

package vm

import "testing"

// benchmarkBoot measures a boot. Before the measurement, it puts the image into the cache.
func benchmarkBoot(b *testing.B, kind Kind) {
	if _, err := Prepare(b.Context(), kind, options(b, kind)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m, err := Start(b.Context(), kind, options(b, kind))
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := m.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func benchmarkRun(b *testing.B, kind Kind) {
	m := bootMachine(b, kind)
	for _, user := range []string{"root", "alice"} {
		b.Run(user, func(b *testing.B) {
			for b.Loop() {
				if r, err := m.Run(b.Context(), user, nil, "true"); err != nil || r.Code != 0 {
					b.Fatal(r, err)
				}
			}
		})
	}
}

// benchmarkBuild measures the first build of an image, with an empty cache.
func benchmarkBuild(b *testing.B, kind Kind) {
	for b.Loop() {
		if _, err := Prepare(b.Context(), kind, Options{CacheDir: b.TempDir()}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuildBox(b *testing.B)      { benchmarkBuild(b, Box) }
func BenchmarkBuildEmulated(b *testing.B) { benchmarkBuild(b, Emulated) }
func BenchmarkBootBox(b *testing.B)       { benchmarkBoot(b, Box) }
func BenchmarkBootEmulated(b *testing.B)  { benchmarkBoot(b, Emulated) }
func BenchmarkRunBox(b *testing.B)        { benchmarkRun(b, Box) }
func BenchmarkRunEmulated(b *testing.B)   { benchmarkRun(b, Emulated) }
