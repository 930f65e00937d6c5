//! Ops on floats shorter than f32, by implementations that take f32.

use super::cast::Cast;
use super::{Op, OpForm, Rebind, Role};
use crate::{Buffer, DType, Layout, View, ViewMut};

impl<'a, B: Buffer + 'a> Op<'a, B> {
    /// True where an operand of type *float* is shorter than f32.
    pub fn has_short_floats(&self) -> bool {
        let floats = self.stem().facts().floats;
        let mut found = false;
        self.visit(&mut |operand| {
            let short = matches!(operand.layout.dtype(), DType::F16 | DType::BF16);
            found |= short && floats.contains(&operand.name);
        });
        found
    }

    /// Runs this op with f32 in the place of its shorter floats: inputs are cast before it, to buffers of their own, and outputs after
    /// it. The results are rounded to f32 and then to the output's type, which the bounds of the op pages allow for.
    ///
    /// `alloc` makes a buffer, given its bytes and what it is for; `run` runs an op after those that it was given before. Buffers are
    /// dropped when all are given.
    pub fn widened<E>(
        mut self,
        mut alloc: impl FnMut(usize, &str) -> Result<B, E>,
        mut run: impl FnMut(Op<'_, B>) -> Result<(), E>,
    ) -> Result<(), E> {
        let form = self.form();
        let mut wide = Vec::new();
        for operand in self.operands() {
            if !form.is_short_float(operand.name, &operand.layout) {
                continue;
            }
            let layout = Layout::contiguous(DType::F32, operand.layout.shape());
            let bytes = layout.byte_range().map_or(0, |range| range.len());
            let mut buffer = alloc(bytes, &format!("{} in f32", operand.buffer.label()))?;
            if operand.role == Role::Input || form.reads_outputs() {
                let from = View::new(operand.buffer, operand.layout);
                cast(from, &mut ViewMut::new(&mut buffer, layout), &mut run)?;
            }
            wide.push(Wide { name: operand.name, role: operand.role, layout, buffer });
        }
        run(self.rebind(&mut Widen(wide.iter_mut().map(Some).collect())))?;
        let names: Vec<_> =
            self.operands().iter().filter(|o| o.role == Role::Output).map(|o| o.name).collect();
        for (name, mut out) in names.into_iter().zip(self.into_outputs()) {
            if let Some(wide) = wide.iter().find(|wide| wide.name == name && wide.role == Role::Output) {
                cast(View::new(&wide.buffer, wide.layout), &mut out, &mut run)?;
            }
        }
        Ok(())
    }
}

impl OpForm {
    /// The operands of type *float* that are shorter than f32.
    pub fn short_floats(&self) -> impl Iterator<Item = (&str, &Layout)> {
        let named = self.operands.iter().map(|(name, _, layout)| (name.as_str(), layout));
        named.filter(|(name, layout)| self.is_short_float(name, layout))
    }

    fn is_short_float(&self, name: &str, layout: &Layout) -> bool {
        self.stem.facts().floats.contains(&name) && layout.dtype() != DType::F32
    }
}

/// An operand in f32.
struct Wide<B> {
    name: &'static str,
    role: Role,
    layout: Layout,
    buffer: B,
}

/// Puts operands in f32 in the place of their shorter originals; each is taken once.
struct Widen<'s, B>(Vec<Option<&'s mut Wide<B>>>);

impl<'s, B> Widen<'s, B> {
    fn take(&mut self, name: &str) -> Option<&'s mut Wide<B>> {
        self.0.iter_mut().find(|wide| wide.as_ref().is_some_and(|wide| wide.name == name))?.take()
    }
}

impl<'s, B> Rebind<'s, B, B> for Widen<'s, B> {
    fn view(&mut self, name: &'static str, view: View<'s, B>) -> View<'s, B> {
        self.take(name).map_or(view, |wide| View::new(&wide.buffer, wide.layout))
    }

    fn view_mut(&mut self, name: &'static str, view: ViewMut<'s, B>) -> ViewMut<'s, B> {
        match self.take(name) {
            Some(wide) => ViewMut::new(&mut wide.buffer, wide.layout),
            None => view,
        }
    }
}

/// Casts a tensor, matrix by matrix.
fn cast<B, E>(
    from: View<'_, B>,
    to: &mut ViewMut<'_, B>,
    run: &mut impl FnMut(Op<'_, B>) -> Result<(), E>,
) -> Result<(), E> {
    for [x, out] in matrices([from.layout, to.layout]) {
        let (x, out) = (View::new(from.buffer, x), ViewMut::new(&mut *to.buffer, out));
        run(Op::Cast(Cast { x, out }))?;
    }
    Ok(())
}

/// Two tensors of one shape and at most three dimensions as pairs of matrices: as one where strides permit, or else along the shorter
/// of the outer dimensions.
fn matrices(layouts: [Layout; 2]) -> Vec<[Layout; 2]> {
    let matrix = |layout: &Layout, at: usize, shape: [usize; 2], stride: usize| {
        Layout::strided(layout.dtype(), &shape, &[stride, 1]).at(at)
    };
    let (rank, shape) = (layouts[0].rank(), layouts[0].shape());
    let n = layouts[0].dim(rank.saturating_sub(1));
    match *shape {
        [_, _] => vec![layouts],
        [planes, rows, _] => {
            let joined = |l: &Layout| planes == 1 || l.stride(0) == rows.saturating_mul(l.stride(1));
            if layouts.iter().all(joined) {
                let all = |l: &Layout| matrix(l, l.offset(), [planes * rows, n], l.stride(1));
                return vec![layouts.each_ref().map(all)];
            }
            let (along, count, other) = if planes < rows { (0, planes, 1) } else { (1, rows, 0) };
            let nth = |i: usize| {
                let index = if along == 0 { [i, 0] } else { [0, i] };
                layouts
                    .each_ref()
                    .map(|l| matrix(l, l.row_offset(&index), [l.dim(other), n], l.stride(other)))
            };
            (0..count).map(nth).collect()
        }
        _ => vec![layouts.each_ref().map(|l| matrix(l, l.offset(), [1, n], n))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_whose_planes_follow_one_another_is_one_matrix() {
        let dense = Layout::contiguous(DType::F16, &[5, 3, 8]);
        let wide = Layout::contiguous(DType::F32, &[5, 3, 8]);
        let joined = [DType::F16, DType::F32].map(|dtype| Layout::strided(dtype, &[15, 8], &[8, 1]));
        assert_eq!(matrices([dense, wide]), [joined]);
    }

    #[test]
    fn matrices_cover_each_element_of_a_strided_tensor_once() {
        for shape in [[5, 3, 8], [2, 7, 8], [1, 4, 8]] {
            let padded = Layout::strided(DType::F16, &shape, &[shape[1] * 10 + 6, 10, 1]).at(4);
            let dense = Layout::contiguous(DType::F32, &shape);
            let pairs = matrices([padded, dense]);
            let rows = |nth: usize| pairs.iter().flat_map(move |pair| pair[nth].rows()).collect::<Vec<_>>();
            // In either tensor the same rows stand side by side, in some order.
            let mut met: Vec<_> = rows(0).into_iter().zip(rows(1)).collect();
            met.sort_by_key(|(_, dense)| dense.start);
            assert_eq!(met, padded.rows().zip(dense.rows()).collect::<Vec<_>>(), "{shape:?}");
        }
    }
}
