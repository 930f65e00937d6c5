// out[r][i] = round(x[r][i])
//
// x, out: f32, f16 or bf16 [rows][n], rows apart by their strides (elements). One kernel per pair of types: cast_f32_f16
// and so on. Between the short formats the value passes through f32, which holds both.
// quads: 1 where all addresses and strides are multiples of four elements, else 0.
// Grid: ceil(n / 1024), rows. Block: 256.
#include "floats.h"
#include "rows.h"

#define CAST(NAME, FROM, TO)                                                                                           \
    KERNEL(TILE_THREADS)                                                                                               \
    NAME(const FROM::stored *x, TO::stored *out, u64 x_stride, u64 out_stride, u32 rows, u32 n, u32 quads) {           \
        const Tile t = tile_of(rows, n);                                                                               \
        map_row(x + t.row * x_stride, out + t.row * out_stride, t.start, t.end, quads,                                 \
                [](FROM::stored v) { return TO::encode(FROM::decode(v)); });                                           \
    }

CAST(cast_f32_f32, F32, F32)
CAST(cast_f32_f16, F32, F16)
CAST(cast_f32_bf16, F32, BF16)
CAST(cast_f16_f32, F16, F32)
CAST(cast_f16_f16, F16, F16)
CAST(cast_f16_bf16, F16, BF16)
CAST(cast_bf16_f32, BF16, F32)
CAST(cast_bf16_f16, BF16, F16)
CAST(cast_bf16_bf16, BF16, BF16)
