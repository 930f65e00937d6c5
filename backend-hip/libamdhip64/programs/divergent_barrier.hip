// One wave of a workgroup ends before the barrier that the other waits at, unless CLEAN is defined.
#include "engine.h"

__global__ void sum(const int* x, int* out, int limit) {
    __shared__ int shared[128];
    int i = threadIdx.x;
    shared[i] = x[i];
    while (i < limit) {
        __syncthreads();
        limit = 0;
    }
    out[i] = shared[i];
}

int main() {
#ifdef CLEAN
    const int limit = 128;
#else
    const int limit = 64;
#endif
    int* x = upload(Tensor<int>(128, 3));
    int* out = upload(Tensor<int>(128));
    sum<<<1, 128>>>(x, out, limit);
    Tensor<int> host(128);
    copy_to_host(host.values, out, host.bytes, "out");
    std::printf("out[0] = %d\n", host[0]);
    (void)hipFree(x);
    (void)hipFree(out);
}
