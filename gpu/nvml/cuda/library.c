#include "library.h"

#include <dlfcn.h>
#include <stdio.h>

static result (*error_name)(result, const char **);

static const struct function own = {(void **)&error_name, "cuGetErrorName"};

int cuda_open(const struct function *functions, size_t n, char *why, size_t size)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib) {
		snprintf(why, size, "%s", dlerror());
		return CUDA_NO_LIBRARY;
	}
	for (size_t i = 0; i <= n; i++) {
		const struct function *f = i < n ? &functions[i] : &own;
		if (!(*f->to = dlsym(lib, f->name))) {
			snprintf(why, size, "libcuda.so.1 has no function %s", f->name);
			return CUDA_ERROR;
		}
	}
	return CUDA_WELL;
}

void cuda_failed(char *why, size_t size, const char *call, result r)
{
	const char *name = NULL;
	if (error_name(r, &name) || !name)
		name = "CUDA_ERROR_UNKNOWN";
	snprintf(why, size, "%s: %d %s", call, r, name);
}
