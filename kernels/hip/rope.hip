// y₀ = m·(x₀·cos θ − x₁·sin θ), y₁ = m·(x₀·sin θ + x₁·cos θ) for pair i of each head of each row; the elements from n_rot on are
// copied.
//
// rope_interleaved: pair i is (2i, 2i + 1). rope_neox: (i, i + n_rot/2).
//
// x, out: f32 [rows][heads][head_dim], rows and heads apart by their strides (elements), out may be x; positions: u32 [rows];
// factors: f32 [n_rot/2], read where has_factors is not 0.
//   θ = position · 2^(i·log2_step) / factors[i] · stretch
//   stretch = (1 − kept)·divided + kept, kept = extrapolation·(1 − clamp((i − low)/span, 0, 1))
// so that extrapolation 0 leaves `divided` alone.
//
// Grid: rows, then ceil(n_rot/2 / 32) chunks of pairs and ceil((copied_to − n_rot) / 32) of elements to copy.
// Block: 128 threads, 32 pairs times 4 heads; a thread keeps its angle for the heads that follow at a distance of 4.
// The angle is formed in f64 (`angle.h`), the rotation in f32.
#include "angle.h"

#define PAIRS 32
#define HEADS 4

// Frequencies and their stretching.
struct Series {
    const float *factors;
    u32 has_factors;
    double log2_step, divided, extrapolation, low, span;

    __device__ double angle(u32 position, u32 i) const {
        const double kept =
            extrapolation * (1.0 - __builtin_fmin(__builtin_fmax(((double)i - low) / span, 0.0), 1.0));
        double angle = (double)position * exp2_f64((double)i * log2_step);
        if (has_factors) angle /= (double)factors[i];
        return angle * ((1.0 - kept) * divided + kept);
    }
};

// Rows of heads.
struct Heads {
    const float *x;
    float *out;
    u64 x_row, x_head, out_row, out_head;
    u32 heads;

    __device__ const float *source(u32 head) const { return x + block_x() * x_row + head * x_head; }
    __device__ float *target(u32 head) const { return out + block_x() * out_row + head * out_head; }
    // Whether every pair of neighbours lies on 8 bytes.
    __device__ bool pairs_aligned() const {
        return ((u64)x / 4 | x_row | x_head | (u64)out / 4 | out_row | out_head) % 2 == 0;
    }
};

DEVICE void copy_tail(const Heads &h, u32 i, u32 end) {
    if (i >= end) return;
    for (u32 head = thread_x() / PAIRS; head < h.heads; head += HEADS) h.target(head)[i] = h.source(head)[i];
}

template <bool NEOX> DEVICE void rotate(const Heads &h, u32 i, u32 n_rot, f32x2 turn) {
    const u32 first = NEOX ? i : 2 * i, second = NEOX ? i + n_rot / 2 : 2 * i + 1;
    const bool whole = !NEOX && h.pairs_aligned();
    for (u32 head = thread_x() / PAIRS; head < h.heads; head += HEADS) {
        const float *src = h.source(head);
        float *dst = h.target(head);
        const f32x2 v = whole ? *(const f32x2 *)(src + first) : f32x2{src[first], src[second]};
        const f32x2 y = {v.x * turn.x - v.y * turn.y, v.x * turn.y + v.y * turn.x};
        if (whole) {
            *(f32x2 *)(dst + first) = y;
        } else {
            dst[first] = y.x;
            dst[second] = y.y;
        }
    }
}

template <bool NEOX>
DEVICE void rope(const Heads &h, const u32 *positions, const Series &series, u32 n_rot, u32 copied_to, double magnitude) {
    const u32 pairs = n_rot / 2, chunks = pairs / PAIRS + (pairs % PAIRS != 0), lane = thread_x() % PAIRS;
    if (block_y() >= chunks) {
        copy_tail(h, n_rot + (block_y() - chunks) * PAIRS + lane, copied_to);
        return;
    }
    const u32 i = block_y() * PAIRS + lane;
    if (i >= pairs) return;
    const Turn turn = turn_by(series.angle(positions[block_x()], i));
    rotate<NEOX>(h, i, n_rot, f32x2{(float)(magnitude * turn.cosine), (float)(magnitude * turn.sine)});
}

#define ROPE(NAME, NEOX)                                                                                               \
    KERNEL(PAIRS *HEADS)                                                                                               \
    NAME(const float *x, const u32 *positions, const float *factors, float *out, u64 x_row, u64 x_head, u64 out_row,   \
         u64 out_head, u32 heads, u32 n_rot, u32 copied_to, u32 has_factors, double log2_step, double divided,         \
         double extrapolation, double low, double span, double magnitude) {                                            \
        rope<NEOX>({x, out, x_row, x_head, out_row, out_head, heads}, positions,                                       \
                   {factors, has_factors, log2_step, divided, extrapolation, low, span}, n_rot, copied_to, magnitude); \
    }

ROPE(rope_interleaved, false)
ROPE(rope_neox, true)
