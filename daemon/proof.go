package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units"
)

// siteCheckTime limits the site's own check of a GPU. A check that takes longer counts as passed.
const siteCheckTime = 2 * time.Minute

// After a boot, the GPUs of a machine with NVSwitch can't compute until NVIDIA's fabric manager has
// started. They are tested again every notReadyPause, and count as sick if they can't compute after
// notReadyTime.
const (
	notReadyPause = 10 * time.Second
	notReadyTime  = 2 * time.Minute
)

// Prove tests a GPU with CUDA, within a minute. It also returns a sentence for people.
type Prove func(ctx context.Context, p core.Prove) (says gpu.Proof, text string)

// prove tests a GPU with CUDA. If the GPU is well, the site's own check follows, if there is one.
func (x *executor) prove(ctx context.Context, a core.Prove) core.Event {
	e := core.Proved{UUID: a.UUID, Says: gpu.ProofUnknown, Text: "there is no program for it"}
	if x.opt.Prove != nil {
		e.Says, e.Text = x.opt.Prove(ctx, a)
	}
	if e.Says == gpu.ProofHang && ctx.Err() == nil { // a busy machine may be slow once
		e.Says, e.Text = x.opt.Prove(ctx, a)
	}
	pause := x.host.Wakeup()
	for until := x.host.Now().Add(notReadyTime); e.Says == gpu.ProofNotReady && ctx.Err() == nil; {
		if !x.host.Now().Before(until) {
			e.Says = gpu.ProofError
			break
		}
		pause.Wait(x.host.Now().Add(notReadyPause), ctx.Done())
		e.Says, e.Text = x.opt.Prove(ctx, a)
	}
	if unit := x.settings.Load().CheckUnit; e.Says == gpu.ProofWell && a.Check && unit != "" && x.opt.StartUnit != nil {
		x.checkSite(ctx, instance(unit, fmt.Sprint(a.Index)), &e)
	}
	log := x.log.With("gpu", a.Index, "gpu_uuid", a.UUID, "says", e.Says)
	switch {
	case e.Says == gpu.ProofWell:
		log.Info("a gpu was tested with cuda")
	case e.Says.Sick():
		log.Error("a gpu was tested with cuda", "why", e.Text)
	default:
		log.Info("a gpu is used without a test with cuda", "why", e.Text)
	}
	return e
}

// checkSite starts the site's own check and waits until systemd has started it. A oneshot unit
// counts as started only when it has ended.
func (x *executor) checkSite(ctx context.Context, unit string, e *core.Proved) {
	ctx, cancel := x.host.Timeout(ctx, siteCheckTime)
	defer cancel()
	switch err := x.opt.StartUnit(ctx, unit); {
	case errors.Is(err, units.ErrFailed):
		e.Says, e.Text = gpu.ProofCheck, unit
	case err != nil:
		e.Says, e.Text = gpu.ProofUnknown, err.Error()
	}
}
