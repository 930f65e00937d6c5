//! The fast backend and the oracle, which were written apart.

use backend_cpu::fast::Fast;
use backend_cpu::reference;
use kernels::ops::gelu_mul::Gelu;
use kernels::ops::rope::Pairing;
use kernels::{Backend, DType, Expected, Record, Role, Stem};

use super::cases::{self, Random, given, indices, output};

/// Why the oracle does not accept an output of a record from the fast backend; empty where it accepts all.
fn objections(record: &Record, backend: &Fast) -> Vec<String> {
    let stream = backend.stream().unwrap();
    let mut buffers = record.upload(backend, &stream).unwrap();
    let op = record.bind(&mut buffers).unwrap().validate().unwrap();
    let expected = reference::oracle(&op, &backend.numerics(&op.form()));
    backend.launch(&stream, op).unwrap();

    let outputs = record.operands().iter().zip(&buffers).filter(|(operand, _)| operand.role == Role::Output);
    let mut objections = Vec::new();
    for (expected, (operand, buffer)) in expected.into_iter().zip(outputs) {
        let mut got = operand.layout.gather(buffer.bytes(), 0).unwrap();
        forgive_the_unspecified(&expected, &mut got);
        let verdict = expected.judge(&operand.layout, &got);
        if !verdict.passed() {
            let layouts: Vec<_> = record.operands().iter().map(|o| o.layout).collect();
            objections.push(format!("{} {layouts:?} {:?}: {verdict:?}", record.stem, record.params));
        }
    }
    objections
}

/// Puts 0 in the place of a result whose bound is infinite: overflow on the way there is permitted, and what comes of
/// it may be NaN.
fn forgive_the_unspecified(expected: &Expected, got: &mut [u8]) {
    let Expected::Within { value, bound, .. } = expected else { return };
    for ((got, value), bound) in got.chunks_exact_mut(4).zip(value).zip(bound) {
        if value.is_finite() && bound.is_infinite() {
            got.copy_from_slice(&0.0f32.to_le_bytes());
        }
    }
}

fn assert_accepted(records: impl IntoIterator<Item = Record>) {
    let backends = [Fast::with_threads(2), Fast::exact(2)];
    let objections =
        |record: Record| backends.iter().flat_map(|b| objections(&record, b)).collect::<Vec<_>>();
    let objections: Vec<_> = records.into_iter().flat_map(objections).collect();
    assert!(objections.is_empty(), "{}", objections.join("\n"));
}

#[test]
fn every_case_is_inside_the_bound_that_its_declared_numerics_give() {
    assert_accepted(cases::all());
}

const ROWS: usize = 200;
const COLUMNS: usize = 64;

/// Rows of ordinary numbers, with one of any bits in each: NaN, infinities, subnormals, huge and tiny numbers.
fn one_hostile(random: &mut Random) -> Vec<f32> {
    let specials = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::from_bits(1), -0.0, 0.0];
    let mut values = random.floats(ROWS * COLUMNS);
    for row in values.chunks_exact_mut(COLUMNS) {
        let [at, which, ..]: [u8; 8] = random.bits().to_le_bytes();
        let [bits, _]: [u32; 2] = bytemuck::cast(random.bits());
        let special = specials.get(usize::from(which) % 14).copied();
        row[usize::from(at) % COLUMNS] = special.unwrap_or(f32::from_bits(bits));
    }
    values
}

/// Finite numbers of any magnitude.
fn any_finite(random: &mut Random) -> Vec<f32> {
    let mut finite = || loop {
        let [bits, _]: [u32; 2] = bytemuck::cast(random.bits());
        let value = f32::from_bits(bits);
        if value.is_finite() {
            return value;
        }
    };
    (0..ROWS * COLUMNS).map(|_| finite()).collect()
}

#[test]
fn hostile_values_are_inside_the_bound_too() {
    let mut random = Random::new(21);
    let shape = [ROWS, COLUMNS];
    let mut records = Vec::new();
    for values in [one_hostile, any_finite] {
        let mut add = |record: Record, names: &[&str], to: DType| {
            let with = |record, name: &&str| given(record, name, &shape, &values(&mut random));
            records.push(output(names.iter().fold(record, with), "out", to, &shape));
        };
        add(Record::new(Stem::Add), &["a", "b"], DType::F32);
        add(Record::new(Stem::Mul), &["a", "b"], DType::F32);
        for factor in [0.0f32, 3.0, 1e-30, -1e30] {
            add(Record::new(Stem::Scale).param("factor", factor), &["x"], DType::F32);
        }
        for dtype in DType::FLOATS {
            add(Record::new(Stem::Cast), &["x"], dtype);
        }
        for dtype in DType::QUANTIZABLE {
            add(Record::new(Stem::Quantize), &["x"], dtype);
        }
    }
    for gate in [one_hostile, any_finite] {
        let mut gated = |record| {
            let record = given(record, "gate", &shape, &gate(&mut random));
            let record = given(record, "up", &shape, &any_finite(&mut random));
            records.push(output(record, "out", DType::F32, &shape));
        };
        gated(Record::new(Stem::SiluMul));
        for form in [Gelu::Erf, Gelu::Tanh] {
            gated(Record::new(Stem::GeluMul).param("form", form));
        }
    }
    let x = one_hostile(&mut random);
    for scale in [0.0f32, 1.0, -2.5] {
        let record = given(Record::new(Stem::Softmax).param("scale", scale), "x", &shape, &x);
        records.push(output(record, "out", DType::F32, &shape));
    }
    for eps in [0.0f32, 1e-6] {
        let record = given(Record::new(Stem::RmsNorm).param("eps", eps), "x", &shape, &x);
        let record = given(record, "weight", &[COLUMNS], &random.floats(COLUMNS));
        records.push(output(record, "out", DType::F32, &shape));
    }
    let record = given(Record::new(Stem::Argmax), "x", &shape, &x);
    records.push(output(record, "out", DType::U32, &[ROWS]));
    assert_accepted(records);
}

#[test]
fn hostile_values_in_rotations_are_inside_the_bound_too() {
    let mut random = Random::new(22);
    let mut records = Vec::new();
    for values in [one_hostile, any_finite] {
        for pairing in [Pairing::Interleaved, Pairing::Neox] {
            let record = Record::new(Stem::Rope)
                .param("pairing", pairing)
                .param("n_rot", 48)
                .param("base", 500_000.0f32)
                .param("scaling", cases::yarn())
                .param("max_positions", 1 << 20);
            let shape = [ROWS / 4, 4, COLUMNS];
            let record = given(record, "x", &shape, &values(&mut random));
            let positions: Vec<u32> = (0..50).map(|row| row * row * 400).collect();
            let record = indices(record, "positions", &positions);
            records.push(output(record, "out", DType::F32, &shape));
        }
    }
    assert_accepted(records);
}

/// Hostile in one operand at a time: an infinity that meets an overflow on the way has no specified result.
#[test]
fn hostile_values_in_products_are_inside_the_bound_too() {
    let mut random = Random::new(23);
    let mut records = Vec::new();
    let [ordinary, hostile, wide] =
        [random.floats(ROWS * COLUMNS), one_hostile(&mut random), any_finite(&mut random)];
    for [x, weight] in [[&hostile, &ordinary], [&ordinary, &hostile], [&wide, &ordinary]] {
        let record = given(Record::new(Stem::Matmul), "x", &[ROWS, COLUMNS], x);
        let record = given(record, "weight", &[ROWS, COLUMNS], weight);
        records.push(output(record, "out", DType::F32, &[ROWS, ROWS]));
    }
    for [k, v] in [[&hostile, &ordinary], [&ordinary, &hostile], [&wide, &ordinary], [&ordinary, &wide]] {
        for softcap in [None, Some(20.0f32)] {
            let record = Record::new(Stem::Attention)
                .param("scale", 0.125f32)
                .param("window", Some(11))
                .param("softcap", softcap);
            let record = given(record, "q", &[50, 4, COLUMNS], &ordinary);
            let record = given(record, "k_cache", &[2, 50, 2, COLUMNS], k);
            let record = given(record, "v_cache", &[2, 50, 2, COLUMNS], v);
            let record = indices(record, "seqs", &(0..50).map(|row| row % 2).collect::<Vec<_>>());
            let record = indices(record, "positions", &(0..50).rev().collect::<Vec<_>>());
            records.push(output(record, "out", DType::F32, &[50, 4, COLUMNS]));
        }
    }
    assert_accepted(records);
}
