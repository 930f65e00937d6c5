//! Ops with transposed inputs, by implementations that take rows in one piece.

use super::copy::Copy;
use super::{Op, OpForm, Rebind, Role};
use crate::{Buffer, Layout, View, ViewMut};

impl<'a, B: Buffer + 'a> Op<'a, B> {
    /// True where an input is transposed.
    pub fn has_transposed_inputs(&self) -> bool {
        let mut found = false;
        self.visit(&mut |operand| found |= operand.role == Role::Input && operand.layout.is_transposed());
        found
    }

    /// Runs this op with dense rows in the place of its transposed inputs, which are copied before it to buffers of their own. That
    /// moves each of their elements twice more than the op itself does.
    ///
    /// `alloc` makes a buffer, given its bytes and what it is for; `run` runs an op after those that it was given before, and takes a
    /// [`Op::Copy`] whose `x` is transposed. Buffers are dropped when all are given.
    pub fn in_rows<E>(
        mut self,
        mut alloc: impl FnMut(usize, &str) -> Result<B, E>,
        mut run: impl FnMut(Op<'_, B>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut copied = Vec::new();
        for operand in self.operands() {
            if operand.role != Role::Input || !operand.layout.is_transposed() {
                continue;
            }
            let layout = operand.layout.densified();
            let bytes = layout.byte_range().map_or(0, |range| range.len());
            let mut buffer = alloc(bytes, &format!("rows of {}", operand.buffer.label()))?;
            for [x, out] in matrices(&operand.layout, &layout) {
                let (x, out) = (View::new(operand.buffer, x), ViewMut::new(&mut buffer, out));
                run(Op::Copy(Copy { x, out }))?;
            }
            copied.push(Copied { name: operand.name, layout, buffer });
        }
        run(self.rebind(&mut Rows(&copied)))
    }
}

impl OpForm {
    /// The form with dense rows in the place of transposed inputs.
    #[must_use]
    pub fn in_rows(&self) -> Self {
        let mut form = self.clone();
        for (_, role, layout) in &mut form.operands {
            if *role == Role::Input && layout.is_transposed() {
                *layout = layout.densified();
            }
        }
        form
    }
}

/// An input in rows.
struct Copied<B> {
    name: &'static str,
    layout: Layout,
    buffer: B,
}

/// Puts the copies in the place of their originals.
struct Rows<'s, B>(&'s [Copied<B>]);

impl<'s, B> Rebind<'s, B, B> for Rows<'s, B> {
    fn view(&mut self, name: &'static str, view: View<'s, B>) -> View<'s, B> {
        let copied = self.0.iter().find(|copied| copied.name == name);
        copied.map_or(view, |copied| View::new(&copied.buffer, copied.layout))
    }

    fn view_mut(&mut self, _: &'static str, view: ViewMut<'s, B>) -> ViewMut<'s, B> {
        view
    }
}

/// A transposed tensor and a dense one of its shape as pairs of matrices. The rows of a matrix are the dimension that is innermost in
/// memory; its columns are the last dimension, and the one before where both tensors have the two as one.
fn matrices(from: &Layout, to: &Layout) -> Vec<[Layout; 2]> {
    let Some(inner) = from.rank().checked_sub(1) else { return Vec::new() };
    let long = |axis: &usize| from.dim(*axis) > 1;
    let rows = (0..inner).filter(long).min_by_key(|&axis| from.stride(axis)).unwrap_or(0);
    let before = inner.saturating_sub(1);
    let joined = |l: &Layout| l.stride(before) == l.dim(inner).saturating_mul(l.stride(inner));
    let join = before != rows && before < inner && joined(from) && joined(to);
    let columns = from.dim(inner) * if join { from.dim(before) } else { 1 };
    let rest: Vec<usize> = (0..inner).filter(|&axis| axis != rows && !(join && axis == before)).collect();
    let count: usize = rest.iter().map(|&axis| from.dim(axis)).product();
    let nth = |mut nth: usize| {
        let mut index = vec![0; inner];
        for &axis in rest.iter().rev() {
            index[axis] = nth % from.dim(axis);
            nth /= from.dim(axis);
        }
        [from, to].map(|l| {
            let shape = [l.dim(rows), columns];
            let strides = [l.stride(rows), l.stride(inner)];
            Layout::strided(l.dtype(), &shape, &strides).at(l.row_offset(&index))
        })
    };
    (0..count).map(nth).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    /// The first byte of each element of either tensor, as the pairs of matrices pair them.
    fn met(from: &Layout, to: &Layout) -> Vec<(usize, usize)> {
        let elements = |layout: &Layout| {
            let rows: Vec<_> = layout.rows().collect();
            rows.into_iter().flat_map(|row| row.step_by(layout.dtype().block_bytes())).collect::<Vec<_>>()
        };
        let pairs = matrices(from, to);
        let mut met: Vec<_> =
            pairs.iter().flat_map(|[x, out]| elements(x).into_iter().zip(elements(out))).collect();
        met.sort_by_key(|(_, out)| *out);
        met
    }

    #[test]
    fn matrices_pair_each_element_of_a_transposed_tensor_with_its_own_in_rows() {
        for (shape, strides, count) in [
            (vec![3, 5], vec![1, 4], 1),
            // Slots innermost, heads packed or apart.
            (vec![2, 7, 3, 4], vec![96, 1, 32, 8], 2),
            (vec![2, 7, 3, 4], vec![120, 1, 40, 8], 6),
            (vec![1, 1, 3, 4], vec![96, 1, 32, 8], 1),
        ] {
            let from = Layout::strided(DType::F16, &shape, &strides).at(6);
            let to = from.densified();
            assert_eq!(matrices(&from, &to).len(), count, "{from:?}");
            let places = from.rows().map(|row| row.start);
            let all: Vec<_> = places.zip((0..to.elements().unwrap()).map(|nth| 2 * nth)).collect();
            assert_eq!(met(&from, &to), all, "{from:?}");
        }
    }
}
