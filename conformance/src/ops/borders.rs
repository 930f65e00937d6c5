//! Values on the borders between the codes of a block format, and so near to them that it matters how they are scaled.
//!
//! A code is `x·(1/d)` rounded: every operation in f32 and rounded on its own. Exactly half-way between two codes the rule for
//! ties decides. A hair beside it, dividing by `d` or fusing the product with the sum that follows gives another code.

use kernels::DType;

use crate::data::Random;

/// How near the values are to a border.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Border {
    /// Half-way between two codes, and scaling is exact.
    On,
    /// Where another way of scaling gives another code, as far as a search finds such values.
    Beside,
}

/// How a value is brought to the scale of codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scaling {
    /// By the rounded reciprocal, as the contract says.
    Reciprocal,
    /// By a division.
    Division,
    /// By the reciprocal, in one rounding with what is added.
    Fused,
}

/// How a format forms its codes.
#[derive(Clone, Copy, Debug)]
enum Codes {
    /// `⌊x/d + levels + ½⌋`, `d` the peak with its sign over `−levels`.
    Centred { levels: f32 },
    /// `⌊(x − least)/d + ½⌋`, `d` the range over `top`.
    Ranged { top: f32 },
    /// The integer nearest to `x/d`, `d` the largest magnitude over 127.
    Signed,
}

impl Codes {
    const fn of(format: DType) -> Option<Self> {
        match format {
            DType::Q4_0 => Some(Codes::Centred { levels: 8.0 }),
            DType::Q5_0 => Some(Codes::Centred { levels: 16.0 }),
            DType::Q4_1 => Some(Codes::Ranged { top: 15.0 }),
            DType::Q5_1 => Some(Codes::Ranged { top: 31.0 }),
            DType::Q8_0 => Some(Codes::Signed),
            _ => None,
        }
    }

    /// The values that fix the scale of a block, for a step of about `step`, and the scale that they give.
    fn ends(self, step: f32, random: &mut Random) -> ([f32; 2], f32) {
        let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
        match self {
            Codes::Centred { levels } => {
                let peak = sign * levels * step;
                ([peak, 0.0], peak / -levels)
            }
            Codes::Ranged { top } => {
                let least = small(random.below(9)) * step - 4.0 * step;
                let greatest = least + top * step;
                ([least, greatest], (greatest - least) / top)
            }
            Codes::Signed => {
                let peak = 127.0 * step;
                ([sign * peak, 0.0], peak / 127.0)
            }
        }
    }

    /// A value half-way between two codes, as near as f32 comes, within the block's `ends`.
    fn half_way(self, ends: [f32; 2], d: f32, random: &mut Random) -> f32 {
        match self {
            Codes::Centred { levels } => (small(random.below(whole(2.0 * levels) - 1)) + 0.5 - levels) * d,
            Codes::Ranged { top } => ends[0] + (small(random.below(whole(top))) + 0.5) * d,
            Codes::Signed => (small(random.below(253)) - 126.0 + 0.5) * d,
        }
    }

    /// The code of `x`, if it is scaled in the manner of `scaling`.
    fn code(self, x: f32, ends: [f32; 2], d: f32, scaling: Scaling) -> f32 {
        let scaled = |x: f32, plus: f32| match scaling {
            Scaling::Reciprocal => x * (1.0 / d) + plus,
            Scaling::Division => x / d + plus,
            Scaling::Fused => x.mul_add(1.0 / d, plus),
        };
        match self {
            Codes::Centred { levels } => scaled(x, levels + 0.5).trunc(),
            Codes::Ranged { .. } => scaled(x - ends[0], 0.5).trunc(),
            Codes::Signed => scaled(x, 0.0).round(),
        }
    }

    /// Whether `scaling` gives `x` another code than the contract does.
    #[expect(clippy::float_cmp, reason = "codes are whole numbers")]
    fn misled(self, x: f32, ends: [f32; 2], d: f32, scaling: Scaling) -> bool {
        self.code(x, ends, d, scaling) != self.code(x, ends, d, Scaling::Reciprocal)
    }
}

#[expect(clippy::cast_precision_loss, reason = "below 256")]
const fn small(n: usize) -> f32 {
    n as f32
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small whole number")]
const fn whole(x: f32) -> usize {
    x as usize
}

/// The f32 that is `steps` numbers further from zero than `x`, which is normal.
fn stepped(x: f32, steps: i32) -> f32 {
    f32::from_bits(x.to_bits().wrapping_add_signed(steps))
}

/// A value that `other` gives another code than the contract does; an end of the block where none is found.
fn beside(codes: Codes, ends: [f32; 2], d: f32, other: Scaling, random: &mut Random) -> f32 {
    let tries = (0..24).flat_map(|_| {
        let x = codes.half_way(ends, d, random);
        (-4..=4).map(move |steps| stepped(x, steps))
    });
    tries.into_iter().find(|&x| codes.misled(x, ends, d, other)).unwrap_or(ends[0])
}

/// `count` values, whole blocks of `format`, at borders. `None` for a format that nothing is encoded to by scaling.
pub fn values(format: DType, border: Border, random: &mut Random, count: usize) -> Option<Vec<f32>> {
    let codes = Codes::of(format)?;
    let mut all = Vec::with_capacity(count);
    for _ in 0..count / format.block_len() {
        let power = [0.0625, 0.25, 1.0, 2.0, 16.0][random.below(5)];
        let step = match border {
            Border::On => power,
            #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is what is meant")]
            Border::Beside => power * (1.0 + random.unit() as f32),
        };
        let (ends, d) = codes.ends(step, random);
        let mut block: Vec<f32> = (0..format.block_len())
            .map(|i| match border {
                Border::On => codes.half_way(ends, d, random),
                Border::Beside if i % 2 == 0 => beside(codes, ends, d, Scaling::Division, random),
                Border::Beside => beside(codes, ends, d, Scaling::Fused, random),
            })
            .collect();
        let place = random.below(block.len() - 1);
        block[place..place + 2].copy_from_slice(&ends);
        all.extend(block);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of `format` with their ends and scale, as an encoder finds them.
    fn blocks(format: DType, border: Border) -> Vec<(Vec<f32>, [f32; 2], f32)> {
        let values = values(format, border, &mut Random::new(7), 32 * 40).unwrap();
        let find = |block: &[f32]| {
            let far = block.iter().fold(0.0f32, |far, &x| if x.abs() > far.abs() { x } else { far });
            let least = block.iter().copied().fold(f32::MAX, f32::min);
            let most = block.iter().copied().fold(f32::MIN, f32::max);
            match Codes::of(format).unwrap() {
                Codes::Centred { levels } => ([far, 0.0], far / -levels),
                Codes::Ranged { top } => ([least, most], (most - least) / top),
                Codes::Signed => ([far, 0.0], far.abs() / 127.0),
            }
        };
        values
            .chunks(32)
            .map(|block| {
                let (ends, d) = find(block);
                (block.to_vec(), ends, d)
            })
            .collect()
    }

    #[test]
    fn most_values_on_a_border_are_half_way_between_two_codes() {
        for format in DType::QUANTIZABLE {
            for (block, ends, d) in blocks(format, Border::On) {
                let from =
                    if matches!(Codes::of(format), Some(Codes::Ranged { .. })) { ends[0] } else { 0.0 };
                let ties = block.iter().filter(|&&x| (2.0 * (x - from) / d) % 2.0 != 0.0).count();
                assert!(ties >= 30, "{format}: {ties} of 32");
            }
        }
    }

    #[test]
    fn beside_a_border_another_scaling_gives_another_code() {
        for format in DType::QUANTIZABLE {
            let codes = Codes::of(format).unwrap();
            let differ = |other: Scaling| {
                let of_block = |(block, ends, d): &(Vec<f32>, [f32; 2], f32)| {
                    block.iter().filter(|&&x| codes.misled(x, *ends, *d, other)).count()
                };
                blocks(format, Border::Beside).iter().map(of_block).sum::<usize>()
            };
            assert!(differ(Scaling::Division) >= 64, "{format}: {} of 1280", differ(Scaling::Division));
            // A signed code adds nothing that could be fused.
            if format != DType::Q8_0 {
                assert!(differ(Scaling::Fused) >= 16, "{format}: {} of 1280", differ(Scaling::Fused));
            }
        }
    }
}
