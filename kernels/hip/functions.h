// Elementary functions of f32 that the compiler does not bring along. Errors are in units in the last place of the result, with
// `exp` within 1.
#pragma once
#include "common.h"

// Within 1.2: x + x·R(x²) up to 1, 1 − e^−Q(|x|) beyond, both fitted for the least largest error. From 4 on erf rounds to 1.
DEVICE float erf_f32(float x) {
    const float u = x * x;
    float r = 7.889119e-05f;
    r = __builtin_fmaf(r, u, -0.0008020841f);
    r = __builtin_fmaf(r, u, 0.005189535f);
    r = __builtin_fmaf(r, u, -0.026854444f);
    r = __builtin_fmaf(r, u, 0.112836f);
    r = __builtin_fmaf(r, u, -0.37612626f);
    r = __builtin_fmaf(r, u, 0.12837917f);
    const float near = __builtin_fmaf(x, r, x);
    const float z = __builtin_fminf(__builtin_fabsf(x), 4.0f);
    float q = -0.0001855749f;
    q = __builtin_fmaf(q, z, 0.0029396159f);
    q = __builtin_fmaf(q, z, -0.021805352f);
    q = __builtin_fmaf(q, z, 0.10303744f);
    q = __builtin_fmaf(q, z, 0.6382256f);
    q = __builtin_fmaf(q, z, 1.12704f);
    q = __builtin_fmaf(q, z, 0.00035370892f);
    const float far = __builtin_copysignf(1.0f - __builtin_expf(-q), x);
    return __builtin_fabsf(x) > 1.0f ? far : near;
}

// Within 1.3: x + x³·P(x²) up to 1, fitted likewise, 1 − 2/(e^2|x| + 1) beyond.
DEVICE float tanh_f32(float x) {
    const float u = x * x;
    float p = -0.00036252386f;
    p = __builtin_fmaf(p, u, 0.002315469f);
    p = __builtin_fmaf(p, u, -0.007965218f);
    p = __builtin_fmaf(p, u, 0.021499405f);
    p = __builtin_fmaf(p, u, -0.053884104f);
    p = __builtin_fmaf(p, u, 0.13332412f);
    p = __builtin_fmaf(p, u, -0.333333f);
    const float near = __builtin_fmaf(x, u * p, x);
    const float far = __builtin_copysignf(1.0f - 2.0f / (__builtin_expf(2.0f * __builtin_fabsf(x)) + 1.0f), x);
    return __builtin_fabsf(x) > 1.0f ? far : near;
}
