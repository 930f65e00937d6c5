//! The ops at the sizes that they have in two models: SmolLM2-135M, and one 4096 wide as Llama 3 8B.
//!
//! One token at a time, which is where memory decides, and a few at once. A matrix has as many rows as are enough to see what a row
//! costs: the kernels treat all rows alike.

use engine::model_sizes::{LLAMA_3_8B, ModelSizes, SMOLLM2_135M};
use kernels::ops::gelu_mul::Gelu;
use kernels::ops::rope::{Pairing, Scaling};
use kernels::{DType, Record, Stem};

use conformance::data::Operands;
use conformance::dense::Dense;

/// An op to run.
#[derive(Clone, Debug)]
pub struct Case {
    /// Model and size.
    pub name: String,
    /// The op.
    pub record: Record,
}

/// A model, and how much of its matrices is run.
#[derive(Clone, Copy, Debug)]
struct Model {
    name: &'static str,
    sizes: ModelSizes,
    /// Rows of a matrix, of those that the model has.
    rows: usize,
}

const SMOLLM2: Model = Model { name: "smollm2", sizes: SMOLLM2_135M, rows: SMOLLM2_135M.n_embd };

const WIDE: Model = Model { name: "4096", sizes: LLAMA_3_8B, rows: 256 };

/// Slots of a cache, all of them filled.
const SLOTS: usize = 512;
/// Tokens of a prompt that run at once.
const PROMPT: usize = 32;
/// Rows of an embedding table.
const TABLE: usize = 64;

/// All of them.
pub fn cases() -> Vec<Case> {
    [SMOLLM2, WIDE].into_iter().flat_map(Model::cases).chain(conversions()).collect()
}

/// The last `rows` positions of a full cache.
fn last_positions(rows: usize) -> Vec<u32> {
    (0..).take(SLOTS).skip(SLOTS - rows).collect()
}

fn elementwise(stem: Stem, inputs: &[&str], n: usize) -> Record {
    let record = inputs.iter().fold(Record::new(stem), |record, name| record.gauss(name, &[1, n]));
    record.empty("out", DType::F32, &[1, n])
}

impl Model {
    fn case(self, size: &str, record: Record) -> Case {
        Case { name: format!("{}, {size}", self.name), record }
    }

    fn cases(self) -> Vec<Case> {
        [self.elements(), self.heads(), self.matrices()].concat()
    }

    fn elements(self) -> Vec<Case> {
        let ModelSizes { n_embd: embd, n_ff: ff, vocab_size: vocab, .. } = self.sizes;
        let norm = Record::new(Stem::RmsNorm)
            .param("eps", 1e-5f32)
            .gauss("x", &[1, embd])
            .gauss("weight", &[embd])
            .empty("out", DType::F32, &[1, embd]);
        let layer_norm = elementwise(Stem::LayerNorm, &["x"], embd)
            .param("eps", 1e-5f32)
            .gauss("weight", &[embd])
            .gauss("bias", &[embd]);
        let gelu = |form| elementwise(Stem::GeluMul, &["gate", "up"], ff).param("form", form);
        let argmax = Record::new(Stem::Argmax).gauss("x", &[1, vocab]).empty("out", DType::U32, &[1]);
        vec![
            self.case(&format!("1x{embd}"), norm),
            self.case(&format!("1x{embd}"), layer_norm),
            self.case(&format!("1x{ff}"), elementwise(Stem::SiluMul, &["gate", "up"], ff)),
            self.case(&format!("1x{ff}, erf"), gelu(Gelu::Erf)),
            self.case(&format!("1x{ff}, tanh"), gelu(Gelu::Tanh)),
            self.case(&format!("1x{embd}"), elementwise(Stem::Add, &["a", "b"], embd)),
            self.case(&format!("1x{embd}"), elementwise(Stem::Mul, &["a", "b"], embd)),
            self.case(&format!("1x{embd}"), elementwise(Stem::Scale, &["x"], embd).param("factor", 0.125f32)),
            self.case(
                &format!("1x{SLOTS}"),
                elementwise(Stem::Softmax, &["x"], SLOTS).param("scale", 1.0f32),
            ),
            self.case(
                &format!("1x{vocab}"),
                elementwise(Stem::Softmax, &["x"], vocab).param("scale", 1.0f32),
            ),
            self.case(&format!("1x{vocab}"), argmax),
            self.case(&format!("1x{embd}"), elementwise(Stem::Copy, &["x"], embd)),
            self.case(&format!("1x{embd}"), elementwise(Stem::Fill, &[], embd).param("value", 0.5f32)),
        ]
    }

    fn heads(self) -> Vec<Case> {
        let ModelSizes { n_head: heads, n_kv_head: kv_heads, head_dim, .. } = self.sizes;
        let mut cases = Vec::new();
        for pairing in [Pairing::Interleaved, Pairing::Neox] {
            let shape = [1, heads, head_dim];
            let record = Record::new(Stem::Rope)
                .param("pairing", pairing)
                .param("n_rot", head_dim)
                .param("base", 100_000.0f32)
                .param("scaling", Scaling::None)
                .param("max_positions", SLOTS)
                .gauss("x", &shape)
                .indices("positions", &last_positions(1))
                .empty("out", DType::F32, &shape);
            cases.push(self.case(&format!("1x{heads}x{head_dim}"), record));
        }
        let whole = [1, SLOTS, kv_heads, head_dim];
        for format in DType::CACHE {
            let shape = [1, kv_heads, head_dim];
            let record = Record::new(Stem::KvWrite)
                .gauss("k", &shape)
                .gauss("v", &shape)
                .indices("seqs", &[0])
                .indices("positions", &last_positions(1))
                .empty("k_cache", format, &whole)
                .empty("v_cache", format, &whole);
            cases.push(self.case(&format!("1x{kv_heads}x{head_dim}, {format}"), record));
        }
        for (rows, format) in [1, PROMPT].into_iter().flat_map(|rows| DType::CACHE.map(|f| (rows, f))) {
            let shape = [rows, heads, head_dim];
            let record = Record::new(Stem::Attention)
                .param("scale", 0.125f32)
                .param("window", None::<usize>)
                .param("softcap", None::<f32>)
                .gauss("q", &shape)
                .cache("k_cache", format, whole)
                .cache("v_cache", format, whole)
                .indices("seqs", &vec![0; rows])
                .indices("positions", &last_positions(rows))
                .empty("out", DType::F32, &shape);
            cases.push(self.case(&format!("{rows} of {SLOTS}, {format}"), record));
        }
        cases
    }

    fn matrices(self) -> Vec<Case> {
        let (embd, rows) = (self.sizes.n_embd, self.rows);
        let mut cases = Vec::new();
        for format in DType::WEIGHTS.into_iter().filter(|format| embd % format.block_len() == 0) {
            let record = Record::new(Stem::Embed)
                .weights("table", format, [TABLE, embd])
                .indices("ids", &[5])
                .empty("out", DType::F32, &[1, embd]);
            cases.push(self.case(&format!("1x{embd}, {format}"), record));
            // More rows at once where a format is first met: they cost the software device most.
            let first = self.name == SMOLLM2.name || format.block_len() > 32;
            let counts: &[usize] = if first { &[1, 2, 4, 8, PROMPT] } else { &[1] };
            for &m in counts {
                let record = Record::new(Stem::Matmul)
                    .gauss("x", &[m, embd])
                    .weights("weight", format, [rows, embd])
                    .empty("out", DType::F32, &[m, rows]);
                cases.push(self.case(&format!("{m}x{embd} by {rows}, {format}"), record));
            }
        }
        cases
    }
}

/// A matrix of weights as it is loaded.
fn conversions() -> Vec<Case> {
    let shape = [4, WIDE.sizes.n_embd];
    let mut cases = Vec::new();
    let mut add = |stem, from: DType, to: DType| {
        let record = Record::new(stem).weights("x", from, shape).empty("out", to, &shape);
        let name = format!("{from} to {to}");
        cases.push(WIDE.case(&format!("{}x{}, {name}", shape[0], shape[1]), record));
    };
    for format in DType::WEIGHTS {
        add(Stem::Dequantize, format, DType::F32);
    }
    for format in DType::QUANTIZABLE {
        add(Stem::Quantize, DType::F32, format);
    }
    for from in [DType::F32, DType::F16, DType::BF16] {
        for to in [DType::F32, DType::F16, DType::BF16] {
            add(Stem::Cast, from, to);
        }
    }
    cases
}
