//! However the chunks of a cache are run, and in whatever company, a row of attention has the same bits.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod rig;

use kernels::ops::Attention;
use kernels::{Backend as _, DType, Layout, Site, View, ViewMut};
use rig::Rig;

const SLOTS: usize = 1024;
const DIM: usize = 8;

/// Output of the rows `(sequence, position)`, of which each has `heads` heads on `kv_heads` cached ones.
fn attend(
    rig: &Rig,
    places: &[(u32, u32)],
    [heads, kv_heads]: [usize; 2],
    window: Option<usize>,
) -> Vec<Vec<u32>> {
    let cache = Layout::contiguous(DType::F32, &[2, SLOTS, kv_heads, DIM]);
    let elements = cache.elements().unwrap();
    let (k, v) = (rig.numbers(elements, "k"), rig.numbers(elements + 1, "v"));
    // A row's query depends on its place alone.
    let all = rig::numbers(2 * SLOTS + heads * DIM);
    let queries: Vec<f32> = places
        .iter()
        .flat_map(|&(seq, position)| {
            let start = (seq as usize + 1) * position as usize;
            all[start..start + heads * DIM].to_vec()
        })
        .collect();
    let q = rig.upload(bytemuck::cast_slice(&queries), "q");
    let (seqs, positions): (Vec<u32>, Vec<u32>) = places.iter().copied().unzip();
    let seqs = rig.backend.indices(&rig.stream, &seqs, "seqs").unwrap();
    let positions = rig.backend.indices(&rig.stream, &positions, "positions").unwrap();
    let shape = Layout::contiguous(DType::F32, &[places.len(), heads, DIM]);
    let mut out = rig.room(queries.len(), "out");
    let op = Attention {
        q: View::new(&q, shape),
        k_cache: View::new(&k, cache),
        v_cache: View::new(&v, cache),
        seqs: seqs.all(),
        positions: positions.all(),
        out: ViewMut::new(&mut out, shape),
        scale: 1.0,
        window,
        softcap: None,
    };
    rig.run(op.validate().unwrap());
    let read =
        rig.backend.read(&rig.stream, View::new(&out, shape), &Site::outside("out")).unwrap().wait().unwrap();
    let bits: Vec<u32> = bytemuck::pod_collect_to_vec(read.bytes());
    bits.chunks(heads * DIM).map(<[u32]>::to_vec).collect()
}

#[test]
fn a_row_alone_in_parts_has_the_bits_of_a_row_among_many_in_one_piece() {
    let rig = Rig::new();
    // 76 cached heads times 8 rows of changing sequence are as many blocks as fill a GPU: no chunk runs on its own.
    let places: Vec<(u32, u32)> = (0..8).map(|row| (row % 2, 254 + 2 * (row / 2))).collect();
    let together = attend(&rig, &places, [76, 76], None);
    let before = rig.backend.software_device().unwrap().counters().launches;
    for (place, want) in places.iter().zip(&together) {
        assert_eq!(&attend(&rig, &[*place], [76, 76], None)[0], want, "row at {place:?}");
    }
    let launches = rig.backend.software_device().unwrap().counters().launches - before;
    assert_eq!(launches, 2 + 2 * 6, "positions from 256 on have parts to join");
}

#[test]
fn rows_in_one_block_have_the_bits_of_rows_alone() {
    let rig = Rig::new();
    let places: Vec<(u32, u32)> = (0..12).map(|row| (u32::from(row >= 9), 500 + 3 * row)).collect();
    for window in [None, Some(1), Some(300)] {
        let together = attend(&rig, &places, [6, 2], window);
        for (place, want) in places.iter().zip(&together) {
            assert_eq!(
                &attend(&rig, &[*place], [6, 2], window)[0],
                want,
                "row at {place:?}, window {window:?}"
            );
        }
    }
}
