// Waves of a workgroup exchange values through LDS, with a barrier between only if CLEAN is defined.
#include "engine.h"

__global__ void reverse(int* x) {
    __shared__ int shared[256];
    int i = threadIdx.x;
    shared[i] = 0;
    __syncthreads();
    shared[i] = x[i];
#ifdef CLEAN
    __syncthreads();
#endif
    x[i] = shared[255 - i];
}

int main() {
    int* x = upload(Tensor<int>(256, 5));
    reverse<<<1, 256>>>(x);
    Tensor<int> host(256);
    copy_to_host(host.values, x, host.bytes, "x");
    std::printf("x[0] = %d\n", host[0]);
    (void)hipFree(x);
}
