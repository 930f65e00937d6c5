// out[r][i] = factor · x[r][i]
//
// x, out: f32 [rows][n], rows apart by their strides (elements). out may be x.
// Grid: rows · ceil(n / 1024). Block: 256.
#include "rows.h"

KERNEL(TILE_THREADS) scale(const float *x, float *out, u64 x_stride, u64 out_stride, u32 n, float factor) {
    const Tile t = tile_of(n);
    map_row(x + t.row * x_stride, out + t.row * out_stride, t.start, t.end, [=](float v) { return factor * v; });
}
