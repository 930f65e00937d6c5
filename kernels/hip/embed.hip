// out[r][i] = decode(table)[ids[r]][i]
//
// table: any weight format [vocab][n], n whole blocks, rows table_stride bytes apart; ids: u32 [rows]; out: f32 [rows][n],
// rows out_stride elements apart. One kernel per format. Grid: ceil(n / 2048), rows: 8 elements a thread. Block: 256.
#include "decode.h"

template <class F>
DEVICE void embed(const u8 *table, const u32 *ids, float *out, u64 table_stride, u64 out_stride, u32 rows, u32 n) {
    const u32 row = block_row();
    if (row >= rows) return;
    decode_part<F>(table + ids[row] * table_stride, out + row * out_stride, block_x(), n);
}

#define EMBED(NAME, FORMAT)                                                                                            \
    KERNEL(DECODE_THREADS)                                                                                             \
    embed_##NAME(const u8 *table, const u32 *ids, float *out, u64 table_stride, u64 out_stride, u32 rows, u32 n) {     \
        embed<FORMAT>(table, ids, out, table_stride, out_stride, rows, n);                                             \
    }
WEIGHT_FORMATS(EMBED)
