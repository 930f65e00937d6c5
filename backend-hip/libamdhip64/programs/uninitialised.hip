// A kernel reads a buffer of which only one half was written; all of it if CLEAN is defined.
#include "engine.h"

__global__ void add_one(const int* x, int* out) {
    int i = blockIdx.x * 64 + threadIdx.x;
    out[i] = x[i] + 1;
}

int main() {
    const int count = 256;
#ifdef CLEAN
    const int written = count;
#else
    const int written = count / 2;
#endif
    int *x = nullptr, *out = nullptr;
    (void)hipMalloc((void**)&x, count * sizeof(int));
    (void)hipMalloc((void**)&out, count * sizeof(int));
    (void)hipMemset(x, 0, written * sizeof(int));
    add_one<<<count / 64, 64>>>(x, out);
    Tensor<int> host(count);
    copy_to_host(host.values, out, host.bytes, "out");
    std::printf("out[0] = %d\n", host[0]);
    (void)hipFree(x);
    (void)hipFree(out);
}
