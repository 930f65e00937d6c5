// out[r][i] = round(value)
//
// out: f32, f16 or bf16 [rows][n], rows apart by out_stride (elements). One kernel per type: fill_f32, fill_f16, fill_bf16.
// Grid: rows · ceil(n / 1024). Block: 256.
#include "floats.h"
#include "rows.h"

#define FILL(NAME, TO)                                                                                                 \
    KERNEL(TILE_THREADS) NAME(TO::stored *out, u64 out_stride, u32 n, float value) {                                   \
        const Tile t = tile_of(n);                                                                                     \
        const TO::stored rounded = TO::encode(value);                                                                  \
        fill_row(out + t.row * out_stride, t.start, t.end, rounded);                                                   \
    }

FILL(fill_f32, F32)
FILL(fill_f16, F16)
FILL(fill_bf16, BF16)
