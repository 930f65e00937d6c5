//! A selection of taps, as on the command line.

use std::ops::RangeInclusive;
use std::str::FromStr;

use super::{Point, UnknownPoint};

/// A list of trace points, each in all layers or only in some: `q_rope,attn_out@3,x_out@0-5,all@7`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selection {
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Part {
    /// `None`: all points.
    point: Option<Point>,
    /// `None`: all layers, and the points outside of them.
    layers: Option<RangeInclusive<usize>>,
}

/// A selection that cannot be parsed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// No point has that name.
    #[error(transparent)]
    Point(#[from] UnknownPoint),
    /// The text after `@` is neither a layer nor a range of layers.
    #[error("'{found}': want a layer or a range of layers after '@', as in x_out@3 or x_out@0-5")]
    Layers {
        /// The part.
        found: String,
    },
    /// A layer is given for a point outside the layers.
    #[error("'{found}': {point} is not part of a layer")]
    NoLayer {
        /// The part.
        found: String,
        /// The point.
        point: Point,
    },
    /// Nothing stands between two commas.
    #[error("'{found}': nothing stands between two commas, or beside one")]
    Empty {
        /// The whole text.
        found: String,
    },
    /// The model has fewer layers.
    #[error("layer {layer}, the model has {layers}")]
    Beyond {
        /// The layer that is asked for.
        layer: usize,
        /// How many there are.
        layers: usize,
    },
}

impl Selection {
    /// True if `point` of `layer` is selected.
    pub fn includes(&self, point: Point, layer: Option<usize>) -> bool {
        self.parts.iter().any(|part| {
            part.point.is_none_or(|p| p == point)
                && part.layers.as_ref().is_none_or(|layers| layer.is_some_and(|l| layers.contains(&l)))
        })
    }
}

impl Selection {
    /// Refuses layers that a model of so many has not.
    pub fn within(&self, layers: usize) -> Result<(), SelectionError> {
        let last = |part: &Part| part.layers.as_ref().map(|layers| *layers.end());
        match self.parts.iter().filter_map(last).find(|layer| *layer >= layers) {
            Some(layer) => Err(SelectionError::Beyond { layer, layers }),
            None => Ok(()),
        }
    }
}

impl FromStr for Selection {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, SelectionError> {
        if text.trim().is_empty() {
            return Ok(Selection::default());
        }
        let parts = text.split(',').map(str::trim).map(|name| match name {
            "" => Err(SelectionError::Empty { found: text.into() }),
            name => part(name),
        });
        Ok(Selection { parts: parts.collect::<Result<_, _>>()? })
    }
}

fn part(text: &str) -> Result<Part, SelectionError> {
    let (name, layers) = match text.split_once('@') {
        Some((name, layers)) => (name, Some(layers)),
        None => (text, None),
    };
    let point = if name == "all" { None } else { Some(name.parse::<Point>()?) };
    let Some(layers) = layers else { return Ok(Part { point, layers: None }) };
    if let Some(point) = point.filter(|p| !p.in_layer()) {
        return Err(SelectionError::NoLayer { found: text.to_owned(), point });
    }
    let wrong = || SelectionError::Layers { found: text.to_owned() };
    let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
    let (first, last) = match layers.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(layers)?, number(layers)?),
    };
    if first > last {
        return Err(wrong());
    }
    Ok(Part { point, layers: Some(first..=last) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str, layers: usize) -> Vec<String> {
        let selection: Selection = text.parse().unwrap();
        let mut names = Vec::new();
        for &point in Point::ALL {
            if point.in_layer() {
                let layers = (0..layers).filter(|&l| selection.includes(point, Some(l)));
                names.extend(layers.map(|l| format!("{point}@{l}")));
            } else if selection.includes(point, None) {
                names.push(point.to_string());
            }
        }
        names
    }

    #[test]
    fn parts_choose_points_and_layers() {
        assert_eq!(chosen("logits, q@1", 3), ["q@1", "logits"]);
        assert_eq!(chosen("x_out,x_out@2", 3), ["x_out@0", "x_out@1", "x_out@2"]);
        assert_eq!(chosen("x_in@1-2,embed_out", 4), ["embed_out", "x_in@1", "x_in@2"]);
        assert_eq!(chosen("all@0", 2).len(), Point::ALL.iter().filter(|p| p.in_layer()).count());
        assert_eq!(chosen("all", 1).len(), Point::ALL.len());
        assert_eq!(chosen("", 2), Vec::<String>::new());
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| text.parse::<Selection>().unwrap_err().to_string();
        assert!(error("x_off").starts_with("unknown trace point 'x_off'; the points are embed_out, x_in,"));
        assert_eq!(error("q,,k"), "'q,,k': nothing stands between two commas, or beside one");
        assert!(error("q,").starts_with("'q,': nothing") && error(",").starts_with("',': nothing"));
        assert_eq!(error("logits@3"), "'logits@3': logits is not part of a layer");
        for bad in ["q@", "q@x", "q@3-1", "q@1-"] {
            assert!(error(bad).starts_with(&format!("'{bad}': want a layer")), "{bad}");
        }
    }

    #[test]
    fn layers_that_a_model_has_not_are_refused() {
        let within = |text: &str| text.parse::<Selection>().unwrap().within(3).map_err(|e| e.to_string());
        assert_eq!(within("q@2,x_out@0-2,all,logits"), Ok(()));
        assert_eq!(within("all@99999999999999"), Err("layer 99999999999999, the model has 3".into()));
        assert_eq!(within("q@2-3"), Err("layer 3, the model has 3".into()));
    }
}
