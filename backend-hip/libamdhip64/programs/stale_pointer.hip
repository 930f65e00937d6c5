// A kernel is given a table of buffers of which one is freed, unless CLEAN is defined.
#include "engine.h"

__global__ void gather(const int* const* table, int* out) { out[threadIdx.x] = table[threadIdx.x][0]; }

int main() {
    Tensor<const int*> table(2);
    for (int i = 0; i < 2; ++i) table[i] = upload(Tensor<int>(16, i));
    const int** device = upload(table);
    int* out = upload(Tensor<int>(2));
#ifndef CLEAN
    (void)hipFree((void*)table[1]);
#endif
    gather<<<1, 2>>>(device, out);
    Tensor<int> host(2);
    copy_to_host(host.values, out, host.bytes, "out");
    std::printf("out[1] = %d\n", host[1]);
    (void)hipFree((void*)table[0]);
    (void)hipFree((void*)table[1]);
    (void)hipFree(device);
    (void)hipFree(out);
}
