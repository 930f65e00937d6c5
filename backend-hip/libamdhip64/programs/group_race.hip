// Workgroups count into one place, with an atomic operation only if CLEAN is defined.
#include "engine.h"

__global__ void count(int* total) {
    if (threadIdx.x != 0) return;
#ifdef CLEAN
    atomicAdd(total, 1 + int(blockIdx.x));
#else
    *total += 1 + int(blockIdx.x);
#endif
}

int main() {
    int* total = upload(Tensor<int>(1));
    count<<<8, 64>>>(total);
    Tensor<int> host(1);
    copy_to_host(host.values, total, host.bytes, "total");
    std::printf("total = %d\n", host[0]);
    (void)hipFree(total);
}
