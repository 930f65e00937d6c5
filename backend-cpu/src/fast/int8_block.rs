//! Activations quantised to 8 bits, as the kernels read them.

/// Values that share a scale.
pub const INT8_BLOCK: usize = 32;

/// [`INT8_BLOCK`] activations of a row: integers in −127..=127 with one f32 scale, `max|x| / 127`.
#[derive(Clone, Copy, Debug)]
pub struct Int8Block {
    /// The integers, as i8, four to an i32.
    pub quads: [i32; 8],
    /// Factor on the integers.
    pub scale: f32,
    /// Sums of the first and of the second 16 integers.
    pub sums: [i32; 2],
    /// Sum of all integers, times the scale.
    pub scaled_sum: f32,
    /// Initial values of the integer sums with a group of weights: they cancel what the bias of the codes adds. One for each half of the
    /// group if the halves have integer factors of their own, else the first is for both.
    pub initial_sums: [i32; 2],
}

impl Int8Block {
    /// All zero.
    pub const ZERO: Int8Block =
        Int8Block { quads: [0; 8], scale: 0.0, sums: [0; 2], scaled_sum: 0.0, initial_sums: [0; 2] };
}
