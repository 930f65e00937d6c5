// out[r][i] = gate[r][i] · Φ(gate[r][i]) · up[r][i]
//
// gelu_mul_erf:  Φ(x) = ½·(1 + erf(x/√2))
// gelu_mul_tanh: Φ(x) = ½·(1 + tanh(z)) = 1 / (1 + e^−2z), z = √(2/π)·(x + 0.044715·x³)
//
// gate, up, out: f32 [rows][n], rows apart by their strides (elements). out may be gate.
// quads: 1 where all addresses and strides are multiples of four elements, else 0.
// Grid: ceil(n / 1024), rows. Block: 256.
//
// A gate of −∞ counts as −MAX, whose product with Φ = 0 is the limit −0.
#include "functions.h"
#include "rows.h"

DEVICE float phi_erf(float x) { return 0.5f * (1.0f + erf_f32(x * 0.70710678f)); }

DEVICE float phi_tanh(float x) {
    const float z = 0.79788456f * __builtin_fmaf(0.044715f * (x * x), x, x);
    return 1.0f / (1.0f + __builtin_expf(-2.0f * z));
}

#define GELU_MUL(NAME, PHI)                                                                                            \
    KERNEL(TILE_THREADS)                                                                                               \
    NAME(const float *gate, const float *up, float *out, u64 gate_stride, u64 up_stride, u64 out_stride, u32 rows,     \
         u32 n, u32 quads) {                                                                                           \
        const Tile t = tile_of(rows, n);                                                                               \
        map_rows(gate + t.row * gate_stride, up + t.row * up_stride, out + t.row * out_stride, t.start, t.end,         \
                 quads, [](float x, float v) { return __builtin_fmaxf(x, -__FLT_MAX__) * PHI(x) * v; });               \
    }

GELU_MUL(gelu_mul_erf, phi_erf)
GELU_MUL(gelu_mul_tanh, phi_tanh)
