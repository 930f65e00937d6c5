//! A sweep as JSON.

use serde_json::{Value, json};

use super::fidelity::of_backend;
use super::{DeviceCode, Sweep, Tested, place};
use conformance::outcome::{CaseResult, Outcome};

/// The sweep as one JSON value: when and where, totals, backends, and every case with its verdict, worst element, share of the budget and time.
pub fn json(sweep: &Sweep) -> Value {
    let backends = sweep.backends.iter().map(|tested| {
        let Tested { name, identity } = tested;
        let mut backend =
            json!({ "name": name, "device": identity.device, "place": place::name(identity.kind) });
        if let Some(fidelity) = of_backend(sweep, name) {
            backend["fidelity"] = json!(fidelity);
        }
        backend
    });
    let cases = sweep.results.iter().map(|result| {
        let mut case = case(result);
        if let Outcome::Failed(_) = result.outcome {
            case["rerun"] = sweep.rerun(&result.name).into();
            case["shrunk"] =
                sweep.smaller(&result.name).map_or(Value::Null, |small| small.name.clone().into());
        }
        case
    });
    let smaller = sweep.shrunk.iter().map(|(original, small)| {
        let mut case = case(small);
        case["of"] = original.as_str().into();
        case
    });
    json!({
        "assay": env!("CARGO_PKG_VERSION"),
        "date": sweep.provenance.date,
        "machine": sweep.provenance.machine,
        "filter": sweep.filter,
        "flags": sweep.flags,
        "totals": sweep.totals(),
        "backends": backends.collect::<Vec<_>>(),
        "seed": sweep.seed,
        "seconds": sweep.seconds,
        "interrupted": sweep.interrupted,
        "left_out": sweep.left_out,
        "not_run": sweep.not_run,
        "plan": sweep.plan,
        "plugin": sweep.plugin,
        "device_code": sweep.device_code.iter().map(DeviceCode::json).collect::<Vec<_>>(),
        "cases": cases.collect::<Vec<_>>(),
        "contradictions": sweep.contradictions,
        "smaller": smaller.collect::<Vec<_>>(),
    })
}

/// A case with its verdict.
fn case(result: &CaseResult) -> Value {
    let outcome = serde_json::to_value(&result.outcome).unwrap_or(Value::Null);
    let worst = serde_json::to_value(&result.worst).unwrap_or(Value::Null);
    let mut case = json!({
        "name": result.name,
        "verdict": outcome["verdict"],
        "detail": outcome["detail"],
        "share": worst["share"],
        "worst": worst,
        "compared": result.compared,
        "micros": result.micros,
    });
    if let Some(fidelity) = &result.fidelity {
        case["fidelity"] = json!(fidelity);
    }
    case
}
