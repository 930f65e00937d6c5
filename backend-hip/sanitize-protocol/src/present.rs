//! Reports as people read them.

use softhip::memory::{FaultKind, Side};
use softhip::report::{Problem, Report};

/// Gives C++ kernels their names in the source, and says how many bytes an access past the end needs. `launch` is how many the whole launch
/// would need, if that is known.
pub fn present(report: &mut Report, launch: Option<u64>) {
    demangle(report);
    report.notes.extend(extents(&report.problem, launch));
}

/// How many bytes an access past the end needs, and how many there are.
fn extents(problem: &Problem, launch: Option<u64>) -> Option<String> {
    let Problem::Access { fault, .. } = problem else { return None };
    let FaultKind::OutOfBounds { side: Side::After, .. } = fault.kind else { return None };
    let nearest = fault.nearest.as_deref()?;
    let end = fault.address.checked_sub(nearest.base)?.checked_add(fault.size)?;
    let launch = launch.map_or(String::new(), |bytes| format!("the launch needs {bytes}, "));
    Some(format!("the access needs {end} bytes, {launch}the buffer has {}", nearest.size))
}

fn demangle(report: &mut Report) {
    if let Some(at) = &mut report.at {
        at.kernel = demangled(&at.kernel);
    }
    if let Problem::Launch { kernel, .. } = &mut report.problem {
        *kernel = demangled(kernel);
    }
    if let Problem::StreamRace { first, second, .. } = &mut report.problem {
        for kernel in [&mut first.kernel, &mut second.kernel].into_iter().flatten() {
            *kernel = demangled(kernel);
        }
    }
}

/// The name of a C++ function in its source, or what was given.
pub fn demangled(name: &str) -> String {
    let symbol = cpp_demangle::Symbol::new(name).ok();
    symbol
        .and_then(|symbol| symbol.demangle(&cpp_demangle::DemangleOptions::default()).ok())
        .unwrap_or_else(|| name.to_owned())
}
