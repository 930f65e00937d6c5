// hipBLASLt: D = relu(A B + bias) in f32 with D apart from C, and bytes with sums of i32. With a bug, D has a column less than it needs.
#include "engine.h"

extern "C" {
int hipblasLtCreate(void** handle);
int hipblasLtDestroy(void* handle);
int hipblasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
int hipblasLtMatrixLayoutDestroy(void* layout);
int hipblasLtMatmulDescCreate(void** about, int compute, int scale);
int hipblasLtMatmulDescDestroy(void* about);
int hipblasLtMatmulDescSetAttribute(void* about, int attribute, const void* value, size_t bytes);
int hipblasLtMatmulPreferenceCreate(void** preference);
int hipblasLtMatmulPreferenceDestroy(void* preference);
int hipblasLtMatmulAlgoGetHeuristic(void* handle, void* about, void* a, void* b, void* c, void* d, void* preference, int asked, void* results,
                                    int* found);
int hipblasLtMatmul(void* handle, void* about, const void* alpha, const void* a, void* a_layout, const void* b, void* b_layout, const void* beta,
                    const void* c, void* c_layout, void* d, void* d_layout, const void* algorithm, void* workspace, size_t workspace_bytes,
                    hipStream_t stream);
}

constexpr int M = 5, N = 7, K = 3;
constexpr int F32 = 0, I8 = 3, I32 = 10, COMPUTE_F32 = 2, COMPUTE_I32 = 7;
constexpr int EPILOGUE = 2, BIAS = 3;

static int wrong = 0;

static void expect(bool right, const char* what) {
    if (!right) {
        std::printf("wrong: %s\n", what);
        wrong = 1;
    }
}

// One product, with a bias if there is one.
static void multiply(void* handle, int in, int out, int compute, const void* alpha, const void* a, const void* b, const void* beta, void* d,
                     const void* bias) {
    void *about, *of_a, *of_b, *of_d, *preference;
    expect(hipblasLtMatmulDescCreate(&about, compute, out) == 0, "description");
    if (bias) {
        uint32_t relu_bias = 6;
        expect(hipblasLtMatmulDescSetAttribute(about, EPILOGUE, &relu_bias, sizeof relu_bias) == 0, "epilogue");
        expect(hipblasLtMatmulDescSetAttribute(about, BIAS, &bias, sizeof bias) == 0, "bias");
    }
    hipblasLtMatrixLayoutCreate(&of_a, in, M, K, M);
    hipblasLtMatrixLayoutCreate(&of_b, in, K, N, K);
    hipblasLtMatrixLayoutCreate(&of_d, out, M, N, M);
    hipblasLtMatmulPreferenceCreate(&preference);
    uint64_t results[7] = {};
    int found = 0;
    int status = hipblasLtMatmulAlgoGetHeuristic(handle, about, of_a, of_b, of_d, of_d, preference, 1, results, &found);
    expect(status == 0 && found == 1, "algorithm");
    // With beta = 0, C is not read.
    status = hipblasLtMatmul(handle, about, alpha, a, of_a, b, of_b, beta, d, of_d, d, of_d, results, nullptr, 0, nullptr);
    expect(status == 0, "product");
    hipblasLtMatmulPreferenceDestroy(preference);
    hipblasLtMatrixLayoutDestroy(of_d);
    hipblasLtMatrixLayoutDestroy(of_b);
    hipblasLtMatrixLayoutDestroy(of_a);
    hipblasLtMatmulDescDestroy(about);
}

int main() {
#ifdef CLEAN
    const int columns = N;
#else
    const int columns = N - 1;
#endif
    void* handle = nullptr;
    expect(hipblasLtCreate(&handle) == 0, "handle");
    Tensor<float> a(M * K), b(K * N), bias(M), d(M * N);
    Tensor<int8_t> bytes_a(M * K), bytes_b(K * N);
    Tensor<int> sums(M * N);
    for (int i = 0; i < M * K; ++i) a[i] = bytes_a[i] = i - 7;
    for (int i = 0; i < K * N; ++i) b[i] = bytes_b[i] = 5 - i;
    for (int i = 0; i < M; ++i) bias[i] = i;
    float *da = upload(a), *db = upload(b), *dbias = upload(bias), *dd = nullptr;
    int8_t *ba = upload(bytes_a), *bb = upload(bytes_b);
    int* bd = nullptr;
    (void)hipMalloc((void**)&dd, M * columns * sizeof(float));
    (void)hipMalloc((void**)&bd, M * N * sizeof(int));
    const float one = 1, zero = 0;
    const int int_one = 1, int_zero = 0;
    multiply(handle, I8, I32, COMPUTE_I32, &int_one, ba, bb, &int_zero, bd, nullptr);
    multiply(handle, F32, F32, COMPUTE_F32, &one, da, db, &zero, dd, dbias);
    copy_to_host(sums.values, bd, sums.bytes, "sums");
    copy_to_host(d.values, dd, M * columns * sizeof(float), "d");
    for (int column = 0; column < columns; ++column) {
        for (int row = 0; row < M; ++row) {
            float sum = 0;
            for (int at = 0; at < K; ++at) sum += a[at * M + row] * b[column * K + at];
            expect(sums[column * M + row] == int(sum), "sums of bytes");
            sum += bias[row];
            expect(d[column * M + row] == (sum < 0 ? 0 : sum), "sums of floats");
        }
    }
    hipblasLtDestroy(handle);
    void* all[] = {da, db, dbias, dd, ba, bb, bd};
    for (void* memory : all) (void)hipFree(memory);
    std::printf(wrong ? "matmul_lt: wrong\n" : "matmul_lt: right\n");
    return wrong;
}
