// out[r][c] = Σ_k x[r][k] · decode(weight)[c][k] + bias[c]
//
// x: f32 [m][k], rows x_stride elements apart; weight: any weight format [n][k], k whole blocks, rows weight_stride bytes apart;
// bias: f32 [n] or null; out: f32 [m][n], rows out_stride elements apart.
//
// Variants, for each format:
//   matmul_<format>_m1, _m2, _m4, _m8   mat-vec for up to so many rows of x. Grid: groups of 64·passes rows of weight.
//                                       Block: 512. Weights are read once; x is staged in LDS.
//   matmul_<format>_tile                any number of rows. Grid: 32 columns of out by 32 rows. Block: 512. On MFMA (f32 by f32,
//                                       nothing is rounded before the sum) where there is one, else on plain FMA.
//
// Sums: products enter exactly, by FMA, in 16 chains: one for each of the 8 units of a stretch of 256 (see blocks.h)
// and each parity of the element. Within a unit the pairs of elements are taken in this order: first pairs of the even quads,
// their second pairs, then the same of the odd quads. At the end a tree: even + odd, then units 4, 2 and 1 apart. All variants
// keep to it bit for bit, so that a row's result does not depend on how many rows there are.
#include "super_blocks.h"

constexpr u32 THREADS = 512;

// Where 32 elements of x take PITCH words of LDS, units lie on different banks.
constexpr u32 PITCH = 36;
// Elements of x in LDS at a time.
constexpr u32 STAGED = 6144;

DEVICE f32x2 fma2(f32x2 a, f32x2 b, f32x2 c) { return __builtin_elementwise_fma(a, b, c); }

// Adds the products of a unit: sum[r] += unit · x[r], where the unit's part of row r of x begins at x + r·pitch.
template <class F, u32 M, bool WHOLE> DEVICE void add_unit(f32x2 *sum, const F &unit, const float *x, u32 pitch) {
    for (u32 odd = 0; odd < 2; odd++) {
        f32x4 w[4];
        for (u32 g = 0; g < 4; g++) w[g] = unit.template quad<WHOLE>(2 * g + odd);
        for (u32 r = 0; r < M; r++) {
            f32x4 v[4];
            for (u32 g = 0; g < 4; g++) v[g] = *(const f32x4 *)(x + r * pitch + F::template step<PITCH>(2 * g + odd));
            for (u32 g = 0; g < 4; g++) sum[r] = fma2(w[g].xy, v[g].xy, sum[r]);
            for (u32 g = 0; g < 4; g++) sum[r] = fma2(w[g].zw, v[g].zw, sum[r]);
        }
    }
}

template <class F, u32 M>
DEVICE void mat_vec(const float *x, const u8 *weight, const float *bias, float *out, u64 x_stride, u64 weight_stride,
                    u64 out_stride, u32 m, u32 n, u32 k, u32 passes) {
    constexpr u32 CHUNK = STAGED / M, ROWS = THREADS / UNITS;
    __shared__ __attribute__((aligned(16))) float staged[M][CHUNK / 32 * PITCH];
    const u32 j = thread_x() % UNITS;
    for (u32 pass = 0; pass < passes; pass++) {
        const u32 row = (block_x() * passes + pass) * ROWS + thread_x() / UNITS;
        // The same for all lanes of a wave.
        const bool live = (u32)__builtin_amdgcn_readfirstlane(row) < n;
        const u8 *w = weight + (row < n ? row : n - 1) * weight_stride;
        f32x2 sum[M] = {};
        for (u32 start = 0; start < k; start += CHUNK) {
            const u32 length = k - start < CHUNK ? k - start : CHUNK;
            if (pass == 0 || k > CHUNK) {
                if (start || pass) barrier();
                const u32 padded = (length + STRETCH - 1) / STRETCH * STRETCH;
                for (u32 r = 0; r < M; r++)
                    for (u32 i = 4 * thread_x(); i < padded; i += 4 * THREADS)
                        *(f32x4 *)(staged[r] + i / 32 * PITCH + i % 32) =
                            r < m ? read_quad(x + r * x_stride + start + i, (i32)(length - i)) : f32x4(0.0f);
                barrier();
            }
            if (!live) continue;
            const float *part = staged[0] + F::template origin<PITCH>(j);
            u32 t = start / STRETCH;
            const u32 end = (start + length) / STRETCH;
            for (; t < end; t++, part += 8 * PITCH)
                add_unit<F, M, true>(sum, F(w, t, j, k), part, sizeof(staged[0]) / 4);
            if (t * STRETCH + F::template origin<32>(j) < start + length)
                add_unit<F, M, false>(sum, F(w, t, j, k), part, sizeof(staged[0]) / 4);
        }
        for (u32 r = 0; r < M; r++) {
            float y = sum[r].x + sum[r].y;
            for (u32 mask = 4; mask; mask >>= 1) y += lane_xor(y, mask);
            if (j == r && r < m && row < n) out[r * out_stride + row] = bias ? y + bias[row] : y;
        }
    }
}

constexpr u32 SIDE = 32;

template <class F>
DEVICE void tile(const float *x, const u8 *weight, const float *bias, float *out, u64 x_stride, u64 weight_stride,
                 u64 out_stride, u32 m, u32 n, u32 k) {
    __shared__ float part[UNITS][SIDE * SIDE];
    const u32 column0 = block_x() * SIDE, row0 = block_y() * SIDE;
    const auto x_row = [&](u32 r) { return x + (row0 + r < m ? row0 + r : m - 1) * x_stride; };
    const auto weight_row = [&](u32 c) { return weight + (column0 + c < n ? column0 + c : n - 1) * weight_stride; };
#if defined(__gfx942__) || defined(__gfx90a__)
    // A wave has a unit. Lane (c, g) = (lane % 16, lane / 16) reads quads 2g and 2g + 1 of rows c of x and of weight; g is
    // the k of an MFMA, which adds in the order of k.
    const u32 j = __builtin_amdgcn_readfirstlane(wave_id()), c = lane_id() % 16, g = lane_id() / 16;
    const float *xs[2] = {x_row(c), x_row(16 + c)};
    const u8 *ws[2] = {weight_row(c), weight_row(16 + c)};
    f32x4 sum[2][2][2] = {}; // rows, columns, parity
    for (u32 t = 0; t * STRETCH + F::template origin<32>(j) < k; t++) {
        const u32 origin = t * STRETCH + F::template origin<32>(j);
        f32x4 a[2][2], b[2][2]; // rows or columns, quad
        for (u32 i = 0; i < 2; i++) {
            const F unit(ws[i], t, j, k);
            for (u32 q = 0; q < 2; q++) {
                const u32 at = origin + F::template step<32>(2 * g + q);
                a[i][q] = read_quad(xs[i] + at, F::LEN == 1 ? (i32)(k - at) : 4);
                b[i][q] = unit.template quad<false>(2 * g + q);
            }
        }
        for (u32 e = 0; e < 8; e++)
            for (u32 r = 0; r < 2; r++)
                for (u32 i = 0; i < 2; i++)
                    sum[r][i][e % 2] = __builtin_amdgcn_mfma_f32_16x16x4f32(a[r][e / 4][e % 4], b[i][e / 4][e % 4],
                                                                            sum[r][i][e % 2], 0, 0, 0);
    }
    for (u32 r = 0; r < 2; r++)
        for (u32 i = 0; i < 2; i++) {
            const f32x4 y = sum[r][i][0] + sum[r][i][1];
            for (u32 e = 0; e < 4; e++) part[j][(16 * r + 4 * g + e) * SIDE + 16 * i + c] = y[e];
        }
#else
    // 32 lanes, one for each column, have a unit and half of the rows.
    constexpr u32 ROWS = SIDE / 2;
    const u32 c = thread_x() % SIDE, j = thread_x() / SIDE % UNITS, r0 = thread_x() / SIDE / UNITS * ROWS;
    const u8 *w = weight_row(c);
    f32x2 sum[ROWS] = {};
    for (u32 t = 0; t * STRETCH + F::template origin<32>(j) < k; t++) {
        const u32 origin = t * STRETCH + F::template origin<32>(j);
        const F unit(w, t, j, k);
        for (u32 odd = 0; odd < 2; odd++) {
            f32x4 b[4];
            for (u32 g = 0; g < 4; g++) b[g] = unit.template quad<false>(2 * g + odd);
            for (u32 r = 0; r < ROWS; r++) {
                const float *row = x_row(r0 + r);
                f32x4 a[4];
                for (u32 g = 0; g < 4; g++) {
                    const u32 at = origin + F::template step<32>(2 * g + odd);
                    a[g] = read_quad(row + at, F::LEN == 1 ? (i32)(k - at) : 4);
                }
                for (u32 g = 0; g < 4; g++) sum[r] = fma2(b[g].xy, a[g].xy, sum[r]);
                for (u32 g = 0; g < 4; g++) sum[r] = fma2(b[g].zw, a[g].zw, sum[r]);
            }
        }
    }
    for (u32 r = 0; r < ROWS; r++) part[j][(r0 + r) * SIDE + c] = sum[r].x + sum[r].y;
#endif
    barrier();
    for (u32 i = thread_x(); i < SIDE * SIDE; i += THREADS) {
        const u32 row = row0 + i / SIDE, column = column0 + i % SIDE;
        const float even = (part[0][i] + part[4][i]) + (part[2][i] + part[6][i]);
        const float odd = (part[1][i] + part[5][i]) + (part[3][i] + part[7][i]);
        const float y = even + odd;
        if (row < m && column < n) out[row * out_stride + column] = bias ? y + bias[column] : y;
    }
}

#define MAT_VEC(NAME, FORMAT, M)                                                                                       \
    KERNEL(THREADS)                                                                                                    \
    matmul_##NAME##_m##M(const float *x, const u8 *weight, const float *bias, float *out, u64 x_stride,                \
                         u64 weight_stride, u64 out_stride, u32 m, u32 n, u32 k, u32 passes) {                         \
        mat_vec<FORMAT, M>(x, weight, bias, out, x_stride, weight_stride, out_stride, m, n, k, passes);                \
    }
#define MATMUL(NAME, FORMAT)                                                                                           \
    MAT_VEC(NAME, FORMAT, 1)                                                                                           \
    MAT_VEC(NAME, FORMAT, 2)                                                                                           \
    MAT_VEC(NAME, FORMAT, 4)                                                                                           \
    MAT_VEC(NAME, FORMAT, 8)                                                                                           \
    KERNEL(THREADS)                                                                                                    \
    matmul_##NAME##_tile(const float *x, const u8 *weight, const float *bias, float *out, u64 x_stride,                \
                         u64 weight_stride, u64 out_stride, u32 m, u32 n, u32 k) {                                     \
        tile<FORMAT>(x, weight, bias, out, x_stride, weight_stride, out_stride, m, n, k);                              \
    }
WEIGHT_FORMATS(MATMUL)
