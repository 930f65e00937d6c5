//! Target ids: a processor and its features.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use crate::target::{GFX942, Target};

/// A processor and what its code assumes of two features, as in `gfx942:sramecc+:xnack-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TargetId {
    processor: String,
    /// `None`: the code runs with the feature on and off.
    sramecc: Option<bool>,
    xnack: Option<bool>,
}

impl TargetId {
    /// gfx942 with any features.
    pub fn gfx942() -> Self {
        Self { processor: GFX942.to_string(), sramecc: None, xnack: None }
    }

    /// From the flags of a code object's ELF header, version 4 and later.
    pub(super) fn from_flags(flags: u32) -> Self {
        let feature = |shift: u32| match flags >> shift & 3 {
            2 => Some(false),
            3 => Some(true),
            _ => None,
        };
        Self { processor: Target::from_flags(flags).to_string(), xnack: feature(8), sramecc: feature(10) }
    }

    /// The processor, without features.
    pub fn processor(&self) -> &str {
        &self.processor
    }

    /// Whether code for this target runs on a device that is called `wanted`. A feature that `wanted` leaves out
    /// may have any value.
    pub fn serves(&self, wanted: &Self) -> bool {
        let agrees = |ours: Option<bool>, theirs: Option<bool>| ours.zip(theirs).is_none_or(|(a, b)| a == b);
        self.processor == wanted.processor
            && agrees(self.sramecc, wanted.sramecc)
            && agrees(self.xnack, wanted.xnack)
    }
}

/// Why a text is no target id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no target: write a processor and its features, as in gfx942 or gfx942:sramecc+:xnack-")]
pub struct BadTargetId {
    text: String,
}

impl FromStr for TargetId {
    type Err = BadTargetId;

    fn from_str(text: &str) -> Result<Self, BadTargetId> {
        let bad = || BadTargetId { text: text.to_owned() };
        let mut parts = text.split(':');
        let processor = parts.next().filter(|name| name.starts_with("gfx")).ok_or_else(bad)?;
        let mut id = Self { processor: processor.to_owned(), sramecc: None, xnack: None };
        for part in parts {
            match part {
                "sramecc+" => id.sramecc = Some(true),
                "sramecc-" => id.sramecc = Some(false),
                "xnack+" => id.xnack = Some(true),
                "xnack-" => id.xnack = Some(false),
                _ => return Err(bad()),
            }
        }
        Ok(id)
    }
}

impl Display for TargetId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.processor)?;
        for (name, value) in [("sramecc", self.sramecc), ("xnack", self.xnack)] {
            if let Some(on) = value {
                write!(f, ":{name}{}", if on { '+' } else { '-' })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TargetId {
        text.parse().expect("a target id")
    }

    #[test]
    fn ids_print_as_they_are_written() {
        for text in ["gfx942", "gfx90a:xnack-", "gfx942:sramecc+:xnack-", "gfx11-generic"] {
            assert_eq!(id(text).to_string(), text);
        }
        for text in ["", "x86_64", "gfx942:", "gfx942:xnack", "gfx942:fast+"] {
            assert!(text.parse::<TargetId>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_feature_that_is_not_mentioned_may_have_any_value() {
        assert!(id("gfx942:xnack+").serves(&id("gfx942")));
        assert!(id("gfx942").serves(&id("gfx942:xnack+")));
        assert!(!id("gfx942:xnack+").serves(&id("gfx942:xnack-")));
        assert!(!id("gfx90a").serves(&id("gfx942")));
    }

    #[test]
    fn flags_give_processor_and_features() {
        assert_eq!(TargetId::from_flags(0x54c), id("gfx942"));
        assert_eq!(TargetId::from_flags(0xe4c), id("gfx942:sramecc+:xnack-"));
    }
}
