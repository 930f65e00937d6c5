// C = alpha * op(A) * op(B) + beta * C, column-major, for every pair of element types that hipBLAS's GEMM family takes here.
// Sums are f32, in the order of k. A block has 64 rows of C and `COLUMNS` columns; z is the batch.

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

constexpr int COLUMNS = 4;

// Element types, as `blas.rs` numbers them.
enum Type { F32, F16, BF16 };

__attribute__((device)) static float from(const void* data, long long at, int type) {
    if (type == F32) return static_cast<const float*>(data)[at];
    if (type == F16) return static_cast<float>(static_cast<const _Float16*>(data)[at]);
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

// Matrices: `a` is m x k (k x m if a_transposed), `b` k x n (n x k), `c` m x n; lda, ldb, ldc elements from column to column.
// With `pointers`, a, b, c are arrays of one matrix per batch; otherwise batches are a_stride, b_stride, c_stride elements apart.
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 256))) void assay_gemm(
    const void* a, const void* b, void* c, long long a_stride, long long b_stride, long long c_stride, int m, int n, int k, int lda,
    int ldb, int ldc, float alpha, float beta, int a_type, int b_type, int c_type, int a_transposed, int b_transposed, int pointers) {
    int row = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    int column = __builtin_amdgcn_workgroup_id_y() * COLUMNS + __builtin_amdgcn_workitem_id_y();
    long long batch = __builtin_amdgcn_workgroup_id_z();
    if (row >= m || column >= n) return;
    if (pointers) {
        a = static_cast<const void* const*>(a)[batch];
        b = static_cast<const void* const*>(b)[batch];
        c = static_cast<void* const*>(c)[batch];
        a_stride = b_stride = c_stride = 0;
    }
    long long a_step = a_transposed ? 1 : lda, b_step = b_transposed ? ldb : 1;
    long long a_at = batch * a_stride + (a_transposed ? (long long)row * lda : row);
    long long b_at = batch * b_stride + (b_transposed ? column : (long long)column * ldb);
    float sum = 0;
    for (int at = 0; at < k; ++at) {
        sum = __builtin_fmaf(from(a, a_at, a_type), from(b, b_at, b_type), sum);
        a_at += a_step;
        b_at += b_step;
    }
    long long c_at = batch * c_stride + (long long)column * ldc + row;
    // With beta = 0, C is not read: it may hold anything.
    float value = alpha * sum;
    if (beta != 0) value += beta * from(c, c_at, c_type);
    to(c, c_at, c_type, value);
}
