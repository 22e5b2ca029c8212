// What the calls on a GPU begin with.
#pragma once

#define NVML_NO_UNVERSIONED_FUNC_DEFS 1
#include "nvml.h"
#include "state.h"

// Copies GPU index as it is now; a line that has gone from the file since the init is a lost GPU.
nvmlReturn_t fake_at(unsigned int index, struct fake_gpu *g);

// Every call on a GPU starts here: it may take its time, hang, or refuse.
nvmlReturn_t fake_enter(nvmlDevice_t device, struct fake_gpu *g);

#define ENTER_AS(d, g, entered)                      \
	struct fake_gpu g;                           \
	nvmlReturn_t entered = fake_enter(d, &g);    \
	if (entered != NVML_SUCCESS)                 \
		return entered

#define ENTER(g) ENTER_AS(d, g, entered)
