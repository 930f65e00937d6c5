// Workgroups wait for each other, through a counter: each adds what its neighbour has written before. Needs a cooperative launch.
#include "check.h"

__device__ void wait_for_all(int* arrived) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __hip_atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
        while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < int(gridDim.x)) {
            __builtin_amdgcn_s_sleep(1);
        }
    }
    __syncthreads();
}

__global__ void neighbours(int* values, int* sums, int* arrived) {
    int block = blockIdx.x, blocks = gridDim.x;
    if (threadIdx.x == 0) values[block] = block + 1;
    wait_for_all(arrived);
    if (threadIdx.x == 0) sums[block] = values[block] + values[(block + 1) % blocks];
}

int main() {
    const int blocks = 16;
    int *values, *sums, *arrived, host[blocks];
    CHECK(hipMalloc((void**)&values, sizeof host));
    CHECK(hipMalloc((void**)&sums, sizeof host));
    CHECK(hipMalloc((void**)&arrived, sizeof(int)));
    CHECK(hipMemset(arrived, 0, sizeof(int)));
    void* arguments[] = {&values, &sums, &arrived};
    CHECK(hipLaunchCooperativeKernel((const void*)neighbours, dim3(blocks), dim3(64), arguments, 0, nullptr));
    CHECK(hipMemcpy(host, sums, sizeof host, hipMemcpyDeviceToHost));
    bool right = true;
    for (int i = 0; i < blocks; ++i) right &= host[i] == i + 1 + (i + 1) % blocks + 1;
    std::printf("cooperative: %s\n", right ? "right" : "wrong");
    CHECK(hipFree(values));
    CHECK(hipFree(sums));
    CHECK(hipFree(arrived));
}
