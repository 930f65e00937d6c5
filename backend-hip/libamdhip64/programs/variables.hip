// Variables of the device, managed memory, streams, events, attributes, occupancy. Prints "variables: right".
#include <cstring>

#include "check.h"

__device__ int counter = 5;
__constant__ int table[4];
__managed__ int shared = 7;

__global__ void step(int* out) {
    counter += table[threadIdx.x];
    shared += 1;
    *out = counter;
}

#define EXPECT(condition)                                             \
    if (!(condition)) {                                               \
        std::printf("line %d: not %s\n", __LINE__, #condition);       \
        return 1;                                                     \
    }

int main() {
    int values[4] = {10, 20, 30, 40};
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), values, sizeof values));
    int* out;
    CHECK(hipMallocManaged((void**)&out, sizeof *out, hipMemAttachGlobal));
    hipStream_t stream;
    hipEvent_t start, stop;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipEventCreate(&start));
    CHECK(hipEventCreate(&stop));
    CHECK(hipEventRecord(start, stream));
    step<<<1, 1, 0, stream>>>(out);
    CHECK(hipEventRecord(stop, stream));
    CHECK(hipStreamSynchronize(stream));
    float milliseconds = -1;
    CHECK(hipEventElapsedTime(&milliseconds, start, stop));
    EXPECT(milliseconds >= 0);
    EXPECT(*out == 15);
    EXPECT(shared == 8);
    int read = 0;
    CHECK(hipMemcpyFromSymbol(&read, HIP_SYMBOL(counter), sizeof read));
    EXPECT(read == 15);
    size_t size = 0;
    CHECK(hipGetSymbolSize(&size, HIP_SYMBOL(table)));
    EXPECT(size == sizeof values);
    hipFuncAttributes attributes;
    CHECK(hipFuncGetAttributes(&attributes, (const void*)step));
    EXPECT(attributes.maxThreadsPerBlock == 1024);
    int blocks = 0;
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, step, 256, 0));
    EXPECT(blocks == 8);
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    EXPECT(std::strncmp(properties.gcnArchName, "gfx942", 6) == 0);
    EXPECT(properties.warpSize == 64);
    hipPointerAttribute_t pointer;
    CHECK(hipPointerGetAttributes(&pointer, out));
    EXPECT(pointer.isManaged);
    EXPECT(hipMalloc(nullptr, 4) == hipErrorInvalidValue);
    EXPECT(hipPeekAtLastError() == hipErrorInvalidValue);
    EXPECT(hipGetLastError() == hipErrorInvalidValue);
    EXPECT(hipGetLastError() == hipSuccess);
    EXPECT(hipMemcpyToSymbol(HIP_SYMBOL(table), values, sizeof values, 4) == hipErrorInvalidValue);
    CHECK(hipFree(out));
    CHECK(hipEventDestroy(start));
    CHECK(hipEventDestroy(stop));
    CHECK(hipStreamDestroy(stream));
    std::printf("variables: right\n");
}
