//! Taps: which come, in which order, with which numbers; and the file they go to.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod tiny;

use std::fs;

use backend_cpu::fast::Fast;
use backend_cpu::reference::Reference;
use engine::generate::prefill;
use engine::model::{Batch, Model, Step};
use engine::taps::{NoTaps, Phase, Point, Selection, Tap, TapError, TapFile, TapSink};
use kernels::{Backend, DType};
use safetensors::SafeTensors;

const IDS: [u32; 6] = [116, 257, 270, 105, 295, 9];

/// A tap as it came.
#[derive(Clone, PartialEq, Debug)]
struct Seen {
    point: Point,
    layer: Option<usize>,
    step: usize,
    phase: Phase,
    positions: Vec<u32>,
    shape: Vec<usize>,
    values: Vec<f32>,
}

#[derive(Default)]
struct Everything(Vec<Seen>);

impl TapSink for Everything {
    fn wants(&self, _: Point, _: Option<usize>) -> bool {
        true
    }

    fn record(&mut self, tap: &Tap<'_>) -> Result<(), TapError> {
        assert_eq!(tap.shape.iter().product::<usize>(), tap.values.len());
        self.0.push(Seen {
            point: tap.point,
            layer: tap.layer,
            step: tap.step,
            phase: tap.phase,
            positions: tap.positions.to_vec(),
            shape: tap.shape.to_vec(),
            values: tap.values.to_vec(),
        });
        Ok(())
    }
}

/// All taps of `IDS` in one pass, and the logits.
fn everything<B: Backend>(model: &mut Model<B>) -> (Vec<Seen>, Vec<f32>) {
    let mut cache = tiny::cache(model, DType::F16, 1, 8);
    let mut taps = Everything::default();
    let logits = prefill(model, &mut cache, 0, &IDS, 8, &mut taps).unwrap();
    (taps.0, logits.values().to_vec())
}

#[test]
fn points_come_in_their_order_with_their_shapes() {
    for name in ["llama", "qwen2", "qwen3"] {
        let mut model = tiny::model(name, Reference::default());
        let (taps, logits) = everything(&mut model);
        let has_head_norms = name == "qwen3";
        let points =
            Point::ALL.iter().filter(|p| has_head_norms || !matches!(p, Point::QNorm | Point::KNorm));
        let (inside, outside): (Vec<Point>, Vec<Point>) = points.partition(|p| p.in_layer());
        let mut want = vec![(outside[0], None)];
        for layer in 0..2 {
            want.extend(inside.iter().map(|&p| (p, Some(layer))));
        }
        want.extend(outside[1..].iter().map(|&p| (p, None)));
        let got: Vec<_> = taps.iter().map(|t| (t.point, t.layer)).collect();
        assert_eq!(got, want, "{name}");

        let shape = |point| taps.iter().find(|t| t.point == point).unwrap().shape.clone();
        assert_eq!(shape(Point::XIn), [6, 64]);
        assert_eq!(shape(Point::Q), [6, 128]);
        assert_eq!(shape(Point::KRope), [6, 2, 32]);
        assert_eq!(shape(Point::KvWrite), [2, 6, 2, 32]);
        assert_eq!(shape(Point::Act), [6, 96]);
        assert_eq!(shape(Point::FinalNorm), [1, 64]);
        let last = taps.last().unwrap();
        assert_eq!((last.positions.as_slice(), &last.values), (&[5][..], &logits));
    }
}

#[test]
fn what_a_point_shows_is_what_the_next_op_reads() {
    let (taps, _) = everything(&mut tiny::model("llama", Reference::default()));
    let at = |point, layer| taps.iter().find(|t| t.point == point && t.layer == Some(layer)).unwrap();
    let embedded = &taps[0].values;
    assert_eq!(&at(Point::XIn, 0).values, embedded);
    assert_eq!(at(Point::XOut, 0).values, at(Point::XIn, 1).values);
    let sum = at(Point::XIn, 0).values.iter().zip(&at(Point::WoOut, 0).values).map(|(a, b)| a + b);
    assert_eq!(sum.collect::<Vec<_>>(), at(Point::XAfterAttn, 0).values);
    let written = &at(Point::KvWrite, 1).values;
    let (k, v) = written.split_at(written.len() / 2);
    let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= b.abs() * 5e-4 + 1e-7);
    assert!(close(k, &at(Point::KRope, 1).values) && close(v, &at(Point::V, 1).values));
}

#[test]
fn taps_change_no_result_and_backends_agree_at_each_point() {
    let mut reference = tiny::model("mixed", Reference::default());
    let (exact, logits) = everything(&mut reference);
    let mut cache = tiny::cache(&reference, DType::F16, 1, 8);
    let untapped = prefill(&mut reference, &mut cache, 0, &IDS, 8, &mut NoTaps).unwrap();
    assert_eq!(untapped.values(), logits);

    let (fast, _) = everything(&mut tiny::model("mixed", Fast::exact(0)));
    for (a, b) in exact.iter().zip(&fast) {
        let want: Vec<f64> = a.values.iter().map(|&v| v.into()).collect();
        let deviation = tiny::deviation(&b.values, &want);
        // A key or value on the middle of two f16 may round either way, which changes all later results.
        assert!(deviation < 1e-3, "{} {:?}: {deviation:e}", a.point, a.layer);
    }
}

#[test]
fn a_sink_that_wants_nothing_gets_nothing() {
    struct Nothing;
    impl TapSink for Nothing {
        fn wants(&self, _: Point, _: Option<usize>) -> bool {
            false
        }
        fn record(&mut self, tap: &Tap<'_>) -> Result<(), TapError> {
            panic!("{} was not wanted", tap.point)
        }
    }
    let mut model = tiny::model("llama", Reference::default());
    let mut cache = tiny::cache(&model, DType::F32, 1, 8);
    prefill(&mut model, &mut cache, 0, &IDS, 8, &mut Nothing).unwrap();
}

#[test]
fn a_file_holds_the_taps_that_were_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("taps.safetensors");
    let selection: Selection = "q_rope@1,logits".parse().unwrap();
    let mut model = tiny::model("llama", Reference::default());
    let mut cache = tiny::cache(&model, DType::F16, 1, 8);
    let mut taps = TapFile::create(&path, selection).unwrap();
    prefill(&mut model, &mut cache, 0, &IDS, 4, &mut taps).unwrap();
    let step = Step::decode(1);
    let logits = model.forward(&mut cache, &Batch::of(&[7], 0, 6), step, &mut taps).unwrap();
    let [k, v] = model.dump_cache(&cache, 1, 0).unwrap();
    taps.cache(1, "k", &[7, 2, 32], &k).unwrap();
    taps.cache(1, "v", &[7, 2, 32], &v).unwrap();
    assert!(!path.exists(), "the file appears only when it is complete");
    assert_eq!(taps.count(), 5);
    taps.finish(&[("backend", "ref".into())]).unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no temporary file is left");

    let bytes = fs::read(&path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut names: Vec<_> = file.names().into_iter().map(str::to_owned).collect();
    names.sort_unstable();
    let want = [
        "kv_cache.layer1.k",
        "kv_cache.layer1.v",
        "step0.pos0.layer1.q_rope",
        "step0.pos4.layer1.q_rope",
        "step0.pos5.logits",
        "step1.pos6.layer1.q_rope",
        "step1.pos6.logits",
    ];
    assert_eq!(names, want);
    let floats = |name: &str| -> Vec<f32> {
        let (words, _) = file.tensor(name).unwrap().data().as_chunks::<4>();
        words.iter().map(|w| f32::from_le_bytes(*w)).collect()
    };
    assert_eq!(floats("step1.pos6.logits"), logits.values());
    assert_eq!((floats("kv_cache.layer1.k"), floats("kv_cache.layer1.v")), (k, v));
    assert_eq!(file.tensor("step0.pos0.layer1.q_rope").unwrap().shape(), [4, 4, 32]);

    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = header.metadata().clone().unwrap();
    assert_eq!(metadata["backend"], "ref");
    let taps: serde_json::Value = serde_json::from_str(&metadata["taps"]).unwrap();
    assert_eq!(
        taps[2],
        serde_json::json!({
            "name": "step0.pos5.logits", "point": "logits", "step": 0, "phase": "prefill", "layer": -1,
            "seqs": [0], "positions": [5], "shape": [1, 299],
        })
    );
    assert_eq!((&taps[4]["phase"], &taps[4]["step"]), (&"decode".into(), &1.into()));
}

#[test]
fn the_same_rows_in_the_same_step_twice_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = tiny::model("llama", Reference::default());
    let mut cache = tiny::cache(&model, DType::F32, 1, 8);
    let mut taps = TapFile::create(&folder.path().join("t"), "embed_out".parse().unwrap()).unwrap();
    prefill(&mut model, &mut cache, 0, &IDS, 8, &mut taps).unwrap();
    cache.truncate(0, 0).unwrap();
    let error = prefill(&mut model, &mut cache, 0, &IDS, 8, &mut taps).unwrap_err();
    assert_eq!(error.to_string(), "tap 'step0.pos0.embed_out' was recorded twice");
}
