// The functions that every call on a GPU uses first.
#pragma once

#define NVML_NO_UNVERSIONED_FUNC_DEFS 1
#include "nvml.h"
#include "state.h"

// Copies the GPU with this index, as the file "gpus" describes it now. If its line was removed after
// nvmlInit, the GPU is lost.
nvmlReturn_t fake_at(unsigned int index, struct fake_gpu *g);

// Every call on a GPU begins here: it may be slow, hang or fail.
nvmlReturn_t fake_enter(nvmlDevice_t device, struct fake_gpu *g);

#define ENTER_AS(d, g, entered)                      \
	struct fake_gpu g;                           \
	nvmlReturn_t entered = fake_enter(d, &g);    \
	if (entered != NVML_SUCCESS)                 \
		return entered

#define ENTER(g) ENTER_AS(d, g, entered)
