//! Places in a model's path, as on a command line: `layer=3,phase=decode,step=2,point=q`.

use std::fmt;
use std::str::FromStr;

use kernels::{Phase, Site};

/// A set of places; everywhere, in what is left open.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Where {
    step: Option<usize>,
    phase: Option<Phase>,
    layer: Option<usize>,
    point: Option<String>,
}

/// A condition that says nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{0}': want step=N, phase=prefill, phase=decode, layer=N or point=NAME, separated by commas")]
pub struct PlaceError(String);

impl FromStr for Where {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let mut place = Where::default();
        for condition in text.split(',').filter(|c| !c.is_empty()) {
            let wrong = || PlaceError(condition.into());
            let (key, value) = condition.split_once('=').ok_or_else(wrong)?;
            let number = || value.parse::<usize>().map_err(|_| wrong());
            match key {
                "step" => place.step = Some(number()?),
                "layer" => place.layer = Some(number()?),
                "point" => place.point = Some(value.into()),
                "phase" if value == "prefill" => place.phase = Some(Phase::Prefill),
                "phase" if value == "decode" => place.phase = Some(Phase::Decode),
                _ => return Err(wrong()),
            }
        }
        Ok(place)
    }
}

impl fmt::Display for Where {
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

impl Where {
    /// Whether `site` is one of the places. An op that stands nowhere is everywhere only.
    pub fn includes(&self, site: Option<Site>) -> bool {
        if *self == Where::default() {
            return true;
        }
        site.is_some_and(|site| {
            self.step.is_none_or(|step| step == site.step)
                && self.phase.is_none_or(|phase| phase == site.phase)
                && self.layer.is_none_or(|layer| Some(layer) == site.layer)
                && self.point.as_ref().is_none_or(|point| point == site.point)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_as_it_is_written() {
        let text = "step=2,phase=decode,layer=3,point=q";
        let place: Where = text.parse().unwrap();
        assert_eq!(place.to_string(), text);
        let site = Site { step: 2, phase: Phase::Decode, layer: Some(3), point: "q" };
        assert!(place.includes(Some(site)) && !place.includes(None));
        for other in [
            Site { step: 1, ..site },
            Site { phase: Phase::Prefill, ..site },
            Site { layer: None, ..site },
            Site { point: "k", ..site },
        ] {
            assert!(!place.includes(Some(other)), "{other:?}");
        }
        assert!(Where::default().includes(None));
        assert_eq!("layer=x".parse::<Where>().unwrap_err(), PlaceError("layer=x".into()));
    }
}
