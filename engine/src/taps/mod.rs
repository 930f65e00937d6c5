//! Taps: the intermediate results of a forward pass, at named points.
//!
//! The [points](Point) are in the order in which the model computes them. A [`TapSink`] says which ones it wants, and only
//! those are read back from the device: without taps nothing is copied and nothing waits. [`TapFile`] writes the points of a
//! [`Selection`] to a safetensors file as they are computed.

mod file;
mod selection;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

pub use file::TapFile;
pub use kernels::Phase;
pub use selection::{Selection, SelectionError};

/// Declares the points with their names and whether they belong to a layer, in the order in which they are computed.
macro_rules! points {
    ($($(#[$about:meta])* $Point:ident $name:literal $in_layer:literal,)+) => {
        /// A trace point.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Point { $($(#[$about])* $Point,)+ }

        impl Point {
            /// All of them, in the order in which they are computed.
            pub const ALL: &[Point] = &[$(Point::$Point,)+];

            /// Name on the command line and in files.
            pub const fn name(self) -> &'static str {
                match self { $(Point::$Point => $name,)+ }
            }

            /// True for a point that every layer has, false for one that the model has once.
            pub const fn in_layer(self) -> bool {
                match self { $(Point::$Point => $in_layer,)+ }
            }
        }
    };
}

points! {
    /// The embedded tokens, `[rows, n_embd]`.
    EmbedOut "embed_out" false,
    /// The residual stream before the layer, `[rows, n_embd]`.
    XIn "x_in" true,
    /// Normalised for attention, `[rows, n_embd]`.
    AttnNorm "attn_norm" true,
    /// Queries with their bias, `[rows, n_head·head_dim]`.
    Q "q" true,
    /// Keys with their bias, `[rows, n_kv_head·head_dim]`.
    K "k" true,
    /// Values with their bias, `[rows, n_kv_head·head_dim]`.
    V "v" true,
    /// Queries after the norm of `qwen3`, `[rows, n_head, head_dim]`; other models have no such point.
    QNorm "q_norm" true,
    /// Keys after the norm of `qwen3`, `[rows, n_kv_head, head_dim]`; other models have no such point.
    KNorm "k_norm" true,
    /// Rotated queries, `[rows, n_head, head_dim]`.
    QRope "q_rope" true,
    /// Rotated keys, `[rows, n_kv_head, head_dim]`.
    KRope "k_rope" true,
    /// What the cache holds for the rows, decoded: keys, then values, `[2, rows, n_kv_head, head_dim]`.
    KvWrite "kv_write" true,
    /// Output of attention, `[rows, n_head, head_dim]`.
    AttnOut "attn_out" true,
    /// Attention's output projected, `[rows, n_embd]`.
    WoOut "wo_out" true,
    /// The residual stream after attention, `[rows, n_embd]`.
    XAfterAttn "x_after_attn" true,
    /// Normalised for the feed-forward part, `[rows, n_embd]`.
    FfnNorm "ffn_norm" true,
    /// `[rows, n_ff]`.
    Gate "gate" true,
    /// `[rows, n_ff]`.
    Up "up" true,
    /// `silu(gate)·up`, `[rows, n_ff]`.
    Act "act" true,
    /// The feed-forward part's output, `[rows, n_embd]`.
    MlpOut "mlp_out" true,
    /// The residual stream after the layer, `[rows, n_embd]`.
    XOut "x_out" true,
    /// Normalised for the logits, only the rows that have logits, `[outputs, n_embd]`.
    FinalNorm "final_norm" false,
    /// `[outputs, vocab]`.
    Logits "logits" false,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no trace point has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown trace point '{0}'; the points are {all}", all = Point::ALL.iter().map(|p| p.name()).collect::<Vec<_>>().join(", "))]
pub struct UnknownPoint(String);

impl FromStr for Point {
    type Err = UnknownPoint;

    fn from_str(name: &str) -> Result<Self, UnknownPoint> {
        Point::ALL.iter().copied().find(|p| p.name() == name).ok_or_else(|| UnknownPoint(name.to_owned()))
    }
}

/// One intermediate result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tap<'a> {
    /// The trace point.
    pub point: Point,
    /// Layer, for points inside one.
    pub layer: Option<usize>,
    /// Step of the generation: 0 for the prompt, then 1, 2, ….
    pub step: usize,
    /// Prefill or decode.
    pub phase: Phase,
    /// Sequence of each row.
    pub seqs: &'a [u32],
    /// Position of each row.
    pub positions: &'a [u32],
    /// Shape, outermost dimension first.
    pub shape: &'a [usize],
    /// The values in row-major order.
    pub values: &'a [f32],
}

/// A tap that could not be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TapError {
    /// The file could not be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Two taps of one name: the same rows went through the same step twice.
    #[error("tap '{name}' was recorded twice")]
    Twice {
        /// Its name.
        name: String,
    },
}

/// Receives intermediate results.
pub trait TapSink {
    /// True if the sink wants `point` of `layer`. Called before anything is copied.
    fn wants(&self, point: Point, layer: Option<usize>) -> bool;

    /// Receives one result that the sink wants.
    fn record(&mut self, tap: &Tap<'_>) -> Result<(), TapError>;
}

/// Wants nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoTaps;

impl TapSink for NoTaps {
    fn wants(&self, _: Point, _: Option<usize>) -> bool {
        false
    }

    fn record(&mut self, _: &Tap<'_>) -> Result<(), TapError> {
        Ok(())
    }
}
