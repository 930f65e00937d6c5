// out[r][i] = x[r][i], byte for byte
//
// x, out: [rows][n] words, rows apart by their strides (words). A word is the widest that divides addresses, strides and
// rows: one kernel per width, copy_1, copy_2, copy_4 and copy_16 bytes. x_stride may be 0 or make rows overlap.
// Grid: ceil(n / 1024), rows. Block: 256.
//
// copy_columns_2 and copy_columns_4, of 2 and 4 bytes: the elements of a row of x are x_step apart, as in a transposed matrix. A block
// takes 32 rows of 32 columns through LDS, so that it reads along the rows and writes along the columns.
// Grid: ceil(n / 32), ceil(rows / 32) in y and z as rows are. Block: 256.
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

// Rows and columns of a block.
#define SIDE 32

template <class WORD>
DEVICE void copy_columns(const WORD *x, WORD *out, u64 x_stride, u64 x_step, u64 out_stride, u32 rows, u32 n) {
    // One more than a row has, so that a column does not meet one bank again and again.
    __shared__ WORD tile[SIDE][SIDE + 1];
    const u32 across = thread_x() % SIDE, down = thread_x() / SIDE;
    const u64 first_row = (u64)block_row() * SIDE, first = block_x() * SIDE;
    for (u32 j = down; j < SIDE; j += TILE_THREADS / SIDE) {
        const u64 row = first_row + across, i = first + j;
        if (row < rows && i < n) tile[j][across] = x[row * x_stride + i * x_step];
    }
    barrier();
    for (u32 j = down; j < SIDE; j += TILE_THREADS / SIDE) {
        const u64 row = first_row + j, i = first + across;
        if (row < rows && i < n) out[row * out_stride + i] = tile[across][j];
    }
}

#define COPY_COLUMNS(NAME, WORD)                                                                                       \
    KERNEL(TILE_THREADS)                                                                                               \
    NAME(const WORD *x, WORD *out, u64 x_stride, u64 x_step, u64 out_stride, u32 rows, u32 n) {                        \
        copy_columns(x, out, x_stride, x_step, out_stride, rows, n);                                                   \
    }

COPY_COLUMNS(copy_columns_2, u16)
COPY_COLUMNS(copy_columns_4, u32)
