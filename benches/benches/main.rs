//! Every op at the sizes of a real model: one module per op, one program for all.
//!
//! `cargo bench -p assay-benches --bench ops` runs them all, with `-- rope` those of one op.

use criterion::Criterion;

/// Declares a module per op, with its `bench`.
macro_rules! ops {
    ($($op:ident $Op:ident,)+) => {
        $(mod $op;)+

        /// Each op's stem and benches.
        const OPS: &[(&str, fn(&mut Criterion))] = &[$((stringify!($op), $op::bench)),+];
    };
}
kernels::for_each_op!(ops);

fn main() {
    // Data is made before criterion looks at its filter, so a filter that is a stem selects here.
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let stem = filter.as_deref().and_then(|filter| filter.split('/').next());
    let named = OPS.iter().any(|(op, _)| Some(*op) == stem);
    assay_benches::run(|criterion| {
        OPS.iter().filter(|(op, _)| !named || Some(*op) == stem).for_each(|(_, bench)| bench(criterion));
    });
}
