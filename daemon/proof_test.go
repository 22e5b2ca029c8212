package daemon

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/gpu"
)

// Until the fabric manager of a machine has started, CUDA says that the system is not ready. The
// GPUs are tested again, and are at fault only if CUDA still says so after notReadyTime.
func TestGPUsThatAreNotReadyAreTestedAgain(t *testing.T) {
	for readyAfter, want := range map[time.Duration]gpu.Proof{30 * time.Second: gpu.ProofWell, time.Hour: gpu.ProofError} {
		synctest.Test(t, func(t *testing.T) {
			ready := time.Now().Add(readyAfter)
			x := &executor{host: machine{}, log: slog.New(slog.DiscardHandler), settings: new(atomic.Pointer[Settings])}
			x.settings.Store(&Settings{})
			x.opt = &Options{Prove: func(context.Context, core.Prove) (gpu.Proof, string) {
				if time.Now().Before(ready) {
					return gpu.ProofNotReady, "cuInit: 802 CUDA_ERROR_SYSTEM_NOT_READY"
				}
				return gpu.ProofWell, ""
			}}
			begun := time.Now()
			e, _ := x.prove(t.Context(), core.Prove{}).(core.Proved)
			if took := time.Since(begun); e.Says != want || took > notReadyTime+notReadyPause {
				t.Errorf("ready after %v: %s %q, after %v", readyAfter, e.Says, e.Text, took)
			}
		})
	}
}

// A GPU that does not answer in time is tested once more, because the machine may be busy.
func TestGPUsThatHangAreTestedTwice(t *testing.T) {
	for second, want := range map[gpu.Proof]gpu.Proof{gpu.ProofWell: gpu.ProofWell, gpu.ProofHang: gpu.ProofHang} {
		says := []gpu.Proof{gpu.ProofHang, second}
		x := &executor{host: machine{}, log: slog.New(slog.DiscardHandler), settings: new(atomic.Pointer[Settings])}
		x.settings.Store(&Settings{})
		x.opt = &Options{Prove: func(context.Context, core.Prove) (is gpu.Proof, text string) {
			is, says = says[0], says[1:]
			return is, ""
		}}
		if e, _ := x.prove(t.Context(), core.Prove{}).(core.Proved); e.Says != want || len(says) != 0 {
			t.Errorf("the second test says %s: %s, want %s, and %d tests are left", second, e.Says, want, len(says))
		}
	}
}
