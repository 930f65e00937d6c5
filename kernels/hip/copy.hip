// out[r][i] = x[r][i], byte for byte
//
// x, out: [rows][n] words, rows apart by their strides (words). A word is the widest that divides addresses, strides and
// rows: one kernel per width, copy_1, copy_2, copy_4 and copy_16 bytes. x_stride may be 0 or make rows overlap.
// Grid: ceil(n / 1024), rows. Block: 256.
#include "rows.h"

#define COPY(NAME, WORD)                                                                                               \
    KERNEL(TILE_THREADS) NAME(const WORD *x, WORD *out, u64 x_stride, u64 out_stride, u32 rows, u32 n) {               \
        const Tile t = tile_of(rows, n);                                                                               \
        const WORD *src = x + t.row * x_stride;                                                                        \
        WORD *dst = out + t.row * out_stride;                                                                          \
        for (u32 i = t.start + thread_x(); i < t.end; i += TILE_THREADS) dst[i] = src[i];                              \
    }

COPY(copy_1, u8)
COPY(copy_2, u16)
COPY(copy_4, u32)
COPY(copy_16, u32x4)
