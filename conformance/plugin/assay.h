/*
 * assay.h: a backend of your own, in any language that can make a shared library.
 *
 * A plug-in owns its memory and runs ops on whatever device it likes. Assay hands it ops as plain structs, reads the results back
 * and judges them. Export one function, `assay_plugin_open`, that returns a table of functions:
 *
 *     cc -O2 -shared -fPIC -o libmine.so mine.c
 *     assay check --plugin ./libmine.so
 *
 * Calls come from one thread at a time, in an order in which each may wait for the one before. Work may go on after `launch` and
 * `write` have returned, as long as it runs in the order of the calls; `read` and `synchronize` wait for it.
 *
 * Every op has passed validation before a plug-in sees it: shapes agree, every element lies inside its buffer, indices are in range.
 * What an op computes is on its page, kernels/src/ops/NAME.rs.
 */
#ifndef ASSAY_H
#define ASSAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. A plug-in and a program of different versions refuse each other. */
#define ASSAY_ABI 1

/* Element types. The numbers are those of GGUF files, which have no unsigned indices. */
#define ASSAY_F32 0
#define ASSAY_F16 1
#define ASSAY_Q4_0 2
#define ASSAY_Q4_1 3
#define ASSAY_Q5_0 6
#define ASSAY_Q5_1 7
#define ASSAY_Q8_0 8
#define ASSAY_Q2_K 10
#define ASSAY_Q3_K 11
#define ASSAY_Q4_K 12
#define ASSAY_Q5_K 13
#define ASSAY_Q6_K 14
#define ASSAY_IQ4_NL 20
#define ASSAY_IQ4_XS 23
#define ASSAY_F64 28 /* in assay_numerics alone */
#define ASSAY_BF16 30
#define ASSAY_MXFP4 39
#define ASSAY_U32 256

/* What an op does with an operand. */
#define ASSAY_INPUT 0   /* reads it */
#define ASSAY_INDICES 1 /* reads it: token ids, positions or sequence numbers */
#define ASSAY_OUTPUT 2  /* writes it; reads it first where the op runs in place */

/* A tensor. An operand that an op does without is not in its list. */
typedef struct assay_operand {
    const char *name;    /* "x", "weight", "out": as on the op's page */
    uint32_t role;       /* ASSAY_INPUT, ASSAY_INDICES or ASSAY_OUTPUT */
    uint32_t dtype;      /* ASSAY_F32, ... */
    uint32_t rank;       /* dimensions, at most 4 */
    uint32_t reserved;   /* 0 */
    uint64_t shape[4];   /* extents, outermost first; 1 behind the rank */
    uint64_t strides[4]; /* distances in elements; the innermost is 1 but for ASSAY_TRANSPOSED */
    uint64_t offset;     /* bytes from the start of the buffer to the first element */
    void *buffer;        /* as `alloc` returned it; NULL in `supports` and `numerics` */
} assay_operand;

/* What the value of a parameter is. */
#define ASSAY_BOOL 0
#define ASSAY_COUNT 1
#define ASSAY_NUMBER 2
#define ASSAY_TEXT 3

/*
 * A parameter, under the name that the op's page has. One that is none is not in the list. A choice with numbers of its own is a text
 * and further parameters: `scaling` = "yarn", `scaling.factor`, `scaling.beta_fast`, ...
 */
typedef struct assay_param {
    const char *name; /* "eps" */
    const char *text; /* ASSAY_TEXT: the value; NULL otherwise */
    uint32_t kind;    /* ASSAY_BOOL, ASSAY_COUNT, ASSAY_NUMBER or ASSAY_TEXT */
    uint32_t reserved;/* 0 */
    uint64_t count;   /* ASSAY_COUNT: the value; ASSAY_BOOL: 0 or 1 */
    double number;    /* ASSAY_NUMBER: the value, which fits in a float where the op's page says f32; ASSAY_COUNT: the same number */
} assay_param;

/* An op. Everything that it points to lives until the call returns. */
typedef struct assay_op {
    const char *name; /* "rms_norm" */
    const assay_operand *operands;
    const assay_param *params;
    uint32_t operand_count;
    uint32_t param_count;
} assay_op;

/* What happens to the activations of a matrix product. */
#define ASSAY_EXACT 0   /* they enter as they are */
#define ASSAY_ROUNDED 1 /* each is rounded to a shorter format */
#define ASSAY_INT8 2    /* each block of a row becomes integers from -127 to 127 times a scale of max|x|/127 */

/* What happens to its weights. ASSAY_ROUNDED is possible too. */
#define ASSAY_DECODED 0  /* each is decoded to the f32 that its format says */
#define ASSAY_FACTORED 2 /* scales and offsets of a block are multiplied and summed apart from its codes */

/*
 * How the plug-in computes an op. The error bound follows from it, so a declaration that promises too much fails, and one that promises
 * too little lets errors pass. `numerics` finds the defaults here: f32, any order of summation, functions within 2 ulp.
 */
typedef struct assay_numerics {
    uint32_t accumulator;      /* format of sums and intermediate results: ASSAY_F64, ASSAY_F32, ASSAY_F16, ASSAY_BF16 */
    uint32_t lanes;            /* sums in so many interleaved parts, then a tree; 0 for any order */
    uint32_t activations;      /* ASSAY_EXACT, ASSAY_ROUNDED or ASSAY_INT8 */
    uint32_t activation_type;  /* ASSAY_ROUNDED: the shorter format; ASSAY_INT8: the format of the scale */
    uint32_t activation_block; /* ASSAY_INT8: activations that share a scale */
    uint32_t weights;          /* ASSAY_DECODED, ASSAY_ROUNDED or ASSAY_FACTORED */
    uint32_t weight_type;      /* ASSAY_ROUNDED: the shorter format */
    uint32_t angle;            /* format in which RoPE forms its angle: ASSAY_F64 or ASSAY_F32 */
    double function_ulps;      /* largest error of exp, tanh, sin, 1/sqrt(x), ..., in units in the last place; at most 1024 */
    uint32_t reserved[4];      /* 0 */
} assay_numerics;

/* Where a plug-in computes; reports say so. */
#define ASSAY_ON_HOST 0
#define ASSAY_ON_SOFTWARE 1 /* an emulated device */
#define ASSAY_ON_GPU 2

/*
 * How operands may lie in memory. In rows, each dimension encloses those after it, and the innermost stride is 1. A plug-in that reads every
 * stride of an operand can say that it takes more; its `supports` then says of which operands.
 */
#define ASSAY_PERMUTED 1   /* innermost stride 1, the outer dimensions in another order: head-major caches */
#define ASSAY_TRANSPOSED 2 /* another innermost stride, where the op's page has it: keys by slots, column-major weights */

/* What a function returns. Any other number is an error of the plug-in's own, and is reported as it is. */
#define ASSAY_OK 0
#define ASSAY_OUT_OF_MEMORY 1
#define ASSAY_UNSUPPORTED 2 /* of `launch`: an op that `supports` had declined */
#define ASSAY_FAULT 3       /* a kernel or a copy went wrong on the device */

/* The plug-in. It must outlive every call. */
typedef struct assay_plugin {
    uint32_t abi;      /* ASSAY_ABI */
    uint32_t size;     /* sizeof(assay_plugin) */
    uint32_t place;    /* ASSAY_ON_HOST, ASSAY_ON_SOFTWARE or ASSAY_ON_GPU */
    uint32_t layouts;  /* ASSAY_PERMUTED, ASSAY_TRANSPOSED, both, or 0: what `supports` is asked about besides rows */

    /* What the plug-in and its device are called in reports. */
    const char *(*name)(void);

    /* Words about the last error, or NULL. The function itself may be NULL. */
    const char *(*error)(void);

    /* 1 where the plug-in implements the op on these operands, otherwise 0. Then `*why` may be set to a reason. */
    int32_t (*supports)(const assay_op *op, const char **why);

    /* Says how the op is computed. NULL where the defaults hold for all ops. */
    void (*numerics)(const assay_op *op, assay_numerics *numerics);

    /* New memory of `bytes` bytes with any content, aligned to 256 bytes; `bytes` may be 0. */
    int32_t (*alloc)(uint64_t bytes, void **buffer);

    /* Returns memory of `alloc`. Work that uses it may still be under way. */
    int32_t (*free)(void *buffer);

    /* Copies `count` bytes to byte `offset` of `buffer`. The source may be reused when the call returns. */
    int32_t (*write)(void *buffer, uint64_t offset, const void *bytes, uint64_t count);

    /* Copies `count` bytes from byte `offset` of `buffer`; they have arrived when the call returns. */
    int32_t (*read)(void *buffer, uint64_t offset, void *bytes, uint64_t count);

    /* Starts the op. */
    int32_t (*launch)(const assay_op *op);

    /* Waits for all work, and returns its first error. NULL where work is done when `launch` returns. */
    int32_t (*synchronize)(void);
} assay_plugin;

#if defined(_WIN32)
#define ASSAY_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define ASSAY_EXPORT __attribute__((visibility("default")))
#else
#define ASSAY_EXPORT
#endif

/* The one function of a plug-in. `abi` is the version that the program speaks; NULL where the plug-in does not. */
ASSAY_EXPORT const assay_plugin *assay_plugin_open(uint32_t abi);

/* What follows is for convenience. */

#if defined(__GNUC__)
#define ASSAY_HELPER static inline __attribute__((unused))
#else
#define ASSAY_HELPER static inline
#endif

ASSAY_HELPER int assay_same(const char *a, const char *b) {
    while (*a && *a == *b) ++a, ++b;
    return *a == *b;
}

/* Whether the op is the one called `name`. */
ASSAY_HELPER int assay_is(const assay_op *op, const char *name) { return assay_same(op->name, name); }

/* The operand called `name`, or NULL. */
ASSAY_HELPER const assay_operand *assay_find(const assay_op *op, const char *name) {
    for (uint32_t i = 0; i < op->operand_count; ++i)
        if (assay_same(op->operands[i].name, name)) return &op->operands[i];
    return NULL;
}

/* The parameter called `name`, or NULL. */
ASSAY_HELPER const assay_param *assay_find_param(const assay_op *op, const char *name) {
    for (uint32_t i = 0; i < op->param_count; ++i)
        if (assay_same(op->params[i].name, name)) return &op->params[i];
    return NULL;
}

/* The number called `name`, or `otherwise` where there is none. */
ASSAY_HELPER double assay_number(const assay_op *op, const char *name, double otherwise) {
    const assay_param *param = assay_find_param(op, name);
    return param ? param->number : otherwise;
}

/* Whether every operand of the op is of type `dtype`, indices aside. */
ASSAY_HELPER int assay_all(const assay_op *op, uint32_t dtype) {
    for (uint32_t i = 0; i < op->operand_count; ++i)
        if (op->operands[i].role != ASSAY_INDICES && op->operands[i].dtype != dtype) return 0;
    return 1;
}

#ifdef __cplusplus
}
#endif
#endif
