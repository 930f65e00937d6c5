//! Steps that the block formats share: from bytes to small integers, and from these to floats.

/// `scale·code`, for each code.
#[inline]
pub fn scaled<const N: usize>(codes: &[i8; N], scale: f32, out: &mut [f32; N]) {
    for (value, &code) in out.iter_mut().zip(codes) {
        *value = scale * f32::from(code);
    }
}

/// `scale·code + offset`, for each code, the product exact and the sum rounded.
#[inline]
pub fn shifted<const N: usize>(codes: &[i8; N], scale: f32, offset: f32, out: &mut [f32; N]) {
    for (value, &code) in out.iter_mut().zip(codes) {
        *value = scale * f32::from(code) + offset;
    }
}

/// The codes of 16 bytes with two in each: the low nibbles, then the high nibbles.
#[inline]
pub fn nibbles(packed: &[u8; 16]) -> [u8; 32] {
    let mut codes = [0; 32];
    let (low, high) = codes.split_at_mut(16);
    for ((low, high), &byte) in low.iter_mut().zip(high).zip(packed) {
        (*low, *high) = (byte & 15, byte >> 4);
    }
    codes
}

/// `N` bytes of a block from `at` on.
#[inline]
pub fn field<const N: usize, const BYTES: usize>(block: &[u8; BYTES], at: usize) -> [u8; N] {
    std::array::from_fn(|i| block[at + i])
}
