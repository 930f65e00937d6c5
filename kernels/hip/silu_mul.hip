// out[r][i] = gate[r][i] · σ(gate[r][i]) · up[r][i], σ(x) = 1 / (1 + e^−x)
//
// gate, up, out: f32 [rows][n], rows apart by their strides (elements). out may be gate.
// quads: 1 where all addresses and strides are multiples of four elements, else 0.
// Grid: ceil(n / 1024), rows. Block: 256.
//
// As gate / (1 + e^−gate) · up: no step cancels. A gate of −∞ counts as −MAX, whose quotient is the limit −0.
#include "rows.h"

KERNEL(TILE_THREADS)
silu_mul(const float *gate, const float *up, float *out, u64 gate_stride, u64 up_stride, u64 out_stride, u32 rows,
         u32 n, u32 quads) {
    const Tile t = tile_of(rows, n);
    map_rows(gate + t.row * gate_stride, up + t.row * up_stride, out + t.row * out_stride, t.start, t.end, quads,
             [](float x, float v) { return __builtin_fmaxf(x, -__FLT_MAX__) / (1.0f + __builtin_expf(-x)) * v; });
}
