//! How a plug-in says that it computes: numbers that anybody may have written, made into [`Numerics`] or refused.

use kernels::{Activations, DType, Depth, Float, Numerics, Weights};

use crate::abi;

/// The largest error of a function that can be declared, in units in the last place. More would let almost anything pass.
pub const FUNCTION_ULPS: f64 = 1024.0;

/// What a plug-in declares unless it says otherwise: f32, any order of summation, functions within 2 ulp.
pub const DEFAULT: abi::Numerics = abi::Numerics {
    accumulator: 0,
    lanes: 0,
    activations: abi::EXACT,
    activation_type: 0,
    activation_block: 0,
    weights: abi::DECODED,
    weight_type: 0,
    angle: abi::F64,
    function_ulps: 2.0,
    reserved: [0; 4],
};

/// The declaration as the suite understands it; a sentence where a number means nothing.
pub fn numerics(declared: &abi::Numerics) -> Result<Numerics, String> {
    let abi::Numerics {
        accumulator,
        lanes,
        activations,
        activation_type,
        activation_block,
        weights,
        weight_type,
        angle,
        function_ulps,
        reserved,
    } = *declared;
    if reserved != [0; 4] {
        return Err(format!("reserved is {reserved:?}, want zeros"));
    }
    if !(0.0..=FUNCTION_ULPS).contains(&function_ulps) {
        return Err(format!("function_ulps is {function_ulps}, want 0 to {FUNCTION_ULPS}"));
    }
    let depth = match usize::try_from(lanes) {
        Ok(0) => Depth::Any,
        Ok(lanes) => Depth::Lanes(lanes),
        Err(error) => return Err(format!("lanes is {lanes}: {error}")),
    };
    let activations = match activations {
        abi::EXACT => Activations::Exact,
        abi::ROUNDED => Activations::Rounded(float("activation_type", activation_type)?),
        abi::INT8 if activation_block == 0 => {
            return Err("activation_block is 0, and activations is ASSAY_INT8".into());
        }
        abi::INT8 => Activations::Int8 {
            block: activation_block as usize,
            scale: float("activation_type", activation_type)?,
        },
        other => {
            return Err(format!("activations is {other}, want ASSAY_EXACT, ASSAY_ROUNDED or ASSAY_INT8"));
        }
    };
    let weights = match weights {
        abi::DECODED => Weights::Decoded,
        abi::ROUNDED => Weights::Rounded(float("weight_type", weight_type)?),
        abi::FACTORED => Weights::Factored,
        other => {
            return Err(format!("weights is {other}, want ASSAY_DECODED, ASSAY_ROUNDED or ASSAY_FACTORED"));
        }
    };
    Ok(Numerics {
        accumulator: float("accumulator", accumulator)?,
        depth,
        activations,
        weights,
        angle: float("angle", angle)?,
        function_ulps,
        ..Numerics::F32
    })
}

/// The format that `number` stands for in the field `name`.
fn float(name: &str, number: u32) -> Result<Float, String> {
    let formats = [(DType::F32, Float::F32), (DType::F16, Float::F16), (DType::BF16, Float::BF16)];
    let named = formats.into_iter().find(|(dtype, _)| abi::dtype(*dtype) == number).map(|(_, float)| float);
    named.or_else(|| (number == abi::F64).then_some(Float::F64)).ok_or_else(|| {
        format!("{name} is {number}, which is none of ASSAY_F64, ASSAY_F32, ASSAY_F16 and ASSAY_BF16")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_plain_f32() {
        assert_eq!(numerics(&DEFAULT), Ok(Numerics::F32));
    }

    #[test]
    fn each_field_is_understood() {
        let declared = abi::Numerics {
            accumulator: abi::dtype(DType::F16),
            lanes: 64,
            activations: abi::INT8,
            activation_type: abi::dtype(DType::F16),
            activation_block: 32,
            weights: abi::ROUNDED,
            weight_type: abi::dtype(DType::BF16),
            angle: abi::dtype(DType::F32),
            function_ulps: 4.0,
            ..DEFAULT
        };
        let want = Numerics {
            accumulator: Float::F16,
            depth: Depth::Lanes(64),
            activations: Activations::Int8 { block: 32, scale: Float::F16 },
            weights: Weights::Rounded(Float::BF16),
            angle: Float::F32,
            function_ulps: 4.0,
            ..Numerics::F32
        };
        assert_eq!(numerics(&declared), Ok(want));
    }

    #[test]
    fn a_number_that_means_nothing_is_named() {
        let refused = |change: fn(&mut abi::Numerics), naming: &str| {
            let mut declared = DEFAULT;
            change(&mut declared);
            let error = numerics(&declared).unwrap_err();
            assert!(error.contains(naming), "'{naming}' in: {error}");
        };
        refused(|n| n.accumulator = 2, "accumulator is 2");
        refused(|n| n.activations = 7, "activations is 7");
        refused(|n| (n.activations, n.activation_type) = (abi::ROUNDED, 99), "activation_type is 99");
        refused(|n| n.activations = abi::INT8, "activation_block is 0");
        refused(|n| n.weights = 3, "weights is 3");
        refused(|n| n.angle = 1000, "angle is 1000");
        refused(|n| n.function_ulps = f64::NAN, "function_ulps is NaN");
        refused(|n| n.function_ulps = 1e6, "function_ulps is 1000000");
        refused(|n| n.reserved[3] = 1, "reserved");
    }
}
