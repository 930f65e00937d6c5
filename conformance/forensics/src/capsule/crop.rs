//! The capsule of an op of a run, cropped to a size that can be sent.

use kernels::decor::Seen;
use kernels::{Backend, Buffer, DeviceError, Layout, OperandRef, Pending, Record, Site, Stem};

use super::{Capsule, Origin, right_answers};
use crate::reduce;

/// Bytes of the buffers of a capsule; a larger op is cropped. Exact results in f64 are up to as much again.
pub const LIMIT: usize = 2 << 20;

/// An output as the backend gave it.
#[derive(Clone, PartialEq, Debug)]
pub struct Given {
    /// Name of the operand.
    pub name: String,
    /// Type and shape.
    pub layout: Layout,
    /// Elements in row-major order.
    pub elements: Vec<u8>,
}

/// The capsule of `record`, an op as it was before it ran, with its outputs. An op larger than [`LIMIT`] is cropped around
/// element `index` of its outputs; an op without outputs is not, since it may have failed by the extent of its buffers.
pub fn cropped(name: String, record: &Record, given: &[Given], index: &[usize], origin: Origin) -> Capsule {
    let part = if given.is_empty() { None } else { reduce::around(record, index, LIMIT) };
    let (record, cut, given) = match part {
        Some(part) => {
            let of_part = |g: &Given| Some((g.name.clone(), part.of_output(&g.layout, &g.elements)?.1));
            let given = given.iter().filter_map(of_part).collect();
            (part.record, Some(part.cut), given)
        }
        None => (record.clone(), None, given.iter().map(|g| (g.name.clone(), g.elements.clone())).collect()),
    };
    let expected = right_answers(&record);
    Capsule { name, record, expected, observed: given, origin: Some(Origin { cut, ..origin }) }
}

/// What the capsule of the op at `site` is called.
pub fn name(stem: Stem, site: &Site) -> String {
    let layer = site.layer.map_or(String::new(), |l| format!("layer{l}-"));
    format!("step{}-{layer}{}-{stem}", site.step, site.point)
}

/// The elements of an operand, as they are on the device.
pub fn elements<D: Backend>(
    seen: &Seen<'_, D>,
    operand: &OperandRef<'_, D::Buffer>,
) -> Result<Vec<u8>, DeviceError> {
    let range = operand.layout.byte_range().unwrap_or(0..0);
    let start = range.start;
    let bytes = seen
        .backend
        .read_bytes(seen.stream, operand.buffer, range, &Site::outside(operand.buffer.label().to_owned()))?
        .wait()?;
    let short = || DeviceError::ShortCopy {
        want: operand.layout.byte_range().map_or(0, |r| r.len()),
        got: bytes.len(),
    };
    operand.layout.gather(&bytes, start).ok_or_else(short)
}
