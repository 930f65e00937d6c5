// out[r][i] = a[r][i] · b[r][i]
//
// a, b, out: f32 [rows][n], rows apart by their strides (elements); b_stride 0 takes one row of b for all. out may be a.
// quads: 1 where all addresses and strides are multiples of four elements, else 0.
// Grid: ceil(n / 1024), rows. Block: 256.
#include "rows.h"

KERNEL(TILE_THREADS)
mul(const float *a, const float *b, float *out, u64 a_stride, u64 b_stride, u64 out_stride, u32 rows, u32 n,
    u32 quads) {
    const Tile t = tile_of(rows, n);
    map_rows(a + t.row * a_stride, b + t.row * b_stride, out + t.row * out_stride, t.start, t.end, quads,
             [](float x, float y) { return x * y; });
}
