//! The types in which a target takes the floats of an op: a kernel for f16 alone gets the whole suite in f16.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use kernels::{DType, Record, Stem, Support};
use serde::{Deserialize, Serialize};

use crate::floats::{Floats, means_the_same};
use crate::name::CaseName;
use crate::suite;
use crate::target::Target;

/// The types in which a target takes the floats of ops that it does not take in f32.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<CaseParts>", into = "Vec<CaseParts>")]
pub struct Taken(HashMap<Stem, Vec<Floats>>);

/// Types as they are stored: the op, and what stands at the end of the names of its cases.
type CaseParts = (String, String);

impl From<Taken> for Vec<CaseParts> {
    fn from(taken: Taken) -> Self {
        let named = |stem: Stem, floats: &Floats| {
            let bare = CaseName { stem, format: DType::F32, fields: String::new() };
            (stem.name().to_owned(), floats.name(&bare).fields)
        };
        taken.0.iter().flat_map(|(stem, all)| all.iter().map(|floats| named(*stem, floats))).collect()
    }
}

impl TryFrom<Vec<CaseParts>> for Taken {
    type Error = String;

    fn try_from(parts: Vec<CaseParts>) -> Result<Self, String> {
        let mut taken: HashMap<Stem, Vec<Floats>> = HashMap::new();
        for (stem, fields) in parts {
            let stem = stem.parse().map_err(|e: kernels::ops::UnknownStem| e.to_string())?;
            let named = CaseName { stem, format: DType::F32, fields };
            let (_, floats) = Floats::split(&named).map_err(|e| e.to_string())?;
            taken.entry(stem).or_default().push(floats);
        }
        Ok(Taken(taken))
    }
}

impl Taken {
    /// The types that `target` takes in any small form of an op.
    pub fn by(target: &dyn Target) -> Self {
        let mut taken = HashMap::new();
        for &stem in Stem::ALL {
            let forms: Vec<_> =
                suite::forms(stem).into_iter().filter(|f| f.short_floats().count() == 0).collect();
            let takes = |floats: &Floats| {
                forms.iter().any(|form| matches!(target.supports(&floats.form(form)), Support::Yes))
            };
            let mut choices = Floats::choices(stem).into_iter();
            if choices.next().is_some_and(|f32| !takes(&f32)) {
                let short: Vec<_> = choices.filter(takes).collect();
                taken.insert(stem, short);
            }
        }
        taken.retain(|_, choices| !choices.is_empty());
        Taken(taken)
    }

    /// The full name of a case in types that the target takes: its own name where there are none but f32, or where the case means
    /// something in f32 alone.
    pub fn pose(&self, full: &str) -> String {
        let posed = || {
            let (name, backend) = CaseName::parse(full).ok()?;
            let (base, own) = Floats::split(&name).ok()?;
            let choices = self.0.get(&name.stem).filter(|c| means_the_same(&base) && !c.contains(&own))?;
            let nth = base.hash() % choices.len() as u64;
            Some(choices[usize::try_from(nth).ok()?].name(&base).on(&backend))
        };
        posed().unwrap_or_else(|| full.to_owned())
    }

    /// The op of `record`, in f32, in types that the target takes.
    pub fn apply<'r>(&self, record: &'r Record) -> Cow<'r, Record> {
        match self.0.get(&record.stem).and_then(|choices| choices.first()) {
            Some(floats) => floats.apply(record),
            None => Cow::Borrowed(record),
        }
    }

    /// The names in types that the target takes, each once.
    pub fn pose_all(&self, names: Vec<String>) -> Vec<String> {
        if self.0.is_empty() {
            return names;
        }
        let mut seen = HashSet::new();
        names.iter().map(|name| self.pose(name)).filter(|name| seen.insert(name.clone())).collect()
    }
}
