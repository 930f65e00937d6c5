// out[r][i] = decode(table)[ids[r]][i]
//
// table: any weight format [vocab][n], n whole blocks, rows table_stride bytes apart; ids: u32 [rows]; out: f32 [rows][n],
// rows out_stride elements apart. One kernel per format. Grid: rows · parts, a part being 2048 elements of a row, 8 a
// thread. Block: 256.
#include "decode.h"

template <class F>
DEVICE void embed(const u8 *table, const u32 *ids, float *out, u64 table_stride, u64 out_stride, u32 parts, u32 n) {
    const u32 row = block_x() / parts, part = block_x() % parts;
    decode_part<F>(table + ids[row] * table_stride, out + row * out_stride, part, n);
}

#define EMBED(NAME, FORMAT)                                                                                            \
    KERNEL(DECODE_THREADS)                                                                                             \
    embed_##NAME(const u8 *table, const u32 *ids, float *out, u64 table_stride, u64 out_stride, u32 parts, u32 n) {    \
        embed<FORMAT>(table, ids, out, table_stride, out_stride, parts, n);                                            \
    }
WEIGHT_FORMATS(EMBED)
