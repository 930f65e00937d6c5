// Products of matrices by hipBLAS. The bug: C has room for one column less than the product has.
#include "check.h"

#include <cstdint>
#include <cstdio>

// Of hipblas.h, which the toolchain of these programs does not have.
extern "C" {
int hipblasCreate(void** handle);
int hipblasDestroy(void* handle);
int hipblasSetStream(void* handle, hipStream_t stream);
int hipblasSgemm(void*, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*, float*, int);
int hipblasGemmEx(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*, void*, int, int,
                  int, int);
int hipblasGemmStridedBatchedEx(void*, int, int, int, int, int, const void*, const void*, int, int, int64_t, const void*, int, int,
                                int64_t, const void*, void*, int, int, int64_t, int, int, int);
int hipblasGemmBatchedEx(void*, int, int, int, int, int, const void*, const void**, int, int, const void**, int, int, const void*, void**,
                         int, int, int, int, int);
}
constexpr int N = 111, T = 112, F16 = 150, F32 = 151, DEFAULT = 160;

constexpr int ROWS = 70, COLUMNS = 5, DEPTH = 9, BATCHES = 3;

// Small integers: every sum is exact, in f16 too.
static float value(int i, int salt) { return float((i * 7 + salt * 3) % 5 - 2); }

template <class E, size_t COUNT> static E* upload(const E (&from)[COUNT]) {
    E* to;
    CHECK(hipMalloc(&to, sizeof(from)));
    CHECK(hipMemcpy(to, from, sizeof(from), hipMemcpyHostToDevice));
    return to;
}

// Matrices of all batches, column-major; those of A are transposed where it says so.
static float a[BATCHES * ROWS * DEPTH], b[BATCHES * DEPTH * COLUMNS], got[BATCHES * ROWS * COLUMNS];
static _Float16 a16[BATCHES * ROWS * DEPTH], b16[BATCHES * DEPTH * COLUMNS];

static float expected(int i, int j, bool transposed, int batch) {
    const float *pa = a + batch * ROWS * DEPTH, *pb = b + batch * DEPTH * COLUMNS;
    float sum = 0;
    for (int k = 0; k < DEPTH; ++k) sum += (transposed ? pa[i * DEPTH + k] : pa[k * ROWS + i]) * pb[j * DEPTH + k];
    return sum;
}

int main() {
    for (int i = 0; i < BATCHES * ROWS * DEPTH; ++i) a16[i] = _Float16(a[i] = value(i, 1));
    for (int i = 0; i < BATCHES * DEPTH * COLUMNS; ++i) b16[i] = _Float16(b[i] = value(i, 2));
    float *da = upload(a), *db = upload(b);
    _Float16 *da16 = upload(a16), *db16 = upload(b16);
    const size_t one = ROWS * COLUMNS;
    float* c;
    CHECK(hipMalloc(&c, BATCHES * one * sizeof(float)));
    void* handle;
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    int wrong = hipblasCreate(&handle) + hipblasSetStream(handle, stream);
    const float alpha = 1, beta = 0;
    auto compare = [&](bool ta, int batches) {
        CHECK(hipStreamSynchronize(stream));
        CHECK(hipMemcpy(got, c, batches * one * sizeof(float), hipMemcpyDeviceToHost));
        for (int batch = 0; batch < batches; ++batch)
            for (int j = 0; j < COLUMNS; ++j)
                for (int i = 0; i < ROWS; ++i) wrong += got[batch * one + j * ROWS + i] != expected(i, j, ta, batch);
    };
    for (bool ta : {false, true}) {
        int op = ta ? T : N, lda = ta ? DEPTH : ROWS;
        wrong += hipblasSgemm(handle, op, N, ROWS, COLUMNS, DEPTH, &alpha, da, lda, db, DEPTH, &beta, c, ROWS);
        compare(ta, 1);
        wrong += hipblasGemmEx(handle, op, N, ROWS, COLUMNS, DEPTH, &alpha, da16, F16, lda, db16, F16, DEPTH, &beta, c, F32, ROWS, F32,
                               DEFAULT);
        compare(ta, 1);
        wrong += hipblasGemmStridedBatchedEx(handle, op, N, ROWS, COLUMNS, DEPTH, &alpha, da16, F16, lda, ROWS * DEPTH, db16, F16, DEPTH,
                                             DEPTH * COLUMNS, &beta, c, F32, ROWS, one, BATCHES, F32, DEFAULT);
        compare(ta, BATCHES);
        const void *as[BATCHES], *bs[BATCHES];
        void* cs[BATCHES];
        for (int i = 0; i < BATCHES; ++i) {
            as[i] = da + i * ROWS * DEPTH;
            bs[i] = db + i * DEPTH * COLUMNS;
            cs[i] = c + i * one;
        }
        const void **pa = upload(as), **pb = upload(bs);
        void** pc = upload(cs);
        wrong += hipblasGemmBatchedEx(handle, op, N, ROWS, COLUMNS, DEPTH, &alpha, pa, F32, lda, pb, F32, DEPTH, &beta, pc, F32, ROWS,
                                      BATCHES, F32, DEFAULT);
        compare(ta, BATCHES);
        CHECK(hipFree(pa));
        CHECK(hipFree(pb));
        CHECK(hipFree(pc));
    }
    // A leading dimension below the rows is refused.
    wrong += hipblasSgemm(handle, N, N, ROWS, COLUMNS, DEPTH, &alpha, da, ROWS - 1, db, DEPTH, &beta, c, ROWS) != 3;
    printf("gemm: %s\n", wrong ? "wrong" : "right");
#ifndef CLEAN
    float* small;
    CHECK(hipMalloc(&small, (one - ROWS) * sizeof(float)));
    hipblasSgemm(handle, N, N, ROWS, COLUMNS, DEPTH, &alpha, da, ROWS, db, DEPTH, &beta, small, ROWS);
    CHECK(hipStreamSynchronize(stream));
#endif
    wrong += hipblasDestroy(handle);
    CHECK(hipStreamDestroy(stream));
    for (void* memory : {(void*)da, (void*)db, (void*)da16, (void*)db16, (void*)c}) CHECK(hipFree(memory));
    return wrong != 0;
}
