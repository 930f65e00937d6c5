// out[r][i] = round(value)
//
// out: f32, f16 or bf16 [rows][n], rows apart by out_stride (elements). One kernel per type: fill_f32, fill_f16, fill_bf16.
// quads: 1 where all addresses and strides are multiples of four elements, else 0.
// Grid: ceil(n / 1024), rows. Block: 256.
#include "floats.h"
#include "rows.h"

#define FILL(NAME, TO)                                                                                                 \
    KERNEL(TILE_THREADS) NAME(TO::stored *out, u64 out_stride, u32 rows, u32 n, u32 quads, float value) {              \
        const Tile t = tile_of(rows, n);                                                                               \
        const TO::stored rounded = TO::encode(value);                                                                  \
        fill_row(out + t.row * out_stride, t.start, t.end, quads, rounded);                                            \
    }

FILL(fill_f32, F32)
FILL(fill_f16, F16)
FILL(fill_bf16, BF16)
