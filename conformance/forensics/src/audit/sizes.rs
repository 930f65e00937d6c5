//! Which sizes the copies of a model can have.

use d2h_audit::line::Start;
use engine::config::ModelConfig;
use engine::taps::Point;

/// Elements of a row of `point`.
fn width(config: &ModelConfig, point: Point) -> usize {
    let (queries, keys) = (config.n_head * config.head_dim, config.n_kv_head * config.head_dim);
    match point {
        Point::EmbedOut
        | Point::XIn
        | Point::AttnNorm
        | Point::WoOut
        | Point::XAfterAttn
        | Point::FfnNorm
        | Point::MlpOut
        | Point::XOut
        | Point::FinalNorm => config.n_embd,
        Point::Q | Point::QNorm | Point::QRope | Point::AttnOut => queries,
        Point::K | Point::V | Point::KNorm | Point::KRope | Point::KvWrite => keys,
        Point::Gate | Point::Up | Point::Act => config.n_ff,
        Point::Logits => config.vocab_size,
    }
}

/// Why the model cannot have this copy; `None` where it can, and where the tensor's name is none of the trace points. What the cache
/// holds may be of a shorter type than f32, so that its sizes are not judged.
pub fn fault(config: &ModelConfig, copy: &Start) -> Option<String> {
    let layers = config.n_layer as u64;
    if let Some(layer) = copy.layer.filter(|layer| *layer >= layers) {
        return Some(format!("layer {layer} of {}, the model has {layers}", copy.tensor));
    }
    let point: Point = copy.tensor.parse().ok()?;
    let row = 4 * width(config, point) as u64;
    (point != Point::KvWrite && !copy.bytes.is_multiple_of(row)).then(|| {
        let elements = row / 4;
        format!("{} bytes of {point} are no whole rows of {elements} elements ({row} bytes)", copy.bytes)
    })
}
