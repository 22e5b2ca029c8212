// The state directory that the fake library and simcuda share: the GPUs, and the processes that hold
// memory on them. See doc.go of the Go package.
#pragma once

#define FAKE_MAX_GPUS 64
#define FAKE_MAX_CLAIMS 4096
#define FAKE_MIB (1024ULL * 1024ULL)

enum { KIND_COMPUTE = 1, KIND_GRAPHICS = 2, KIND_MPS = 4 };

enum { CUDA_WRONG_SUMS = -1, CUDA_HANGS = -2 };

// The states of a process, as in cuda.h. The memory of a process that is PARKED or FAILED is on the host.
enum { RUNNING, LOCKED, PARKED, FAILED };

struct fake_gpu {
	char uuid[80], name[96], pci[32];
	char slices[256]; // of a GPU in MIG mode, "1g.10gb:7:0,3g.40gb:2:0"; "": none
	int gi, ci;       // instances of a slice
	int minor, temp, util, mig, mode;
	long long mem_mib, reserved_mib, used_mib;
	long long power_mw, limit_mw, energy_mj; // energy_mj < 0: power times uptime
	int rows_pending, rows_failed;
	int recovery;  // the recovery action that the driver reports; -1: not reported
	int lost;    // 1: calls report that the GPU is lost; 2: the GPU has no handle either
	int hang;    // calls on this GPU never return
	int energy_ms; // additional duration of reading the energy
	int error;   // calls on this GPU return this code
	int cuda;    // the result of cuInit, or one of the values below
	int unified; // the GPU uses the host's memory, and calls do not report it
	int mem_node; // the NUMA node that the GPU's memory is; 0: none
	int slow_ms; // duration of each call on this GPU

	int island, lanes, nvswitch;      // NVLinks to each GPU of the island, or to a switch; island 0: no NVLinks
	int numa, bridge, pcie;           // numa: node, -1: unknown; bridge, pcie: 0 or less: not shared
	char cpus[256];                   // CPUs near the GPU; "": the driver does not report them
};

struct fake_claim {
	int pid, minor, kinds, ghost, unknown, util;
	unsigned long long bytes;
};

// fake_gpus and fake_claims return the number of elements read, or -1 with a message on stderr.
int fake_gpus(struct fake_gpu *out, int max);

// Turns g into its slice with this position. Returns 0 if there is none.
int fake_slice(struct fake_gpu *g, int position);
int fake_claims(struct fake_claim *out, int max, int minor); // minor: of this GPU; -1: of all GPUs

// Reads all claims of a process, also those that do not count because their memory is on the host.
int fake_claims_of(struct fake_claim *out, int max, int pid);

// Locks the claims until the descriptor is closed. Returns -1 with a message on stderr.
int fake_lock(void);

// The state of a process. fake_set_state returns -1 if the caller may not set it.
int fake_state(int pid);
int fake_set_state(int pid, int state);

// Reports whether the control group of a process is frozen.
int fake_frozen(int pid);

// Returns the errno of opening the node of a GPU, or 0. A node without a driver gives ENXIO after the
// device filter has allowed it, which fake_opens counts as opened.
int fake_open(const struct fake_gpu *gpu);
int fake_opens(const struct fake_gpu *gpu);

// Sets the bits of the CPUs in a list such as "0-3,8". Returns -1 if the list is invalid or too large.
int fake_cpus(const char *list, unsigned long *mask, unsigned int words);

// Returns the bytes of gpu that are neither reserved nor used nor claimed.
unsigned long long fake_free(const struct fake_gpu *gpu, const struct fake_claim *claims, int n);
unsigned long long fake_used(const struct fake_gpu *gpu, const struct fake_claim *claims, int n);

const char *fake_dir(void);

// Returns the start time of a live process, or 0 if it has ended or is a zombie.
unsigned long long fake_start_time(int pid);
