/*
 * A plug-in in plain C: a few ops in f32, with loops that anybody can check.
 *
 *     cc -O2 -shared -fPIC -o libplain.so plain.c -lm
 *     assay check --plugin ./libplain.so
 */
#include "assay.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Element (row, column) of a tensor of f32; a tensor with one dimension, or one row, serves every row. */
static float *at(const assay_operand *t, uint64_t row, uint64_t column) {
    const uint64_t stride = t->rank < 2 || t->shape[0] == 1 ? 0 : t->strides[0];
    return (float *)((char *)t->buffer + t->offset) + row * stride + column;
}

/* The input called `name`; where there is none the op runs in place, and the output holds the values. */
static const assay_operand *input(const assay_op *op, const char *name) {
    const assay_operand *t = assay_find(op, name);
    return t ? t : assay_find(op, "out");
}

static void rms_norm(const assay_op *op) {
    const assay_operand *x = input(op, "x"), *weight = assay_find(op, "weight"), *out = assay_find(op, "out");
    const float eps = (float)assay_number(op, "eps", 0);
    const uint64_t n = out->shape[1];
    for (uint64_t r = 0; r < out->shape[0]; ++r) {
        float sum = 0;
        for (uint64_t i = 0; i < n; ++i) sum += *at(x, r, i) * *at(x, r, i);
        const float factor = 1.0f / sqrtf(sum / (float)n + eps);
        for (uint64_t i = 0; i < n; ++i) *at(out, r, i) = *at(x, r, i) * factor * *at(weight, 0, i);
    }
}

static float add(float a, float b) { return a + b; }
static float mul(float a, float b) { return a * b; }
/* The limit at minus infinity is 0, and not the NaN of -inf/inf. */
static float silu_mul(float gate, float up) { return fmaxf(gate, -FLT_MAX) / (1.0f + expf(-gate)) * up; }

/* The ops of two tensors, element by element. */
static const struct {
    const char *op, *left, *right;
    float (*of)(float, float);
} BINARY[] = {{"add", "a", "b", add}, {"mul", "a", "b", mul}, {"silu_mul", "gate", "up", silu_mul}};
enum { BINARIES = sizeof BINARY / sizeof *BINARY };

static const char *name(void) { return "plain C"; }

static int32_t supports(const assay_op *op, const char **why) {
    int known = assay_is(op, "rms_norm");
    for (int i = 0; i < BINARIES; ++i) known |= assay_is(op, BINARY[i].op);
    if (!known) *why = "not among the ops of plain.c";
    else if (!assay_all(op, ASSAY_F32)) *why = "plain.c computes in f32";
    else return 1;
    return 0;
}

static int32_t new_memory(uint64_t bytes, void **buffer) {
    *buffer = aligned_alloc(256, (bytes + 256) / 256 * 256);
    return *buffer ? ASSAY_OK : ASSAY_OUT_OF_MEMORY;
}

static int32_t old_memory(void *buffer) {
    free(buffer);
    return ASSAY_OK;
}

static int32_t write_bytes(void *buffer, uint64_t offset, const void *bytes, uint64_t count) {
    memcpy((char *)buffer + offset, bytes, count);
    return ASSAY_OK;
}

static int32_t read_bytes(void *buffer, uint64_t offset, void *bytes, uint64_t count) {
    memcpy(bytes, (char *)buffer + offset, count);
    return ASSAY_OK;
}

static int32_t launch(const assay_op *op) {
    if (assay_is(op, "rms_norm")) {
        rms_norm(op);
        return ASSAY_OK;
    }
    for (int i = 0; i < BINARIES; ++i) {
        if (!assay_is(op, BINARY[i].op)) continue;
        const assay_operand *left = input(op, BINARY[i].left), *right = assay_find(op, BINARY[i].right);
        const assay_operand *out = assay_find(op, "out");
        for (uint64_t r = 0; r < out->shape[0]; ++r)
            for (uint64_t c = 0; c < out->shape[1]; ++c)
                *at(out, r, c) = BINARY[i].of(*at(left, r, c), *at(right, r, c));
        return ASSAY_OK;
    }
    return ASSAY_UNSUPPORTED;
}

ASSAY_EXPORT const assay_plugin *assay_plugin_open(uint32_t abi) {
    static const assay_plugin plugin = {
        .abi = ASSAY_ABI,
        .size = sizeof(assay_plugin),
        .place = ASSAY_ON_HOST,
        .name = name,
        .supports = supports,
        .alloc = new_memory,
        .free = old_memory,
        .write = write_bytes,
        .read = read_bytes,
        .launch = launch,
    };
    return abi == ASSAY_ABI ? &plugin : NULL;
}
