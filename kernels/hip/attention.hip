// s = scale·Σ_d q[r][h][d]·k[j][d] (capped: c·tanh(s/c)), out[r][h] = Σⱼ exp(sⱼ − max s)·v[j] / Σⱼ exp(sⱼ − max s), over the slots j
// that row r sees: from max(0, positions[r] − window + 1) to positions[r] of sequence seqs[r]. Head h reads cached head h / group.
//
// q, out: f32 [rows][heads][head_dim]; k_cache, v_cache: f32, f16, bf16 or q8_0 [seqs][slots][kv_heads][head_dim], each of its type; all
// apart by their strides (elements). seqs, positions: u32 [rows].
//
// The `group` query heads of a row that share a cached head, row after row, are the *vectors* of that head; a block takes `vectors` of
// them, so that each slot is read once for all. Slots come in tiles of `tile_keys` and chunks of 256, both at multiples of their size:
//   tile:  scores, one thread per slot and vector; weights relative to the largest score so far; sums of weights over 32 lanes;
//          outputs, four (or two) columns a thread, in four interleaved sums over the slots, as those of the scores over d;
//   chunk: its tiles in order, by the online rescaling of their sums;
//   row:   its chunks in order, joined by the same rescaling.
// All of that depends on the row's own position, window and head_dim alone, and a slot that a row does not see leaves its numbers
// untouched: a row's bits are the same alone, in a batch, and for either way of running the chunks:
//   chunks = 0: a block goes through all chunks and writes `out`;
//   chunks > 0: one block per chunk writes its part to parts [rows][heads][chunks][pitch], and attention_join makes `out` of them.
//
// attention_64_8, attention_128_8, attention_any_8: up to 8 vectors a block, for decoding; ..._24: up to 24, for prefill. The
// first number is head_dim, or 128 columns of it at a time.
// Grid: ceil(rows·group / vectors), kv_heads, (chunks or 1) · ceil(head_dim / columns). Block: 256.
#include "cache.h"
#include "functions.h"

#define THREADS 256
#define LANES 32
#define GROUPS (THREADS / LANES)
#define CHUNK 256
// Slots of a tile at most, each of up to WIDTH columns, or fewer of more.
#define KEYS 32
#define WIDTH 128

struct Queries {
    const float *q;
    const u32 *seqs, *positions;
    u64 row, head;
    u32 rows, group, vectors, window;
};

struct Output {
    float *out, *parts;
    u64 row, head;
    u32 chunks, heads;
};

struct Score {
    float scale, softcap;
};

// First slot that a row at `position` sees; the last is the position.
DEVICE u32 first_seen(u32 position, u32 window) { return position >= window ? position - window + 1 : 0; }

DEVICE u32 round4(u32 n) { return (n + 3) & ~3u; }

// What exponents are taken relative to.
DEVICE float reference(float most) { return most == -__builtin_inff() ? 0.0f : most; }

// Sums over slots, relative to the largest score among them: none before the first.
template <u32 VEC> struct Sums {
    float most, weights;
    float out[VEC];

    __device__ void clear() {
        most = -__builtin_inff();
        weights = 0.0f;
#pragma unroll
        for (u32 e = 0; e < VEC; ++e) out[e] = 0.0f;
    }

    // Adds those of slots that come after.
    __device__ void join(const Sums &part) {
        const float top = __builtin_fmaxf(most, part.most), to = reference(top);
        const float own = __builtin_expf(most - to), other = __builtin_expf(part.most - to);
        most = top;
        weights = __builtin_fmaf(weights, own, part.weights * other);
#pragma unroll
        for (u32 e = 0; e < VEC; ++e) out[e] = __builtin_fmaf(out[e], own, part.out[e] * other);
    }
};

DEVICE float max_of_lanes(float x) {
    for (u32 mask = LANES / 2; mask; mask >>= 1) x = __builtin_fmaxf(x, lane_xor(x, mask));
    return x;
}

DEVICE float sum_of_lanes(float x) {
    for (u32 mask = LANES / 2; mask; mask >>= 1) x += lane_xor(x, mask);
    return x;
}

// One vector of a thread, with the slots that it sees.
template <u32 VEC> struct Vector {
    u32 row, head, from, to;
    Sums<VEC> all, chunk;

    __device__ bool sees(u32 slot) const { return from <= slot && slot < to; }
    __device__ bool sees_some(u32 start, u32 end) const { return from < end && to > start; }
};

// The slots that the rows of a block see of one sequence.
struct Span {
    // From the first that any row sees to the last.
    u32 from, to;
    // Those that all rows see; empty where a row is of another sequence.
    u32 all_from, all_to;
};

DEVICE Span span_of(const Queries &q, u32 seq, u32 first_row, u32 last_row) {
    Span span = {~0u, 0, 0, ~0u};
    for (u32 row = first_row; row <= last_row; ++row) {
        if (q.seqs[row] != seq) {
            span.all_to = 0;
            continue;
        }
        const u32 from = first_seen(q.positions[row], q.window), to = q.positions[row] + 1;
        span.from = from < span.from ? from : span.from;
        span.to = to > span.to ? to : span.to;
        span.all_from = from > span.all_from ? from : span.all_from;
        span.all_to = to < span.all_to ? to : span.all_to;
    }
    return span;
}

// Bit j: some row of the block sees slot first + j, j < keys ≤ 32.
DEVICE u32 wanted_slots(const Queries &q, u32 seq, u32 first_row, u32 last_row, u32 first, u32 keys) {
    u32 wanted = 0;
    for (u32 row = first_row; row <= last_row; ++row) {
        if (q.seqs[row] != seq) continue;
        const u32 from = first_seen(q.positions[row], q.window), to = q.positions[row] + 1;
        if (from >= first + keys || to <= first) continue;
        const u32 below = from > first ? from - first : 0, above = to < first + keys ? first + keys - to : 0;
        wanted |= ~0u >> (32 - keys) & ~0u << below & ~0u >> (32 - keys + above);
    }
    return wanted;
}

// Whether an earlier row of the block is of the same sequence.
DEVICE bool seen_before(const u32 *seqs, u32 first_row, u32 row) {
    for (u32 earlier = first_row; earlier < row; ++earlier)
        if (seqs[earlier] == seqs[row]) return true;
    return false;
}

// LDS of a block.
template <u32 DIM, u32 PER> struct Lds {
    // Slots of a tile. A row has 4 columns beyond its own, which keep neighbours off each other's banks.
    alignas(16) float tile[KEYS * ((DIM ? DIM : WIDTH) + 4)];
    alignas(16) float queries[GROUPS * PER * (DIM ? DIM : WIDTH)];
    alignas(16) float weights[GROUPS * PER][LANES];
    // Sequence and position of each vector.
    u32 seqs[GROUPS * PER], positions[GROUPS * PER];
};

// What a block works on. DIM: head_dim, or 0 for any. VEC: columns of a thread. PER: vectors of a thread.
template <u32 DIM, u32 VEC, u32 PER> struct Block {
    static constexpr u32 COLUMNS = LANES * VEC;
    Lds<DIM, PER> &lds;
    Queries q;
    Score score;
    u32 head_dim, keys;
    // The columns of `out`, from this one on.
    u32 slab;
    // The vectors, and the rows that they belong to.
    u32 first, count, first_row, last_row;
    Vector<VEC> vectors[PER];

    __device__ u32 lane() const { return thread_x() % LANES; }
    __device__ u32 owner() const { return thread_x() / LANES; }
    __device__ u32 index(u32 p) const { return owner() + p * GROUPS; }
    __device__ u32 width() const { return round4(DIM ? DIM : head_dim); }
    __device__ u32 pitch() const { return width() + 4; }
    __device__ u32 column() const { return slab + lane() * VEC; }

    __device__ void load_queries() {
        for (u32 i = thread_x(); i < count * width(); i += THREADS) {
            const u32 vector = first + i / width(), d = i % width();
            const u64 head = block_y() * q.group + vector % q.group;
            lds.queries[i] = d < head_dim ? q.q[vector / q.group * q.row + head * q.head + d] : 0.0f;
        }
        if (thread_x() < count) {
            lds.seqs[thread_x()] = q.seqs[(first + thread_x()) / q.group];
            lds.positions[thread_x()] = q.positions[(first + thread_x()) / q.group];
        }
        barrier();
#pragma unroll
        for (u32 p = 0; p < PER; ++p) {
            const u32 vector = first + (index(p) < count ? index(p) : 0);
            vectors[p].row = vector / q.group;
            vectors[p].head = block_y() * q.group + vector % q.group;
            vectors[p].all.clear();
        }
    }

    // Lets each vector see the slots of `seq` that it sees.
    __device__ void look_at(u32 seq) {
#pragma unroll
        for (u32 p = 0; p < PER; ++p) {
            const bool here = index(p) < count && lds.seqs[index(p)] == seq;
            vectors[p].from = here ? first_seen(lds.positions[index(p)], q.window) : 0;
            vectors[p].to = here ? lds.positions[index(p)] + 1 : 0;
        }
    }

    // Σ_d q·k of the lane's slot, in four interleaved sums, for each vector of the thread.
    __device__ void dot_products(float (&dots)[PER]) const {
        f32x4 sums[PER] = {};
#pragma unroll 4
        for (u32 d = 0; d < width(); d += 4) {
            const f32x4 key = *(const f32x4 *)(lds.tile + lane() * pitch() + d);
#pragma unroll
            for (u32 p = 0; p < PER; ++p) {
                const u32 vector = index(p) < count ? index(p) : owner();
                const f32x4 x = *(const f32x4 *)(lds.queries + vector * width() + d);
#pragma unroll
                for (u32 e = 0; e < 4; ++e) sums[p][e] = __builtin_fmaf(x[e], key[e], sums[p][e]);
            }
        }
#pragma unroll
        for (u32 p = 0; p < PER; ++p) dots[p] = (sums[p].x + sums[p].y) + (sums[p].z + sums[p].w);
    }

    // Weights of the tile's slots, and what the sums so far are to be multiplied by.
    __device__ void weigh(u32 tile, u32 wanted, float (&rescale)[PER]) {
        float dots[PER] = {};
        if ((wanted >> lane() & 1) && owner() < count) dot_products(dots);
#pragma unroll
        for (u32 p = 0; p < PER; ++p) {
            if (index(p) >= count) continue;
            const bool seen = lane() < keys && vectors[p].sees(tile + lane());
            float s = score.scale * dots[p];
            if (score.softcap != 0.0f) s = score.softcap * tanh_f32(s / score.softcap);
            Sums<VEC> &sums = vectors[p].chunk;
            const float most = __builtin_fmaxf(sums.most, max_of_lanes(seen ? s : -__builtin_inff()));
            const float to = reference(most);
            const float weight = seen ? __builtin_expf(s - to) : 0.0f;
            rescale[p] = __builtin_expf(sums.most - to);
            sums.weights = __builtin_fmaf(sums.weights, rescale[p], sum_of_lanes(weight));
            sums.most = most;
            lds.weights[index(p)][lane()] = weight;
        }
    }

    // Adds the tile's values, in four interleaved sums.
    template <bool SEEN_BY_ALL> __device__ void add_values(u32 tile, u32 wanted, const float (&rescale)[PER]) {
        typedef float Columns __attribute__((ext_vector_type(VEC)));
        if (owner() >= count || column() >= head_dim) return;
        Columns sums[PER][4] = {};
#pragma unroll 1
        for (u32 j = 0; j < keys; j += 4) {
            f32x4 weights[PER];
#pragma unroll
            for (u32 p = 0; p < PER; ++p)
                weights[p] = *(const f32x4 *)(lds.weights[index(p) < count ? index(p) : owner()] + j);
#pragma unroll
            for (u32 i = 0; i < 4; ++i) {
                if (!SEEN_BY_ALL && !(wanted >> (j + i) & 1)) continue;
                const Columns value = *(const Columns *)(lds.tile + (j + i) * pitch() + lane() * VEC);
#pragma unroll
                for (u32 p = 0; p < PER; ++p) {
                    const bool seen = SEEN_BY_ALL || vectors[p].sees(tile + j + i);
#pragma unroll
                    for (u32 e = 0; e < VEC; ++e)
                        sums[p][i][e] = seen ? __builtin_fmaf(weights[p][i], value[e], sums[p][i][e]) : sums[p][i][e];
                }
            }
        }
#pragma unroll
        for (u32 p = 0; p < PER; ++p) {
            if (!vectors[p].sees_some(tile, tile + keys)) continue;
            const Columns sum = (sums[p][0] + sums[p][1]) + (sums[p][2] + sums[p][3]);
#pragma unroll
            for (u32 e = 0; e < VEC; ++e)
                vectors[p].chunk.out[e] = __builtin_fmaf(vectors[p].chunk.out[e], rescale[p], sum[e]);
        }
    }

    // The slots tile..tile + keys, of which some row wants those of `wanted`.
    __device__ void visit(const CacheHead &k, const CacheHead &v, u32 tile, u32 wanted, bool seen_by_all) {
        float rescale[PER] = {};
        stage<THREADS>(k, lds.tile, {tile, wanted, keys, 0, head_dim, pitch()});
        barrier();
        weigh(tile, wanted, rescale);
        barrier();
        const u32 columns = head_dim - slab < COLUMNS ? head_dim - slab : COLUMNS;
        stage<THREADS>(v, lds.tile, {tile, wanted, keys, slab, columns, pitch()});
        barrier();
        if (seen_by_all)
            add_values<true>(tile, wanted, rescale);
        else
            add_values<false>(tile, wanted, rescale);
        barrier();
    }

    __device__ void visit_chunk(const CacheHead &k, const CacheHead &v, u32 seq, const Span &span, u32 chunk) {
        const u32 start = chunk * CHUNK, stop = start + CHUNK, end = span.to < stop ? span.to : stop;
#pragma unroll
        for (u32 p = 0; p < PER; ++p) vectors[p].chunk.clear();
        for (u32 tile = start > span.from ? start : span.from / keys * keys; tile < end; tile += keys) {
            const bool seen_by_all = span.all_from <= tile && tile + keys <= span.all_to;
            const u32 wanted = seen_by_all ? ~0u >> (32 - keys)
                                           : wanted_slots(q, seq, first_row, last_row, tile, keys);
            if (wanted) visit(k, v, tile, wanted, seen_by_all);
        }
#pragma unroll
        for (u32 p = 0; p < PER; ++p)
            if (vectors[p].sees_some(start, stop)) vectors[p].all.join(vectors[p].chunk);
    }

    __device__ void store(const Output &o, u32 own_chunk) const {
#pragma unroll
        for (u32 p = 0; p < PER; ++p) {
            if (index(p) >= count || column() >= head_dim) continue;
            const Vector<VEC> &vector = vectors[p];
            const u32 columns = head_dim - column() < VEC ? head_dim - column() : VEC;
            if (o.chunks == 0) {
                float *to = o.out + vector.row * o.row + vector.head * o.head + column();
#pragma unroll
                for (u32 e = 0; e < VEC; ++e)
                    if (e < columns) to[e] = vector.all.out[e] / vector.all.weights;
                continue;
            }
            const u32 position = lds.positions[index(p)];
            if (own_chunk < first_seen(position, q.window) / CHUNK || own_chunk > position / CHUNK) continue;
            float *part = o.parts + (((u64)vector.row * o.heads + vector.head) * o.chunks + own_chunk) * pitch();
#pragma unroll
            for (u32 e = 0; e < VEC; ++e)
                if (e < columns) part[column() + e] = vector.all.out[e];
            if (column() == 0) {
                part[width()] = vector.all.most;
                part[width() + 1] = vector.all.weights;
            }
        }
    }
};

struct Cache {
    const u8 *start;
    u64 seq, slot, head;
    u32 type;

    __device__ CacheHead of(u64 sequence) const {
        return cache_head(start, type, sequence * seq + block_y() * head, slot);
    }
};

template <u32 DIM, u32 VEC, u32 PER>
DEVICE void attention(const Queries &q, const Cache &k_cache, const Cache &v_cache, u32 dim, u32 tile_keys,
                      const Score &score, const Output &o) {
    __shared__ Lds<DIM, PER> lds;
    Block<DIM, VEC, PER> block = {lds, q, score};
    block.head_dim = DIM ? DIM : dim;
    block.keys = DIM ? KEYS : tile_keys;
    const u32 slabs = DIM ? 1 : (dim + block.COLUMNS - 1) / block.COLUMNS, own_chunk = block_z() / slabs;
    block.slab = block_z() % slabs * block.COLUMNS;
    block.first = block_x() * q.vectors;
    const u32 left = q.rows * q.group - block.first;
    block.count = left < q.vectors ? left : q.vectors;
    block.first_row = block.first / q.group;
    block.last_row = (block.first + block.count - 1) / q.group;
    block.load_queries();
    for (u32 row = block.first_row; row <= block.last_row; ++row) {
        if (seen_before(q.seqs, block.first_row, row)) continue;
        const u32 seq = q.seqs[row];
        const Span span = span_of(q, seq, block.first_row, block.last_row);
        const CacheHead k = k_cache.of(seq), v = v_cache.of(seq);
        block.look_at(seq);
        const u32 first = span.from / CHUNK, last = (span.to - 1) / CHUNK;
        if (o.chunks == 0)
            for (u32 chunk = first; chunk <= last; ++chunk) block.visit_chunk(k, v, seq, span, chunk);
        else if (first <= own_chunk && own_chunk <= last)
            block.visit_chunk(k, v, seq, span, own_chunk);
    }
    block.store(o, own_chunk);
}

#define ATTENTION(NAME, DIM, VEC, PER)                                                                                 \
    KERNEL(THREADS)                                                                                                    \
    NAME(const float *q, const u8 *k_cache, const u8 *v_cache, const u32 *seqs, const u32 *positions, float *out,      \
         float *parts, u64 q_row, u64 q_head, u64 k_seq, u64 k_slot, u64 k_head, u64 v_seq, u64 v_slot, u64 v_head,    \
         u64 out_row, u64 out_head, u32 k_type, u32 v_type, u32 rows, u32 heads, u32 group, u32 head_dim, u32 vectors, \
         u32 tile_keys, u32 window, u32 chunks, float scale, float softcap) {                                          \
        attention<DIM, VEC, PER>({q, seqs, positions, q_row, q_head, rows, group, vectors, window},                    \
                                 {k_cache, k_seq, k_slot, k_head, k_type}, {v_cache, v_seq, v_slot, v_head, v_type},   \
                                 head_dim, tile_keys, {scale, softcap}, {out, parts, out_row, out_head, chunks, heads}); \
    }

ATTENTION(attention_64_8, 64, 2, 1)
ATTENTION(attention_64_24, 64, 2, 3)
ATTENTION(attention_128_8, 128, 4, 1)
ATTENTION(attention_128_24, 128, 4, 3)
ATTENTION(attention_any_8, 0, 4, 1)
ATTENTION(attention_any_24, 0, 4, 3)

// out[r][h] from the parts of its chunks, in order. Grid: rows, heads. Block: 64.
KERNEL(64)
attention_join(const float *__restrict__ parts, const u32 *positions, float *__restrict__ out, u64 out_row, u64 out_head,
               u32 heads, u32 head_dim, u32 window, u32 chunks) {
    const u32 width = round4(head_dim), pitch = width + 4, position = positions[block_x()];
    const float *start = parts + ((u64)block_x() * heads + block_y()) * chunks * pitch;
    float *to = out + block_x() * out_row + block_y() * out_head;
    const u32 first = first_seen(position, window) / CHUNK, last = position / CHUNK;
    for (u32 column = thread_x(); column < head_dim; column += 64) {
        Sums<1> all;
        all.clear();
        for (u32 chunk = first; chunk <= last; ++chunk) {
            const float *part = start + (u64)chunk * pitch;
            all.join({part[width], part[width + 1], {part[column]}});
        }
        to[column] = all.out[0] / all.weights;
    }
}
