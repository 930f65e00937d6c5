// A box inside of a larger one is filled on the device and copied to the host.
#include "check.h"

int main() {
    const size_t width = 40, height = 6, depth = 4;
    hipPitchedPtr device;
    CHECK(hipMalloc3D(&device, make_hipExtent(width, height, depth)));
    CHECK(hipMemset3D(device, 1, make_hipExtent(width, height, depth)));
    static unsigned char inner[3 * 4 * 8], all[4 * 6 * 40];
    for (unsigned char& byte : inner) byte = 7;
    hipMemcpy3DParms in = {};
    in.srcPtr = make_hipPitchedPtr(inner, 8, 8, 4);
    in.dstPtr = device;
    in.dstPos = make_hipPos(16, 1, 1);
    in.extent = make_hipExtent(8, 4, 3);
    in.kind = hipMemcpyHostToDevice;
    CHECK(hipMemcpy3D(&in));
    hipMemcpy3DParms out = {};
    out.srcPtr = device;
    out.dstPtr = make_hipPitchedPtr(all, width, width, height);
    out.extent = make_hipExtent(width, height, depth);
    out.kind = hipMemcpyDeviceToHost;
    CHECK(hipMemcpy3DAsync(&out, nullptr));
    CHECK(hipDeviceSynchronize());
    bool right = true;
    for (size_t z = 0; z < depth; ++z)
        for (size_t y = 0; y < height; ++y)
            for (size_t x = 0; x < width; ++x) {
                bool inside = z >= 1 && y >= 1 && y < 5 && x >= 16 && x < 24;
                right &= all[(z * height + y) * width + x] == (inside ? 7 : 1);
            }
    std::printf("volume: %s\n", right ? "right" : "wrong");
    CHECK(hipFree(device.ptr));
}
