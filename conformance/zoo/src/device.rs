//! Bugs in device code: kernels built from changed sources, run on the software device.
//!
//! `kernels/hip/mutants/mutants.toml` says what is wrong with each and which edits make it so; `build.py` beside it builds the
//! objects. A mutant's object stands in for the program's own, kernel by kernel.

use std::borrow::Cow;
use std::sync::LazyLock;

use backend_hip::objects::{Objects, gfx942};
use code_object::CodeObject;
use kernels::Stem;
use kernels::device_code::mutants::{OBJECTS, TABLE};
use safetensors::SafeTensors;
use serde::Deserialize;

use crate::mutant::About;
use crate::probe::Probe;

/// Prefix of a device mutant's name where a backend is asked for.
pub const PREFIX: &str = "soft:";

/// A kernel with a planted bug.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceMutant {
    /// Name.
    pub name: String,
    /// The op whose kernel has the bug.
    pub stem: Stem,
    /// What it is about.
    pub about: About,
    /// The mistake.
    pub fault: String,
    /// What was changed in the sources.
    #[serde(default)]
    pub edits: Vec<Edit>,
    /// What was changed in the assembly that the compiler makes of them, by regular expressions.
    #[serde(default)]
    pub assembly: Vec<Edit>,
}

/// A change of a source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The only file in which it is made, where the text occurs in several.
    pub file: Option<String>,
    /// Text that goes.
    pub find: String,
    /// Text that comes instead.
    pub replace: String,
}

#[derive(Deserialize)]
struct Table {
    mutant: Vec<DeviceMutant>,
}

static MUTANTS: LazyLock<Vec<DeviceMutant>> = LazyLock::new(|| {
    toml::from_str::<Table>(TABLE).expect("the table is part of the program and tested").mutant
});

/// All mutants of device code.
pub fn mutants() -> &'static [DeviceMutant] {
    &MUTANTS
}

/// The mutant called `name`.
pub fn find(name: &str) -> Option<&'static DeviceMutant> {
    mutants().iter().find(|mutant| mutant.name == name)
}

impl DeviceMutant {
    /// The mutant's kernels. `probe` counts those among them that are used and differ from the program's own.
    pub fn objects(&'static self, probe: &Probe) -> Objects {
        let origin = format!("the mutant {}", self.name);
        let probe = probe.clone();
        let own = gfx942(self.stem.name()).and_then(|bytes| CodeObject::read(bytes).ok());
        Objects::new(origin, move |stem| {
            (stem == self.stem.name()).then(|| match self.object() {
                Some(bytes) => Ok(Cow::Borrowed(bytes)),
                None => Err(format!("no object was built for the mutant '{}'", self.name).into()),
            })
        })
        .watched(move |object, kernel| {
            let same = own.as_ref().is_some_and(|own| {
                let code = own.kernel(&kernel.name).and_then(|k| own.words(k.code.clone()));
                code.is_some() && code == object.words(kernel.code.clone())
            });
            if !same {
                probe.reach();
            }
        })
    }

    fn object(&self) -> Option<&'static [u8]> {
        Some(SafeTensors::deserialize(OBJECTS).ok()?.tensor(&self.name).ok()?.data())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_table_can_be_read_and_every_mutant_has_an_object_of_its_own() {
        let table: Table = toml::from_str(TABLE).unwrap();
        let objects = SafeTensors::deserialize(OBJECTS).unwrap();
        assert_eq!(table.mutant.len(), objects.len());
        let mut seen = HashSet::new();
        for mutant in mutants() {
            let object = mutant.object().unwrap_or_else(|| panic!("{} has no object", mutant.name));
            assert!(seen.insert(object), "{} is built as another one", mutant.name);
            let own = gfx942(mutant.stem.name()).unwrap();
            assert_ne!(object, own, "{} is no mutant", mutant.name);
        }
    }
}
