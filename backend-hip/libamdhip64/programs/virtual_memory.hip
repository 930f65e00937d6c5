// Memory is mapped into reserved addresses, piece by piece. A kernel goes past what is mapped, unless CLEAN is defined.
#include "check.h"

__global__ void count_up(int* values, int from) {
    int i = from + blockIdx.x * 64 + threadIdx.x;
    values[i] = i;
}

int main() {
    hipMemAllocationProp properties = {};
    properties.type = hipMemAllocationTypePinned;
    properties.location.type = hipMemLocationTypeDevice;
    size_t piece = 0;
    CHECK(hipMemGetAllocationGranularity(&piece, &properties, hipMemAllocationGranularityRecommended));
    const size_t reserved = size_t(32) << 30;
    const int each = int(piece / sizeof(int));
    char* start = nullptr;
    CHECK(hipMemAddressReserve((void**)&start, reserved, 0, nullptr, 0));
    hipMemAccessDesc access = {};
    access.location.type = hipMemLocationTypeDevice;
    access.flags = hipMemAccessFlagsProtReadWrite;
    hipMemGenericAllocationHandle_t second = nullptr;
    for (int i = 0; i < 2; ++i) {
        hipMemGenericAllocationHandle_t memory;
        CHECK(hipMemCreate(&memory, piece, &properties, 0));
        CHECK(hipMemMap(start + i * piece, piece, 0, memory, 0));
        CHECK(hipMemSetAccess(start + i * piece, piece, &access, 1));
        // What is mapped stays.
        if (i == 0) CHECK(hipMemRelease(memory));
        else second = memory;
    }
    int* values = (int*)start;
    // Over the edge between the two, and up to the end.
    count_up<<<each / 64, 64>>>(values, each / 2);
    CHECK(hipDeviceSynchronize());
    int host[4];
    CHECK(hipMemcpy(host, values + each - 2, sizeof host, hipMemcpyDeviceToHost));
    if (host[0] != each - 2 || host[3] != each + 1) return 1;

    // The second piece at another place, too.
    char* alias = start + 8 * piece;
    CHECK(hipMemMap(alias, piece, 0, second, 0));
    CHECK(hipMemSetAccess(alias, piece, &access, 1));
    CHECK(hipMemcpy(host, alias, sizeof host, hipMemcpyDeviceToHost));
    if (host[0] != each || host[3] != each + 3) return 1;
    CHECK(hipMemUnmap(alias, piece));
    CHECK(hipMemRelease(second));

#ifdef CLEAN
    count_up<<<each / 64, 64>>>(values, each);
#else
    count_up<<<each / 64 + 1, 64>>>(values, each);
#endif
    hipError_t error = hipDeviceSynchronize();
    std::printf("%s\n", hipGetErrorName(error));
    if (error != hipSuccess) return 0;

    CHECK(hipMemUnmap(start, piece));
    CHECK(hipMemUnmap(start + piece, piece));
    CHECK(hipMemAddressFree(start, reserved));
}
