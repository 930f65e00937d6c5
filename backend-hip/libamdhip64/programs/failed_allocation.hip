// A workspace is asked for whose size was computed from a length of -1, and nobody looks at the answer. The length is right if CLEAN is
// defined.
#include "engine.h"

__global__ void clear(float* workspace) { workspace[blockIdx.x * 64 + threadIdx.x] = 0; }

int main() {
#ifdef CLEAN
    const long length = 16;
#else
    const long length = -1;
#endif
    float* workspace = nullptr;
    (void)hipMalloc((void**)&workspace, size_t(length) * 64 * sizeof(float));
    clear<<<16, 64>>>(workspace);
    Tensor<float> host(64);
    copy_to_host(host.values, workspace, host.bytes, "workspace");
    std::printf("workspace[0] = %g\n", host[0]);
    (void)hipFree(workspace);
}
