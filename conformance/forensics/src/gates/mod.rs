//! Do two runs of a model say the same? Gates that can fail, on logits in files.
//!
//! A run is a folder of `metadata.json`, `logits.jsonl.gz` and `summary.json`, which other engines can write, too. A gate compares two of
//! them, says how many entries it compared, and has first failed on a perturbed control.
//!
//! * [`folder`]: a run in a folder. [`gzip`] is its compression. [`rows`] makes the logits of a run, in one of several ways.
//! * [`distance`]: how far two runs are apart. [`gate`]: the verdicts, and runs that must not be compared.

pub mod distance;
pub mod folder;
pub mod gate;
pub mod gzip;
pub mod rows;
