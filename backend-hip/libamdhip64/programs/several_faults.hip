// Two kernels with three faults between them, none of which hides another: writes past the end by two instructions, and a read of what
// nothing has written. No launch is checked. CLEAN has none of them.
#include "engine.h"

constexpr int COUNT = 256;
#ifdef CLEAN
constexpr int THREADS = COUNT;
#else
constexpr int THREADS = COUNT + 64;
#endif

// out[i] = x[i] + 1, twice[i] = 2 * x[i]
__global__ void split(const int* x, int* out, int* twice) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < COUNT ? x[i] : 0;
    out[i] = value + 1;
    twice[i] = 2 * value;
}

// out[i] += table[i] + rest[i]
__global__ void combine(const int* table, const int* rest, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT) out[i] += table[i] + rest[i];
}

int main() {
    int* x = upload(Tensor<int>(COUNT, 7));
    int* table = upload(Tensor<int>(COUNT, 1));
    int *out = nullptr, *twice = nullptr, *rest = nullptr;
    (void)hipMalloc((void**)&out, COUNT * sizeof(int));
    (void)hipMalloc((void**)&twice, COUNT * sizeof(int));
    (void)hipMalloc((void**)&rest, COUNT * sizeof(int));
#ifdef CLEAN
    (void)hipMemset(rest, 0, COUNT * sizeof(int));
#endif
    split<<<1, THREADS>>>(x, out, twice);
    split<<<1, THREADS>>>(x, out, twice);
    combine<<<1, COUNT>>>(table, rest, out);
    Tensor<int> host(COUNT);
    hipError_t error = hipMemcpy(host.values, out, host.bytes, hipMemcpyDeviceToHost);
    std::printf("copy: %s, out[0] = %d, out[255] = %d\n", hipGetErrorName(error), host[0], host[255]);
    (void)hipFree(x);
    (void)hipFree(table);
    (void)hipFree(out);
    (void)hipFree(twice);
    (void)hipFree(rest);
}
