//! Foreign kernels in a sweep: which cases are theirs, and whether they ran.

use std::collections::BTreeSet;

use assay_cli::report::Sweep;
use conformance::name::CaseName;
use conformance::outcome::Outcome;
use conformance::suite;
use kernel_manifest::Manifest;
use kernels::Stem;

use crate::commands::Trouble;
use crate::commands::kernels::Resolved;

/// The manifest of a sweep.
pub struct Foreign {
    manifest: Manifest,
    /// The ops that it has kernels of.
    pub stems: Vec<Stem>,
}

impl Foreign {
    /// The manifest of `kernels`, if there is one, worked out for small ops of each kind: an overflow ends here, and not in a worker.
    pub fn open(kernels: &Resolved) -> Result<Option<Self>, Trouble> {
        let Some(files) = kernels.files() else { return Ok(None) };
        let manifest = Manifest::open(&files.manifest).map_err(Trouble::input)?;
        let stems = manifest.stems();
        for stem in &stems {
            manifest.rehearse(&suite::forms(*stem)).map_err(Trouble::input)?;
        }
        Ok(Some(Foreign { manifest, stems }))
    }

    /// Whether the case called `name` is about an op of the manifest.
    pub fn has(&self, name: &str) -> bool {
        CaseName::parse(name).is_ok_and(|(name, _)| self.stems.contains(&name.stem))
    }

    /// Notes which ops of the manifest had no case. An op whose cases were all unsupported, and a manifest without a case, are errors:
    /// nothing was tested.
    pub fn ran(&self, finished: &mut Sweep) -> Result<(), Trouble> {
        let stem = |name: &str| CaseName::parse(name).ok().map(|(name, _)| name.stem);
        let of = |ran: fn(&Outcome) -> bool| -> BTreeSet<Stem> {
            let results = finished.results.iter().filter(|result| ran(&result.outcome));
            results.filter_map(|result| stem(&result.name)).collect()
        };
        let asked = of(|_| true);
        let ran = of(|outcome| !matches!(outcome, Outcome::Unsupported(_) | Outcome::Ignored(_)));
        if let Some(idle) = self.stems.iter().find(|stem| asked.contains(*stem) && !ran.contains(*stem)) {
            let why = finished.results.iter().find_map(|result| match &result.outcome {
                Outcome::Unsupported(reason) if stem(&result.name) == Some(*idle) => Some(reason.as_str()),
                _ => None,
            });
            let (manifest, why) = (&self.manifest, why.unwrap_or_default());
            return Err(Trouble::Input(format!("{manifest}: no case of {idle} is one that it takes: {why}")));
        }
        let left: Vec<&str> =
            self.stems.iter().filter(|stem| !asked.contains(*stem)).map(|stem| stem.name()).collect();
        match left.as_slice() {
            [] => Ok(()),
            left if left.len() == self.stems.len() => {
                let stems: Vec<&str> = self.stems.iter().map(|stem| stem.name()).collect();
                let what = format!("{}: no case of {} was selected", self.manifest, stems.join(", "));
                Err(Trouble::Input(what))
            }
            left => {
                finished.not_run.push(format!("no case of {}, which the manifest has", left.join(", ")));
                Ok(())
            }
        }
    }
}
