// Memory pools: what they count, what they refuse, and what outlives them.
#include "check.h"

__global__ void fill(int* values) { values[threadIdx.x] = 7; }

static uint64_t used(hipMemPool_t pool, hipMemPoolAttr what) {
    uint64_t bytes = 0;
    CHECK(hipMemPoolGetAttribute(pool, what, &bytes));
    return bytes;
}

int main() {
    hipMemPoolProps properties = {};
    properties.allocType = hipMemAllocationTypePinned;
    properties.location.type = hipMemLocationTypeDevice;
    hipMemPool_t pool, other, present;
    CHECK(hipMemPoolCreate(&pool, &properties));
    CHECK(hipMemPoolCreate(&other, &properties));
    if (pool == other) return 1;
    uint64_t threshold = 1 << 20;
    CHECK(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold));
    if (used(pool, hipMemPoolAttrReleaseThreshold) != threshold) return 1;

    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    int *a = nullptr, *b = nullptr;
    CHECK(hipMallocFromPoolAsync((void**)&a, 256, pool, stream));
    CHECK(hipDeviceSetMemPool(0, other));
    CHECK(hipDeviceGetMemPool(&present, 0));
    if (present != other) return 1;
    CHECK(hipMallocAsync((void**)&b, 512, stream));
    if (used(pool, hipMemPoolAttrUsedMemCurrent) != 256 || used(other, hipMemPoolAttrUsedMemCurrent) != 512) return 1;
    fill<<<1, 64, 0, stream>>>(a);
    CHECK(hipFreeAsync(a, stream));
    CHECK(hipStreamSynchronize(stream));
    if (used(pool, hipMemPoolAttrUsedMemCurrent) != 0 || used(pool, hipMemPoolAttrUsedMemHigh) != 256) return 1;
    CHECK(hipMemPoolTrimTo(pool, 0));

    // What a pool has given out outlives it.
    CHECK(hipMemPoolDestroy(other));
    CHECK(hipDeviceGetMemPool(&present, 0));
    if (present == other || hipMallocFromPoolAsync((void**)&a, 16, other, stream) == hipSuccess) return 1;
    fill<<<1, 64, 0, stream>>>(b);
    CHECK(hipFreeAsync(b, stream));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipMemPoolDestroy(pool));
    CHECK(hipStreamDestroy(stream));
    (void)hipGetLastError();
    std::printf("pools: right\n");
}
