// Angles of RoPE, formed in f64: what an f32 would lose at position 2^20 is all of the angle's fraction.
#pragma once
#include "common.h"

// 2^x by its series around the nearest whole exponent: the first term left out is below 2^-57 of the sum.
DEVICE double exp2_f64(double x) {
    const double whole = __builtin_rint(x), z = (x - whole) * 0x1.62e42fefa39efp-1;
    double sum = 1.0;
#pragma unroll
    for (int k = 13; k > 0; --k) sum = __builtin_fma(sum * (1.0 / k), z, 1.0);
    return __builtin_ldexp(sum, (int)whole);
}

struct Turn {
    double cosine, sine;
};

// Cosine and sine, within 2^-36 of the larger of the two. π/2 is taken off as a sum of two f64, by fused steps that leave no error of
// their own up to 2^50 quarter turns; beyond, where an f64 has no fraction of a turn left, the angle counts as 0.
DEVICE Turn turn_by(double angle) {
    const double quarters = __builtin_rint(angle * 0x1.45f306dc9c883p-1);
    double r = __builtin_fma(-quarters, 0x1.921fb54442d18p+0, angle);
    r = __builtin_fma(-quarters, 0x1.1a62633145c07p-54, r);
    if (!(__builtin_fabs(angle) < 0x1p50)) r = angle - angle;
    const double z = r * r;
    double sine = -1.0 / 39916800;
    sine = __builtin_fma(sine, z, 1.0 / 362880);
    sine = __builtin_fma(sine, z, -1.0 / 5040);
    sine = __builtin_fma(sine, z, 1.0 / 120);
    sine = __builtin_fma(sine, z, -1.0 / 6);
    sine = __builtin_fma(sine * z, r, r);
    double cosine = 1.0 / 479001600;
    cosine = __builtin_fma(cosine, z, -1.0 / 3628800);
    cosine = __builtin_fma(cosine, z, 1.0 / 40320);
    cosine = __builtin_fma(cosine, z, -1.0 / 720);
    cosine = __builtin_fma(cosine, z, 1.0 / 24);
    cosine = __builtin_fma(cosine, z, -0.5);
    cosine = __builtin_fma(cosine, z, 1.0);
    const double quadrant = quarters - 4.0 * __builtin_floor(quarters * 0.25);
    const bool odd = quadrant == 1.0 || quadrant == 3.0;
    const Turn turned = {odd ? sine : cosine, odd ? cosine : sine};
    return {quadrant == 1.0 || quadrant == 2.0 ? -turned.cosine : turned.cosine,
            quadrant >= 2.0 ? -turned.sine : turned.sine};
}
