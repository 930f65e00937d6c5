//! Smaller ops: parts of a record that are records again.
//!
//! [`kernels::Axis`] says along which dimensions an op falls into independent or at least meaningful parts, and takes one.
//! [`shrink`] makes a failing op as small as it can and [`around`] keeps what lies around one element of an output.

use std::ops::Range;

use kernels::{Layout, Record, Role, Stem};

/// Attempts after which shrinking stops.
const ATTEMPTS: usize = 600;

/// Bytes in all buffers of a record.
pub fn size(record: &Record) -> usize {
    record.operands().iter().map(|o| o.bytes.len()).sum()
}

/// The smallest part of `record` found for which `fails` still holds, or the first of at most `enough` bytes. It is asked about
/// smaller records only.
pub fn shrink(record: &Record, enough: usize, mut fails: impl FnMut(&Record) -> bool) -> Record {
    let mut smallest = record.clone();
    let mut attempts = 0;
    let mut attempt = |candidate: Option<Record>, smallest: &mut Record, attempts: &mut usize| {
        let Some(candidate) = candidate.filter(|c| size(c) < size(smallest)) else { return false };
        *attempts += 1;
        let smaller = *attempts <= ATTEMPTS && fails(&candidate);
        if smaller {
            *smallest = candidate;
        }
        smaller
    };
    loop {
        let before = size(&smallest);
        attempt(compact(&smallest), &mut smallest, &mut attempts);
        for axis in record.stem.facts().axes {
            while attempts < ATTEMPTS && size(&smallest) > enough {
                let candidates = axis.parts(&smallest);
                let found = candidates
                    .into_iter()
                    .any(|range| attempt(axis.slice(&smallest, range), &mut smallest, &mut attempts));
                if !found {
                    break;
                }
            }
        }
        if size(&smallest) == before || size(&smallest) <= enough || attempts >= ATTEMPTS {
            return smallest;
        }
    }
}

/// A part of an op around an element of its outputs.
#[derive(Clone, PartialEq, Debug)]
pub struct Part {
    /// The part.
    pub record: Record,
    /// What was left out, in words.
    pub cut: String,
    /// Dimensions of the outputs that were cut, and the entries that are kept.
    kept: Vec<(usize, Range<usize>)>,
}

impl Part {
    /// The part's share of an output that lies dense in `bytes` as `layout` says.
    pub fn of_output(&self, layout: &Layout, bytes: &[u8]) -> Option<(Layout, Vec<u8>)> {
        let whole = Some(*layout);
        let part = self.kept.iter().fold(whole, |l, (dim, range)| l?.part(*dim, range.clone()))?;
        Some((part.densified(), part.gather(bytes, 0)?))
    }
}

/// The part of `record` around element `index` of its outputs that fits into `limit` bytes; `None` where the record fits as
/// it is, or no part of it does.
pub fn around(record: &Record, index: &[usize], limit: usize) -> Option<Part> {
    if size(record) <= limit {
        return None;
    }
    let mut part = record.clone();
    let (mut words, mut kept) = (Vec::new(), Vec::new());
    if let Some(compact) = compact(&part) {
        words.push(format!(
            "rows of the table that are used and their neighbours, {} bytes of {}",
            size(&compact),
            size(&part)
        ));
        part = compact;
    }
    for axis in record.stem.facts().axes.iter().filter(|axis| axis.is_independent()) {
        let Some(dim) = axis.of_output(&part) else { continue };
        let Some(mut at) = index.get(dim).copied() else { continue };
        let group = axis.group(&part);
        let (extent, mut first) = (axis.extent(&part), 0);
        while size(&part) > limit {
            let Some((range, inside)) = axis.half_around(&part, at) else { break };
            let Some(smaller) = axis.slice(&part, range.clone()) else { break };
            (part, at, first) = (smaller, inside, first + range.start);
        }
        let left = axis.extent(&part);
        if left < extent {
            words.push(format!("{} {first}..{} of {extent}", axis.name, first + left));
            kept.push((dim, first * group..(first + left) * group));
        }
    }
    (size(&part) <= limit && !words.is_empty()).then(|| {
        let cut = format!("only part of the op is kept, around its worst element: {}", words.join(", "));
        Part { record: part, cut, kept }
    })
}

/// An embedding with those rows of its table alone that it looks up, and their neighbours: an index that is off by one stays
/// inside and finds what it found.
fn compact(record: &Record) -> Option<Record> {
    if record.stem != Stem::Embed {
        return None;
    }
    let ids = record.find("ids")?;
    let values: Vec<u32> = bytemuck::pod_collect_to_vec(&ids.layout.gather(&ids.bytes, 0)?);
    let rows = record.find("table")?.layout.dim(0);
    let near = |id: &u32| [id.checked_sub(1), Some(*id), id.checked_add(1)];
    let mut used: Vec<u32> =
        values.iter().flat_map(near).flatten().filter(|id| (*id as usize) < rows).collect();
    used.sort_unstable();
    used.dedup();
    let mut small = Record::new(record.stem);
    small.params.clone_from(&record.params);
    for operand in record.operands() {
        let shape = operand.layout.shape();
        small = match operand.name.as_str() {
            "table" => {
                let rows: Vec<_> = operand.layout.rows().collect();
                let bytes: Option<Vec<&[u8]>> =
                    used.iter().map(|&id| operand.bytes.get(rows.get(id as usize)?.clone())).collect();
                let layout = Layout::contiguous(operand.layout.dtype(), &[used.len(), shape[1]]);
                small.operand(&operand.name, operand.role, layout, bytes?.concat())
            }
            "ids" => {
                let renamed: Vec<u32> = values
                    .iter()
                    .map(|id| used.binary_search(id).ok().and_then(|at| u32::try_from(at).ok()))
                    .collect::<Option<_>>()?;
                let layout = operand.layout.densified();
                small.operand(&operand.name, operand.role, layout, bytemuck::cast_slice(&renamed).to_vec())
            }
            _ if operand.blank => small.blank(&operand.name, operand.layout, operand.bytes.clone()),
            _ => small.operand(&operand.name, operand.role, operand.layout, operand.bytes.clone()),
        };
    }
    debug_assert!(small.operands().iter().any(|o| o.role == Role::Output));
    Some(small)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::{DType, Layout};

    fn matmul(m: usize, n: usize, k: usize) -> Record {
        let f32s =
            |len: usize| bytemuck::cast_slice(&(0..len).map(|i| i as f32).collect::<Vec<_>>()).to_vec();
        let blocks: Vec<u8> = (0..n * k / 32 * 20).map(|i| u8::try_from(i % 251).unwrap()).collect();
        Record::new(Stem::Matmul)
            .operand("x", Role::Input, Layout::contiguous(DType::F32, &[m, k]), f32s(m * k))
            .operand("weight", Role::Input, Layout::contiguous(DType::Q4_1, &[n, k]), blocks)
            .blank("out", Layout::contiguous(DType::F32, &[m, n]), vec![0; 4 * m * n])
    }

    #[test]
    fn a_matmul_shrinks_to_one_block_of_one_row() {
        let record = matmul(7, 96, 128);
        let small = shrink(&record, 0, |_| true);
        assert_eq!(small.find("x").unwrap().layout.shape(), [1, 32]);
        assert_eq!(small.find("weight").unwrap().layout.shape(), [1, 32]);
        assert_eq!(small.find("out").unwrap().layout.shape(), [1, 1]);
    }

    #[test]
    fn what_is_small_enough_stays_as_it_is() {
        let record = matmul(7, 4096, 128);
        let mut asked = 0;
        let part = shrink(&record, 100_000, |_| {
            asked += 1;
            true
        });
        assert!((50_000..=100_000).contains(&size(&part)) && asked < 8, "{} after {asked}", size(&part));
    }

    #[test]
    fn what_must_stay_stays() {
        let record = matmul(7, 96, 128);
        let last = |r: &Record| {
            // Row 5 of x starts with 640.
            let x = r.find("x").unwrap();
            bytemuck::pod_collect_to_vec::<u8, f32>(&x.bytes).contains(&640.0)
        };
        let small = shrink(&record, 0, last);
        assert!(last(&small));
        assert_eq!(small.find("x").unwrap().layout.shape(), [1, 32]);
    }

    #[test]
    fn a_large_op_is_cut_around_an_element() {
        let record = matmul(2, 4096, 64);
        let part = around(&record, &[1, 4000], 40_000).unwrap();
        let (cut, small) = (&part.cut, &part.record);
        assert!(size(small) <= 40_000, "{}", size(small));
        let n = small.find("weight").unwrap().layout.dim(0);
        assert!(n < 4096 && cut.ends_with("of 4096"), "{cut}");
        let (start, end) =
            cut.split_once("n ").unwrap().1.split_once(" of").unwrap().0.split_once("..").unwrap();
        let kept = start.parse::<usize>().unwrap()..end.parse().unwrap();
        assert!(kept.contains(&4000), "{cut}");
        let whole: Vec<f32> = (0..2 * 4096u16).map(f32::from).collect();
        let (layout, bytes) =
            part.of_output(&record.find("out").unwrap().layout, bytemuck::cast_slice(&whole)).unwrap();
        assert_eq!(layout.shape(), small.find("out").unwrap().layout.shape());
        let last: f32 = *bytemuck::pod_collect_to_vec::<u8, f32>(&bytes).last().unwrap();
        assert_eq!(last.to_bits(), whole[4096 + kept.end - 1].to_bits());
        assert!(around(&record, &[0, 0], 1 << 20).is_none());
    }

    #[test]
    fn an_embedding_keeps_the_rows_it_uses() {
        let table: Vec<f32> = (0..40u8).map(f32::from).collect();
        let record = Record::new(Stem::Embed)
            .operand(
                "table",
                Role::Input,
                Layout::contiguous(DType::F32, &[10, 4]),
                bytemuck::cast_slice(&table).to_vec(),
            )
            .operand(
                "ids",
                Role::Indices,
                Layout::contiguous(DType::U32, &[3]),
                bytemuck::cast_slice(&[9u32, 2, 9]).to_vec(),
            )
            .blank("out", Layout::contiguous(DType::F32, &[3, 4]), vec![0; 48]);
        let small = compact(&record).unwrap();
        // Rows 2 and 9, and 1, 3 and 8 beside them.
        assert_eq!(small.find("table").unwrap().layout.shape(), [5, 4]);
        let answer = |r: &Record| conformance::oracle::answers(r, &kernels::Numerics::F64).unwrap();
        assert_eq!(answer(&small), answer(&record));
    }
}
