//! A report in JSON, read back.

use std::path::Path;

use backend_hip::objects::Provided;
use conformance::declaration::Contradiction;
use conformance::outcome::{CaseResult, Fidelity, Outcome};
use kernels::{Identity, Worst};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{DeviceCode, Plan, PluginFile, Provenance, Sweep, Tested, place};

#[derive(Deserialize)]
struct Report {
    date: String,
    machine: String,
    filter: String,
    flags: String,
    backends: Vec<Backend>,
    seed: u64,
    seconds: f64,
    interrupted: bool,
    left_out: usize,
    not_run: Vec<String>,
    plan: Plan,
    plugin: Option<PluginFile>,
    device_code: Vec<Code>,
    cases: Vec<Case>,
    smaller: Vec<Smaller>,
    contradictions: Vec<Contradiction>,
}

#[derive(Deserialize)]
struct Backend {
    name: String,
    device: String,
    place: String,
}

#[derive(Deserialize)]
struct Code {
    backend: String,
    op: String,
    origin: String,
    sha256: String,
    names: Vec<String>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    verdict: String,
    detail: Value,
    worst: Option<Worst>,
    compared: usize,
    micros: u64,
    fidelity: Option<Fidelity>,
}

#[derive(Deserialize)]
struct Smaller {
    of: String,
    #[serde(flatten)]
    case: Case,
}

/// The sweep that the report in `path` is of; a sentence where it is no report.
pub fn read(path: &Path) -> Result<Sweep, String> {
    let text = input_file::read_text(path, input_file::TEXT).map_err(|e| e.to_string())?;
    let report: Report = serde_json::from_str(&text)
        .map_err(|e| format!("is no report of this version's assay check --json: {e}"))?;
    Ok(Sweep {
        provenance: Provenance { date: report.date, machine: report.machine },
        backends: report.backends.into_iter().map(tested).collect::<Result<_, _>>()?,
        filter: report.filter,
        flags: report.flags,
        left_out: report.left_out,
        seed: report.seed,
        results: report.cases.into_iter().map(result).collect::<Result<_, _>>()?,
        shrunk: report
            .smaller
            .into_iter()
            .map(|smaller| Ok((smaller.of, result(smaller.case)?)))
            .collect::<Result<_, String>>()?,
        contradictions: report.contradictions,
        seconds: report.seconds,
        not_run: report.not_run,
        interrupted: report.interrupted,
        device_code: report.device_code.into_iter().map(code).collect(),
        plugin: report.plugin,
        plan: report.plan,
    })
}

/// A backend. Its own name is that of the command line.
fn tested(backend: Backend) -> Result<Tested, String> {
    let Backend { name, device, place } = backend;
    let kind = place::parse(&place).ok_or_else(|| format!("backend {name} is on '{place}'"))?;
    Ok(Tested { name, identity: Identity { name: "", device, kind } })
}

fn result(case: Case) -> Result<CaseResult, String> {
    let Case { name, verdict, detail, worst, compared, micros, fidelity } = case;
    let outcome: Outcome = serde_json::from_value(json!({ "verdict": verdict, "detail": detail }))
        .map_err(|e| format!("the verdict of {name}: {e}"))?;
    Ok(CaseResult { name, outcome, worst, compared, micros, fidelity })
}

fn code(code: Code) -> DeviceCode {
    let Code { backend, op, origin, sha256, names } = code;
    DeviceCode { backend, object: Provided { stem: op, origin, sha256, kernels: names } }
}
