// out[r][i] = factor · x[r][i]
//
// x, out: f32 [rows][n], rows apart by their strides (elements). out may be x.
// quads: 1 where all addresses and strides are multiples of four elements, else 0.
// Grid: ceil(n / 1024), rows. Block: 256.
#include "rows.h"

KERNEL(TILE_THREADS)
scale(const float *x, float *out, u64 x_stride, u64 out_stride, u32 rows, u32 n, u32 quads, float factor) {
    const Tile t = tile_of(rows, n);
    map_row(x + t.row * x_stride, out + t.row * out_stride, t.start, t.end, quads,
            [=](float v) { return factor * v; });
}
