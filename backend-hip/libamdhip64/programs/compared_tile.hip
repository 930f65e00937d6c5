// The largest value of a tile in LDS, of which only some has been loaded: the others decide a branch, unless CLEAN is defined.
#include "engine.h"

__global__ void largest(int* out, const int* x, int n) {
    __shared__ int tile[64];
    int i = threadIdx.x;
    if (i < n) tile[i] = x[i];
    __syncthreads();
    if (i == 0) {
        int found = -1;
#ifdef CLEAN
        for (int k = 0; k < n; k++)
#else
        for (int k = 0; k < 64; k++)
#endif
            if (tile[k] > 1000000000) found = k;
        *out = found;
    }
}

int main() {
    Tensor<int> x(40, 5), out(1, 0);
    int *device_x = upload(x), *device_out = upload(out);
    largest<<<1, 64>>>(device_out, device_x, 40);
    copy_to_host(out.values, device_out, out.bytes, "out");
    std::printf("largest at %d\n", out[0]);
    (void)hipFree(device_x);
    (void)hipFree(device_out);
}
