// out[r][c] = Σ_k x[r][k] · decode(weight)[c][k] + bias[c]
//
// x: f32 [m][k], rows x_stride elements apart; weight: any weight format [n][k], k whole blocks, rows weight_stride bytes apart;
// bias: f32 [n] or null; out: f32 [m][n], rows out_stride elements apart.
//
// Variants, for each format:
//   matmul_<format>_m1, _m2, _m4, _m8   mat-vec for up to so many rows of x. Grid: groups of 128 rows of weight; 256 for _m1
//                                       where an element takes less than 4 bits. Block: 512. Weights are read once; x is staged in
//                                       LDS, and the rows that share it are so many that it stays a small part of what is read.
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

// The value of lane (own lane ^ MASK), MASK below 32.
template <u32 MASK> DEVICE float swizzled_xor(float x) {
    return bits_f32(__builtin_amdgcn_ds_swizzle(f32_bits(x), MASK << 10 | 0x1f));
}

DEVICE f32x2 fma2(f32x2 a, f32x2 b, f32x2 c) { return __builtin_elementwise_fma(a, b, c); }

// Mask of sched_barrier: vector and LDS loads.
constexpr u32 LOADS_MAY_PASS = 0x120;

// Rows of weight that a lane works on at a time.
template <class F, u32 M> constexpr u32 AT_ONCE = M == 1 && F::BYTES * 8 < F::LEN * 4 ? 4 : 2;

// Adds the products of unit j of stretch t of rows w[p] with rows r of x: sum[p][r] += w[p] · x[r], where the stretch of row r
// begins at x + r·pitch.
template <class F, u32 M, bool WHOLE, class R>
DEVICE void add_units(f32x2 (*sum)[M], R reader, const u8 *const *w, u32 t, u32 j, u32 k, const float *x, u32 pitch) {
    constexpr u32 P = AT_ONCE<F, M>;
    F unit[P];
    for (u32 p = 0; p < P; p++) unit[p].load(reader, w[p], t, j, k);
    for (u32 odd = 0; odd < 2; odd++) {
        __builtin_amdgcn_sched_barrier(LOADS_MAY_PASS); // one half decoded at a time, to save registers
        f32x4 a[P][4];
        for (u32 p = 0; p < P; p++)
            for (u32 g = 0; g < 4; g++) a[p][g] = unit[p].template quad<WHOLE>(2 * g + odd);
        for (u32 r = 0; r < M; r++) {
            f32x4 b[4];
            for (u32 g = 0; g < 4; g++)
                b[g] = *(const f32x4 *)(x + r * pitch + F::template origin<PITCH>(j) +
                                        F::template step<PITCH>(2 * g + odd));
            for (u32 p = 0; p < P; p++) {
                for (u32 g = 0; g < 4; g++) sum[p][r] = fma2(a[p][g].xy, b[g].xy, sum[p][r]);
                for (u32 g = 0; g < 4; g++) sum[p][r] = fma2(a[p][g].zw, b[g].zw, sum[p][r]);
            }
        }
    }
}

// Whether there is row r of x: m is more than M / 2, for which there is another kernel.
template <u32 M> DEVICE bool has_row(u32 r, u32 m) { return r <= M / 2 || r < m; }

template <class F, u32 M>
DEVICE void mat_vec(const float *x, const u8 *weight, const float *bias, float *out, u64 x_stride, u64 weight_stride,
                    u64 out_stride, u32 m, u32 n, u32 k) {
    constexpr u32 CHUNK = STAGED / M, P = AT_ONCE<F, M>, GROUPS = WAVE / UNITS;
    // Rows of blocks end with a unit, and no unit past their end is read.
    constexpr bool WHOLE_UNITS = F::LEN % UNIT == 0;
    __shared__ __attribute__((aligned(16))) float staged[M][CHUNK / 32 * PITCH];
    const u32 j = thread_x() % UNITS;
    const u32 wave = block_x() * (THREADS / WAVE) + __builtin_amdgcn_readfirstlane(wave_id());
    const u32 row0 = wave * (P * GROUPS), row1 = row0 + lane_id() / UNITS;
    const u8 *w[P];
    for (u32 p = 0; p < P; p++) {
        const u32 row = row1 + p * GROUPS;
        w[p] = weight + (row < n ? row : n - 1) * weight_stride;
    }
    f32x2 sum[P][M] = {};
    u32 start = 0;
    do {
        const u32 length = k - start < CHUNK ? k - start : CHUNK;
        const u32 padded = WHOLE_UNITS ? length : (length + STRETCH - 1) / STRETCH * STRETCH;
        if (start) barrier();
        for (u32 r = 0; r < M; r++)
            for (u32 i = 4 * thread_x(); i < padded; i += 4 * THREADS)
                *(f32x4 *)(staged[r] + i / 32 * PITCH + i % 32) =
                    has_row<M>(r, m)
                        ? read_quad<F::LEN>(x + r * x_stride + start + i, WHOLE_UNITS ? 4 : (i32)(length - i))
                        : f32x4(0.0f);
        barrier();
        if (row0 >= n) continue;
        const float *part = staged[0];
        u32 t = start / STRETCH;
        const u32 end = (start + length) / STRETCH;
        // A row of super-blocks has a whole stretch.
        for (bool more = F::LEN == STRETCH || t < end; more; more = ++t < end, part += 8 * PITCH)
            add_units<F, M, true>(sum, Together{j}, w, t, j, k, part, sizeof(staged[0]) / 4);
        if (F::LEN < STRETCH && t * STRETCH + F::template origin<32>(j) < start + length)
            add_units<F, M, false>(sum, Alone{j}, w, t, j, k, part, sizeof(staged[0]) / 4);
    } while ((start += CHUNK) < k); // k is at least 1
    for (u32 p = 0; p < P; p++)
        for (u32 r = 0; r < M; r++) {
            const u32 row = row1 + p * GROUPS;
            float y = sum[p][r].x + sum[p][r].y;
            y += swizzled_xor<4>(y);
            y += swizzled_xor<2>(y);
            y += swizzled_xor<1>(y);
            if (j == r && has_row<M>(r, m) && row < n) out[r * out_stride + row] = bias ? y + bias[row] : y;
        }
}

constexpr u32 SIDE = 32;
// Rows of a tile that a lane works on where there is no MFMA.
constexpr u32 ROWS = SIDE / 2;

// Four floats of a row of n from `at` on, zeros past its end, without a branch.
DEVICE f32x4 read_clamped(const float *row, u32 at, u32 n) {
    f32x4 value;
    for (u32 e = 0; e < 4; e++) {
        const float x = row[at + e < n ? at + e : n - 1];
        value[e] = at + e < n ? x : 0.0f;
    }
    return value;
}

// Adds the products of unit j of stretch t of row w with rows of x: sum[r] += w · x_row(r0 + r).
template <class F, bool WHOLE, class X>
DEVICE void add_rows(f32x2 *sum, X x_row, u32 r0, const u8 *w, u32 t, u32 j, u32 k) {
    F unit;
    unit.load(Alone{j}, w, t, j, k);
    for (u32 odd = 0; odd < 2; odd++) {
        f32x4 b[4];
        for (u32 g = 0; g < 4; g++) b[g] = unit.template quad<WHOLE>(2 * g + odd);
        for (u32 r = 0; r < ROWS; r++) {
            __builtin_amdgcn_sched_barrier(0); // one row at a time, to save registers
            const float *row = x_row(r0 + r);
            f32x4 a[4];
            for (u32 g = 0; g < 4; g++) {
                const u32 at = t * STRETCH + F::template origin<32>(j) + F::template step<32>(2 * g + odd);
                a[g] = WHOLE || F::LEN > 1 ? read<f32x4>(row + at) : read_clamped(row, at, k);
            }
            for (u32 g = 0; g < 4; g++) sum[r] = fma2(b[g].xy, a[g].xy, sum[r]);
            for (u32 g = 0; g < 4; g++) sum[r] = fma2(b[g].zw, a[g].zw, sum[r]);
        }
    }
}

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
    const auto reaches = [&](u32 t) { return t * STRETCH + F::template origin<32>(j) < k; };
    u32 t = 0;
    for (bool more = F::LEN == STRETCH || reaches(0); more; more = reaches(++t)) {
        const u32 origin = t * STRETCH + F::template origin<32>(j);
        f32x4 a[2][2], b[2][2]; // rows or columns, quad
        for (u32 i = 0; i < 2; i++) {
            F unit;
            unit.load(Alone{j}, ws[i], t, j, k);
            for (u32 q = 0; q < 2; q++) {
                const u32 at = origin + F::template step<32>(2 * g + q);
                a[i][q] = read_quad<F::LEN>(xs[i] + at, F::LEN == 1 ? (i32)(k - at) : 4);
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
    const u32 side = WAVE == SIDE ? __builtin_amdgcn_readfirstlane(wave_id()) : thread_x() / SIDE;
    const u32 c = thread_x() % SIDE, j = side % UNITS, r0 = side / UNITS * ROWS;
    const u8 *w = weight_row(c);
    f32x2 sum[ROWS] = {};
    u32 t = 0;
    for (; t < k / STRETCH; t++) add_rows<F, true>(sum, x_row, r0, w, t, j, k);
    if (t * STRETCH + F::template origin<32>(j) < k) add_rows<F, false>(sum, x_row, r0, w, t, j, k);
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
                         u64 weight_stride, u64 out_stride, u32 m, u32 n, u32 k) {                                     \
        mat_vec<FORMAT, M>(x, weight, bias, out, x_stride, weight_stride, out_stride, m, n, k);                        \
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
