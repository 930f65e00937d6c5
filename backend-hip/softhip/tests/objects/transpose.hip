// out[c][r] = in[r][c] through a padded LDS tile, with barriers. Grid: (cols / 32, rows / 32). Block: (32, 8).
#include "device.h"

extern "C" __global__ void transpose_f32(const float *in, float *out, u32 rows, u32 cols) {
    __shared__ float tile[32][33];
    const u32 x = block_x() * 32 + thread_x();
    for (u32 j = thread_y(); j < 32; j += 8) {
        const u32 y = block_y() * 32 + j;
        if (x < cols && y < rows) tile[j][thread_x()] = in[(u64)y * cols + x];
    }
    barrier();
    const u32 r = block_y() * 32 + thread_x();
    for (u32 j = thread_y(); j < 32; j += 8) {
        const u32 c = block_x() * 32 + j;
        if (r < rows && c < cols) out[(u64)c * rows + r] = tile[thread_x()][j];
    }
}

// The same without LDS padding and with dynamic LDS of 32 * 32 * 16 bytes, four columns at a time.
extern "C" __global__ void transpose_dynamic(const f32x4 *in, f32x4 *out) {
    extern __shared__ f32x4 dynamic_tile[];
    const u32 i = thread_y() * 32 + thread_x();
    dynamic_tile[thread_x() * 8 + thread_y()] = in[i];
    barrier();
    out[i] = dynamic_tile[i];
}
