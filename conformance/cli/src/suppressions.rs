//! Findings that are known: a TOML file with a table for each.

use std::path::Path;

use sanitize_protocol::{Finding, Tool};
use serde::{Deserialize, Serialize};
use softhip::memory::Site;
use softhip::report::{Problem, Report};

/// A list of known findings.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suppressions {
    #[serde(default)]
    suppression: Vec<Suppression>,
}

/// A known finding. Every part that is given must be the finding's.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Suppression {
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<Tool>,
    /// The kernel, as a report prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    /// File and line in device code.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// The HIP call.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// File and line in host code: of the call, or else of the allocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
}

impl Suppression {
    /// All parts of a finding.
    fn of(finding: &Finding) -> Self {
        let report: &Report = &finding.report;
        let launched = match &report.problem {
            Problem::Launch { kernel, .. } => Some(kernel.clone()),
            _ => None,
        };
        let place = |site: &Site| site.to_string();
        let called = report.call.as_ref().and_then(|call| call.site.as_ref());
        let allocated = report.allocation().and_then(|allocation| allocation.allocated.as_ref());
        Self {
            tool: finding.tool,
            kernel: report.at.as_ref().map(|at| at.kernel.clone()).or(launched),
            source: report.at.as_ref().and_then(|at| at.source.as_ref()).map(place),
            call: report.call.as_ref().map(|call| call.function.to_string()),
            host: called.or(allocated).map(place),
        }
    }

    fn covers(&self, all: &Self) -> bool {
        let Self { tool, kernel, source, call, host } = self;
        let same = |mine: &Option<String>, its: &Option<String>| mine.is_none() || mine == its;
        (tool.is_none() || *tool == all.tool)
            && same(kernel, &all.kernel)
            && same(source, &all.source)
            && same(call, &all.call)
            && same(host, &all.host)
    }
}

impl Suppressions {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = input_file::read_text(path, input_file::TEXT).map_err(|error| wrong(&error))?;
        let read: Self = toml::from_str(&text).map_err(|error| wrong(&error))?;
        if read.suppression.contains(&Suppression::default()) {
            return Err(wrong(&"a suppression that says nothing suppresses everything"));
        }
        Ok(read)
    }

    /// Those that cover all of `findings`.
    pub fn of(findings: &[Finding]) -> Self {
        let mut suppression: Vec<Suppression> = Vec::new();
        for all in findings.iter().map(Suppression::of) {
            if !suppression.contains(&all) {
                suppression.push(all);
            }
        }
        Self { suppression }
    }

    /// The file's text.
    pub fn text(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// Whether a finding is known.
    pub fn cover(&self, finding: &Finding) -> bool {
        let all = Suppression::of(finding);
        self.suppression.iter().any(|suppression| suppression.covers(&all))
    }
}
