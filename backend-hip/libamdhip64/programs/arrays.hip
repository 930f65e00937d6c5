// An array of two dimensions, copies of a part of it, and launches by hipConfigureCall.
#include "check.h"

__global__ void add(int* values, int count, int much) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += much;
}

extern "C" hipError_t hipConfigureCall(dim3 grid, dim3 block, size_t shared, hipStream_t stream);
extern "C" hipError_t hipSetupArgument(const void* argument, size_t size, size_t offset);
extern "C" hipError_t hipLaunchByPtr(const void* kernel);

int main() {
    const int width = 12, height = 5;
    int values[height][width], part[2][3] = {};
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) values[y][x] = 100 * y + x;
    hipArray* array = nullptr;
    hipChannelFormatDesc about = {32, 0, 0, 0, hipChannelFormatKindSigned};
    CHECK(hipMallocArray(&array, &about, width, height, 0));
    CHECK(hipMemcpy2DToArray(array, 0, 0, values, sizeof values[0], sizeof values[0], height, hipMemcpyHostToDevice));
    CHECK(hipMemcpy2DFromArray(part, sizeof part[0], array, 4 * sizeof(int), 3, sizeof part[0], 2, hipMemcpyDeviceToHost));
    hipError_t outside = hipMemcpy2DFromArray(part, sizeof part[0], array, 10 * sizeof(int), 3, sizeof part[0], 2, hipMemcpyDeviceToHost);
    CHECK(hipFreeArray(array));

    int *device, count = 6, much = 7;
    CHECK(hipMalloc((void**)&device, sizeof part));
    CHECK(hipMemcpy(device, part, sizeof part, hipMemcpyHostToDevice));
    CHECK(hipConfigureCall(dim3(1), dim3(64), 0, nullptr));
    CHECK(hipSetupArgument(&device, sizeof device, 0));
    CHECK(hipSetupArgument(&count, sizeof count, 8));
    CHECK(hipSetupArgument(&much, sizeof much, 12));
    CHECK(hipLaunchByPtr((const void*)add));
    CHECK(hipMemcpy(part, device, sizeof part, hipMemcpyDeviceToHost));
    CHECK(hipFree(device));
    bool right = outside == hipErrorInvalidValue;
    for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 3; ++x) right = right && part[y][x] == 100 * (y + 3) + x + 4 + 7;
    std::printf(right ? "arrays: right\n" : "arrays: wrong\n");
    return !right;
}
