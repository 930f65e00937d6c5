//! DPP: a first source that comes from other lanes.

use crate::isa::inst::{Dpp, DppCtrl};
use crate::memory::{Lanes, WAVE};

/// The lane that `lane` reads, if there is one.
fn source_lane(ctrl: DppCtrl, lane: usize) -> Option<usize> {
    let (row, within) = (lane & !15, lane & 15);
    match ctrl {
        DppCtrl::QuadPerm(select) => Some((lane & !3) + usize::from(select[lane & 3])),
        DppCtrl::RowShl(n) => within.checked_add(usize::from(n)).filter(|&at| at < 16).map(|at| row + at),
        DppCtrl::RowShr(n) => within.checked_sub(usize::from(n)).map(|at| row + at),
        DppCtrl::RowRor(n) => Some(row + ((within + 16 - usize::from(n)) & 15)),
        DppCtrl::WaveShl => (lane + 1 < WAVE).then_some(lane + 1),
        DppCtrl::WaveRol => Some((lane + 1) % WAVE),
        DppCtrl::WaveShr => lane.checked_sub(1),
        DppCtrl::WaveRor => Some((lane + WAVE - 1) % WAVE),
        DppCtrl::RowMirror => Some(row + 15 - within),
        DppCtrl::RowHalfMirror => Some((lane & !7) + 7 - (lane & 7)),
        DppCtrl::RowBcast15 => row.checked_sub(1),
        DppCtrl::RowBcast31 => (lane >= 32).then_some(31),
        DppCtrl::RowNewbcast(n) => Some(row + usize::from(n)),
    }
}

/// Permutes register `from` into `to`, and answers the lanes that write at all.
///
/// A lane whose source is outside of the permutation or inactive reads 0 under `bound_ctrl`, and otherwise does
/// not write. The row and bank masks leave lanes out, too.
pub(super) fn permute(file: &mut [Lanes], from: u16, to: u16, wide: bool, control: Dpp, exec: u64) -> u64 {
    let mut writing = 0;
    let (from, to) = (usize::from(from), usize::from(to));
    for lane in 0..WAVE {
        let enabled =
            (control.row_mask >> (lane / 16)) & 1 != 0 && (control.bank_mask >> ((lane % 16) / 4)) & 1 != 0;
        let source = source_lane(control.ctrl, lane).filter(|&source| (exec >> source) & 1 != 0);
        for half in 0..=usize::from(wide) {
            file[to + half][lane] = source.map_or(0, |source| file[from + half][source]);
        }
        if enabled && (source.is_some() || control.bound_ctrl) {
            writing |= 1 << lane;
        }
    }
    writing
}
