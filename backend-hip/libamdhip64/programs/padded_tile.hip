// A product with a matrix of fewer rows than a tile has: only those are loaded to LDS, all threads multiply, and only those are stored, if CLEAN
// is defined. Otherwise a row that was never loaded is stored, too.
#include "engine.h"

#define ROWS 64
#define COLUMNS 16

__global__ void product(float* out, const float* a, const float* x, int rows) {
    __shared__ float tile[ROWS * COLUMNS];
    int row = threadIdx.x;
    if (row < rows)
        for (int i = 0; i < COLUMNS; i++) tile[row * COLUMNS + i] = a[row * COLUMNS + i];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < COLUMNS; i++) sum += tile[row * COLUMNS + i] * x[i];
#ifdef CLEAN
    if (row < rows) out[row] = sum;
#else
    if (row <= rows) out[row] = sum;
#endif
}

int main() {
    const int rows = 21;
    Tensor<float> a(rows * COLUMNS), x(COLUMNS, 2.0f), out(ROWS, -1.0f);
    for (int i = 0; i < rows * COLUMNS; i++) a[i] = i / COLUMNS;
    float *device_a = upload(a), *device_x = upload(x), *device_out = upload(out);
    product<<<1, ROWS>>>(device_out, device_a, device_x, rows);
    copy_to_host(out.values, device_out, out.bytes, "out");
    std::printf("out[20] = %g, out[63] = %g\n", out[20], out[63]);
    (void)hipFree(device_a);
    (void)hipFree(device_x);
    (void)hipFree(device_out);
}
