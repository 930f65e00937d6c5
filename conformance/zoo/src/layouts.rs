//! Bugs about how operands lie in memory: strides that an implementation does not read, or takes from another dimension.

use kernels::{Arrangement, DeviceError, Layout, Stem};

use crate::mutant::{Mutant, Work};
use crate::values::kernel;

/// The caches of an op.
const CACHES: [&str; 2] = ["k_cache", "v_cache"];

/// The mutants.
pub fn mutants() -> Vec<Mutant> {
    vec![
        kernel(
            "attention-assumes-token-major",
            Stem::Attention,
            "the heads' stride is not read: slots enclose heads, whatever the strides say",
            |w| relaid(w, &CACHES, Arrangement::Permuted, token_major),
        ),
        kernel(
            "attention-head-stride-of-slots",
            Stem::Attention,
            "the stride of heads is taken from slots where heads enclose slots",
            |w| relaid(w, &CACHES, Arrangement::Permuted, |l| with(l, &[(2, l.stride(1))])),
        ),
        kernel(
            "attention-transposition-ignored",
            Stem::Attention,
            "keys and values by slots are read as rows",
            |w| relaid(w, &CACHES, Arrangement::Transposed, Layout::densified),
        ),
        kernel(
            "attention-transposed-pitch-of-slots",
            Stem::Attention,
            "elements of a transposed head are as far apart as there are slots, not as their stride says",
            |w| relaid(w, &CACHES, Arrangement::Transposed, |l| with(l, &[(3, l.dim(1))])),
        ),
        kernel(
            "kv-write-assumes-token-major",
            Stem::KvWrite,
            "the heads' stride is not read: slots enclose heads, whatever the strides say",
            |w| relaid(w, &CACHES, Arrangement::Permuted, token_major),
        ),
        kernel(
            "kv-write-transposition-ignored",
            Stem::KvWrite,
            "new tokens go to a transposed cache as rows",
            |w| relaid(w, &CACHES, Arrangement::Transposed, Layout::densified),
        ),
        kernel(
            "kv-write-transposed-padding-written",
            Stem::KvWrite,
            "a token goes behind the last slot of a transposed cache as well",
            padding_written,
        ),
        kernel(
            "matmul-square-columns-as-rows",
            Stem::Matmul,
            "column-major weights are read as row-major where there are as many rows as columns",
            |w| {
                let square = w.dim("weight", 0) == w.dim("weight", 1);
                let rows = |l: &Layout| with(l, &[(0, l.stride(1)), (1, 1)]);
                if square { relaid(w, &["weight"], Arrangement::Transposed, rows) } else { w.run() }
            },
        ),
        kernel(
            "copy-columns-pitch-of-rows",
            Stem::Copy,
            "columns are as far apart as there are rows, not as their stride says",
            |w| relaid(w, &["x"], Arrangement::Transposed, |l| with(l, &[(1, l.dim(0))])),
        ),
    ]
}

fn padding_written(w: &mut Work<'_>) -> Result<(), DeviceError> {
    w.run()?;
    let caches = CACHES.map(|name| w.operand(name).map(|o| o.layout));
    for (layout, bytes) in caches.into_iter().flatten().zip(&mut w.outputs) {
        let slots = layout.dim(1);
        if layout.is_transposed()
            && layout.stride(3) > slots
            && let Some(byte) = bytes.get_mut(layout.row_offset(&[0, slots, 0]))
        {
            *byte ^= 0xff;
        }
    }
    Ok(())
}

/// Runs the op with those of `names` that lie in memory as `found` lying as `taken_for` instead, which begins at the same byte.
fn relaid(
    w: &mut Work<'_>,
    names: &[&str],
    found: Arrangement,
    taken_for: impl Fn(&Layout) -> Layout,
) -> Result<(), DeviceError> {
    for name in names {
        w.change(name, |o| {
            if o.layout.arrangement() == found {
                o.layout = taken_for(&o.layout).at(o.layout.offset());
            }
        });
    }
    w.run()
}

/// The layout with other strides in some dimensions.
fn with(layout: &Layout, others: &[(usize, usize)]) -> Layout {
    let mut strides = layout.strides().to_vec();
    others.iter().for_each(|&(axis, stride)| strides[axis] = stride);
    Layout::strided(layout.dtype(), layout.shape(), &strides)
}

/// A head-major cache as if it were token-major, with rows as far apart.
fn token_major(layout: &Layout) -> Layout {
    let row = layout.stride(1);
    with(layout, &[(1, layout.dim(2) * row), (2, row)])
}
