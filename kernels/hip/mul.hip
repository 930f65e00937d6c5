// out[r][i] = a[r][i] · b[r][i]
//
// a, b, out: f32 [rows][n], rows apart by their strides (elements); b_stride 0 takes one row of b for all. out may be a.
// Grid: rows · ceil(n / 1024). Block: 256.
#include "rows.h"

KERNEL(TILE_THREADS)
mul(const float *a, const float *b, float *out, u64 a_stride, u64 b_stride, u64 out_stride, u32 n) {
    const Tile t = tile_of(n);
    map_rows(a + t.row * a_stride, b + t.row * b_stride, out + t.row * out_stride, t.start, t.end,
             [](float x, float y) { return x * y; });
}
