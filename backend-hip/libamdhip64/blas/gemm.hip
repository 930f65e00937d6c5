// D = activation(alpha * op(A) * op(B) + beta * C + bias), column-major, for every pair of element types that hipBLAS's GEMM family takes here.
// Sums are f32, or i32 where A has bytes, in the order of k. A block has 64 rows of D and `COLUMNS` columns; z is the batch.

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

constexpr int COLUMNS = 4;

// Element types, as `blas.rs` numbers them.
enum Type { F32, F16, BF16, I8, I32 };
enum Activation { NONE, RELU, GELU };

__attribute__((device)) static float from(const void* data, long long at, int type) {
    if (type == F32) return static_cast<const float*>(data)[at];
    if (type == F16) return static_cast<float>(static_cast<const _Float16*>(data)[at]);
    if (type == I32) return static_cast<float>(static_cast<const int*>(data)[at]);
    if (type == I8) return static_cast<float>(static_cast<const signed char*>(data)[at]);
    return __builtin_bit_cast(float, static_cast<u32>(static_cast<const u16*>(data)[at]) << 16);
}

__attribute__((device)) static void to(void* data, long long at, int type, float value) {
    if (type == F32) {
        static_cast<float*>(data)[at] = value;
    } else if (type == F16) {
        static_cast<_Float16*>(data)[at] = static_cast<_Float16>(value);
    } else {
        // To nearest, ties to even; a NaN stays one.
        u32 bits = __builtin_bit_cast(u32, value);
        u32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        static_cast<u16*>(data)[at] = value != value ? u16(bits >> 16 | 0x40) : u16(rounded);
    }
}

// GELU by its tanh.
__attribute__((device)) static float gelu(float x) {
    float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
    float power = __builtin_amdgcn_exp2f(2.0f * 1.44269504f * inner);
    return power > 3e38f ? x : x * power / (power + 1.0f);
}

// Matrices: `a` is m x k (k x m if a_transposed), `b` k x n (n x k), `c` and `d` m x n; lda, ldb, ldc, ldd elements from column to column.
// With `pointers`, a, b, c, d are arrays of one matrix per batch; otherwise batches are a_stride, b_stride, c_stride, d_stride elements apart.
// `bias`, if there is one, has a value for each row.
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 256))) void assay_gemm(
    const void* a, const void* b, const void* c, void* d, const void* bias, long long a_stride, long long b_stride, long long c_stride,
    long long d_stride, int m, int n, int k, int lda, int ldb, int ldc, int ldd, float alpha, float beta, int a_type, int b_type, int c_type,
    int d_type, int bias_type, int a_transposed, int b_transposed, int pointers, int activation) {
    int row = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    int column = __builtin_amdgcn_workgroup_id_y() * COLUMNS + __builtin_amdgcn_workitem_id_y();
    long long batch = __builtin_amdgcn_workgroup_id_z();
    if (row >= m || column >= n) return;
    if (pointers) {
        a = static_cast<const void* const*>(a)[batch];
        b = static_cast<const void* const*>(b)[batch];
        c = static_cast<const void* const*>(c)[batch];
        d = static_cast<void* const*>(d)[batch];
        a_stride = b_stride = c_stride = d_stride = 0;
    }
    long long a_step = a_transposed ? 1 : lda, b_step = b_transposed ? ldb : 1;
    long long a_at = batch * a_stride + (a_transposed ? (long long)row * lda : row);
    long long b_at = batch * b_stride + (b_transposed ? column : (long long)column * ldb);
    long long c_at = batch * c_stride + (long long)column * ldc + row;
    long long d_at = batch * d_stride + (long long)column * ldd + row;
    if (a_type == I8) {
        int sum = 0;
        for (int at = 0; at < k; ++at) {
            sum += int(static_cast<const signed char*>(a)[a_at]) * int(static_cast<const signed char*>(b)[b_at]);
            a_at += a_step;
            b_at += b_step;
        }
        if (d_type == I32 && alpha == 1 && beta == 0) {
            static_cast<int*>(d)[d_at] = sum;
            return;
        }
        float value = alpha * float(sum);
        if (beta != 0) value += beta * from(c, c_at, c_type);
        if (d_type == I32) {
            static_cast<int*>(d)[d_at] = int(__builtin_rintf(value));
        } else {
            to(d, d_at, d_type, value);
        }
        return;
    }
    float sum = 0;
    for (int at = 0; at < k; ++at) {
        sum = __builtin_fmaf(from(a, a_at, a_type), from(b, b_at, b_type), sum);
        a_at += a_step;
        b_at += b_step;
    }
    // With beta = 0, C is not read: it may hold anything.
    float value = alpha * sum;
    if (beta != 0) value += beta * from(c, c_at, c_type);
    if (bias) value += from(bias, row, bias_type);
    if (activation == RELU) value = value < 0 ? 0 : value;
    if (activation == GELU) value = gelu(value);
    to(d, d_at, d_type, value);
}
