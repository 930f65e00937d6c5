//! Runs without a finding that say nothing about the program, because nothing was checked.

use assay_cli::report::sanitize::Sanitized;
use assay_cli::spelling;
use sanitize_protocol::{Settings, Tool};

/// Kernels that an error lists.
const LISTED: usize = 12;

/// Why nothing, or nothing of what was asked for, was checked.
pub fn checked(settings: &Settings, run: &Sanitized, on_gpu: bool) -> Option<String> {
    if !run.has_begun() {
        return Some(
            "it made no HIP call through this library; a program that is linked statically, or with a DT_RPATH, does not look for it".into(),
        );
    }
    if !run.is_clean() {
        return None;
    }
    if settings.selects() && !run.kernels.values().any(|&selected| selected) {
        return Some(selected_none(settings, run));
    }
    if on_gpu {
        return None;
    }
    let looks_at_calls = [Tool::Hostcheck, Tool::Leakcheck].iter().any(|tool| settings.tools.contains(tool));
    if run.ended_in_order() && run.launches == 0 && !looks_at_calls {
        return Some(format!(
            "it launched no kernel, and --tool {} is about kernels",
            names(&settings.tools)
        ));
    }
    if !run.ended_in_order() && settings.tools == [Tool::Leakcheck] {
        return Some("it did not end in order, so that leaks were not looked for".into());
    }
    None
}

fn names(tools: &[Tool]) -> String {
    tools.iter().map(|tool| tool.name()).collect::<Vec<_>>().join(",")
}

/// No launch is one of those that were asked for.
fn selected_none(settings: &Settings, run: &Sanitized) -> String {
    let mut wanted = Vec::new();
    if let Some(part) = &settings.kernel {
        wanted.push(format!("--kernel {part}"));
    }
    if let Some(launches) = settings.launches {
        wanted.push(format!("--launch {launches}"));
    }
    let wanted = wanted.join(" and ");
    if run.kernels.is_empty() {
        return format!("it launched no kernel, and {wanted} selects some");
    }
    let launches =
        if run.ended_in_order() { format!("its {} launches", run.launches) } else { "its launches".into() };
    let known = run.kernels.keys().map(String::as_str);
    let list: Vec<&str> = known.clone().take(LISTED).collect();
    let more = run.kernels.len().saturating_sub(LISTED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let nearest = settings.kernel.as_deref().and_then(|part| spelling::nearest(part, known));
    let nearest = nearest.map_or(String::new(), |name| format!("; the nearest name is {name}"));
    format!("none of {launches} matches {wanted}; it launched {}{more}{nearest}", list.join(", "))
}
