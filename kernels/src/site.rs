//! Where in the run of a model something stands: [`Site`], and a filter for it.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Part of a generation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The prompt.
    Prefill,
    /// Generated tokens.
    Decode,
}

/// A name that is no phase's.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown phase '{0}'; the phases are prefill and decode")]
pub struct UnknownPhase(String);

impl FromStr for Phase {
    type Err = UnknownPhase;

    fn from_str(name: &str) -> Result<Self, UnknownPhase> {
        let named = [Phase::Prefill, Phase::Decode].into_iter().find(|phase| phase.name() == name);
        named.ok_or_else(|| UnknownPhase(name.into()))
    }
}

impl Phase {
    /// Name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Prefill => "prefill",
            Phase::Decode => "decode",
        }
    }
}

/// Where in the run of a model an op or a copy stands: in messages, logs, capsules and reports.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Site {
    /// Step of the generation, from 0.
    pub step: usize,
    /// Prompt or generated tokens.
    pub phase: Phase,
    /// Layer, `None` outside the layers.
    pub layer: Option<usize>,
    /// Name of the tensor that is computed or copied.
    pub point: Cow<'static, str>,
}

impl Site {
    /// A tensor that belongs to no run of a model: step 0 of the prompt, outside the layers.
    pub fn outside(point: impl Into<Cow<'static, str>>) -> Self {
        Site { step: 0, phase: Phase::Prefill, layer: None, point: point.into() }
    }
}

impl fmt::Display for Site {
    /// As in reports: `step 2 (decode), layer 3, q_rope`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} ({})", self.step, self.phase.name())?;
        if let Some(layer) = self.layer {
            write!(f, ", layer {layer}")?;
        }
        write!(f, ", {}", self.point)
    }
}

/// A set of sites, as on a command line: `layer=3,phase=decode,step=2,point=q`. What is left open matches everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SiteFilter {
    step: Option<usize>,
    phase: Option<Phase>,
    layer: Option<usize>,
    point: Option<String>,
}

/// A condition that is none.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "'{0}': want step=N, phase=prefill, phase=decode, layer=N or point=NAME, each once, separated by commas"
)]
pub struct SiteFilterError(String);

impl FromStr for SiteFilter {
    type Err = SiteFilterError;

    fn from_str(text: &str) -> Result<Self, SiteFilterError> {
        let mut filter = SiteFilter::default();
        if text.is_empty() {
            return Ok(filter);
        }
        for condition in text.split(',') {
            let wrong = || SiteFilterError(condition.into());
            let (key, value) = condition.split_once('=').ok_or_else(wrong)?;
            let number = || value.parse::<usize>().map_err(|_| wrong());
            let said_before = match key {
                "step" => filter.step.replace(number()?).is_some(),
                "layer" => filter.layer.replace(number()?).is_some(),
                "point" => filter.point.replace(value.into()).is_some(),
                "phase" => filter.phase.replace(value.parse().map_err(|_| wrong())?).is_some(),
                _ => return Err(wrong()),
            };
            if said_before {
                return Err(wrong());
            }
        }
        Ok(filter)
    }
}

impl fmt::Display for SiteFilter {
    /// As on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conditions = [
            self.step.map(|step| format!("step={step}")),
            self.phase.map(|phase| format!("phase={}", phase.name())),
            self.layer.map(|layer| format!("layer={layer}")),
            self.point.as_ref().map(|point| format!("point={point}")),
        ];
        f.pad(&conditions.into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

impl SiteFilter {
    /// Whether `site` matches. An op without a site matches the empty filter only.
    pub fn includes(&self, site: Option<&Site>) -> bool {
        if *self == SiteFilter::default() {
            return true;
        }
        site.is_some_and(|site| {
            self.step.is_none_or(|step| step == site.step)
                && self.phase.is_none_or(|phase| phase == site.phase)
                && self.layer.is_none_or(|layer| Some(layer) == site.layer)
                && self.point.as_ref().is_none_or(|point| *point == site.point)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_reads_as_it_is_written() {
        let text = "step=2,phase=decode,layer=3,point=q";
        let filter: SiteFilter = text.parse().unwrap();
        assert_eq!(filter.to_string(), text);
        let site = Site { step: 2, phase: Phase::Decode, layer: Some(3), point: "q".into() };
        assert!(filter.includes(Some(&site)) && !filter.includes(None));
        for other in [
            Site { step: 1, ..site.clone() },
            Site { phase: Phase::Prefill, ..site.clone() },
            Site { layer: None, ..site.clone() },
            Site { point: "k".into(), ..site.clone() },
        ] {
            assert!(!filter.includes(Some(&other)), "{other:?}");
        }
        assert!(SiteFilter::default().includes(None));
        for (text, wrong) in [("layer=x", "layer=x"), ("step=1,,layer=0", ""), ("step=1,step=2", "step=2")] {
            assert_eq!(text.parse::<SiteFilter>().unwrap_err(), SiteFilterError(wrong.into()));
        }
    }

    #[test]
    fn a_site_is_stored_as_plain_fields() {
        let site = Site { step: 2, phase: Phase::Decode, layer: None, point: "logits".into() };
        let text = serde_json::to_string(&site).unwrap();
        assert_eq!(text, r#"{"step":2,"phase":"decode","layer":null,"point":"logits"}"#);
        assert_eq!(serde_json::from_str::<Site>(&text).unwrap(), site);
    }
}
