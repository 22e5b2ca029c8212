// Results of cuda_compute; units/contract has the exit statuses of the program that calls it.
enum { CUDA_WELL = 0, CUDA_ERROR = 1, CUDA_WRONG_SUMS = 2, CUDA_NO_LIBRARY = 3 };

// Computes on the first GPU that CUDA shows this process. Writes what went wrong into why.
int cuda_compute(char *why, unsigned long size);
