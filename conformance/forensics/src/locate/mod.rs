//! Which op faulted.
//!
//! On a GPU the error of a kernel surfaces at the next call that waits, as a rule a copy, and that call is blamed. So the model
//! runs again in a process of its own, with a synchronisation behind each op ([`inside`]): the first op behind which it fails is
//! the one. The process tells of each op before it starts it, with all its arguments, so that the op is known even when the
//! fault takes the process along ([`outside`]).

pub mod inside;
pub mod outside;

use std::fmt::Write;
use std::ops::Range;
use std::path::PathBuf;

use engine::generate::GenerateError;
use engine::model::ModelError;
use kernels::{DeviceError, Role, Site};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An op with its arguments, as it is launched.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Call {
    /// Ops before it.
    pub number: usize,
    /// Where in the model it stands.
    pub site: Option<Site>,
    /// The op.
    pub op: String,
    /// Its parameters.
    pub params: Map<String, Value>,
    /// Stream, kernel and grid, where the backend can tell and the process has lived to ask it.
    pub launch: Option<String>,
    /// Its operands.
    pub arguments: Vec<Argument>,
}

impl Call {
    /// How it was launched, in words.
    pub fn launched(&self) -> &str {
        self.launch.as_deref().unwrap_or("one stream; this backend has no grid")
    }
}

/// An operand of a [`Call`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Argument {
    /// Name of the op's field.
    pub name: String,
    /// Read or written.
    pub role: Role,
    /// Type and shape.
    pub layout: String,
    /// The device's address of its first byte, where the backend can tell.
    pub address: Option<u64>,
    /// Bytes of the allocation that it spans.
    pub extent: Range<usize>,
    /// What the allocation is for.
    pub owner: String,
    /// Bytes of the allocation.
    pub allocation: usize,
}

/// A copy to the host.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CopyCall {
    /// Which tensor of which step.
    pub site: Site,
    /// Bytes of the allocation.
    pub extent: Range<usize>,
    /// What the allocation is for.
    pub owner: String,
}

/// What the process inside tells, a line of JSON each.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// An op is about to start.
    Op(Box<Call>),
    /// A copy is about to start; everything before it has ended well.
    Copy(CopyCall),
    /// The op that was begun last has failed.
    Fault {
        /// What the device says.
        what: String,
        /// How the op was launched, where the backend can tell.
        launch: Option<String>,
    },
    /// The bug that was planted in the backend was not reached.
    ProbeNotReached,
    /// The run has ended: well, or with the engine's error.
    End(Option<Reported>),
}

/// Which call brought the engine's error to light. Errors of a GPU surface late, so that this need not be the call at fault.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Messenger {
    /// A copy to the host.
    Copy,
    /// The launch of an op.
    Op(Site),
    /// Something else: loading, an allocation, the end of the process.
    Other,
}

/// The engine's own error.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reported {
    /// What it says.
    pub what: String,
    /// Which call brought it to light.
    pub messenger: Messenger,
}

impl Reported {
    /// The error that ended a run.
    pub fn of(error: &GenerateError) -> Self {
        let messenger = match error {
            GenerateError::Model(ModelError::Device { source: DeviceError::Copy(_), .. }) => Messenger::Copy,
            GenerateError::Model(ModelError::Device { site, .. }) => Messenger::Op((**site).clone()),
            _ => Messenger::Other,
        };
        Reported { what: error.to_string(), messenger }
    }
}

/// Who faulted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "culprit")]
pub enum Culprit {
    /// A kernel.
    Kernel(Box<Call>),
    /// A copy: every kernel before it ended well.
    Copy(CopyCall),
    /// The run failed before its first op.
    Start,
}

/// A located fault.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Fault {
    /// Who faulted.
    #[serde(flatten)]
    pub culprit: Culprit,
    /// What the device, or the system, says.
    pub what: String,
    /// Whether it took the process along, so that no device says what it was.
    #[serde(default)]
    pub died: bool,
    /// The op in a file that was written before it started.
    pub capsule: Option<PathBuf>,
}

/// What came of the search.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Located {
    /// Backend, as on the command line.
    pub backend: String,
    /// What the engine reports by itself, without synchronisation; `None` where it ended well.
    pub reported: Option<Reported>,
    /// The fault; `None` where the synchronised run ended well.
    pub fault: Option<Fault>,
    /// Ops that were started in the synchronised run.
    pub ops: usize,
}

impl Located {
    /// Whether both runs ended without an error.
    pub const fn ended_well(&self) -> bool {
        self.fault.is_none() && self.reported.is_none()
    }

    /// Whom the engine blames, where that is not the op at fault.
    pub fn blames_another(&self, call: &Call) -> Option<&'static str> {
        match &self.reported.as_ref()?.messenger {
            Messenger::Copy => Some("The copy that the engine reports is only the first call that waited."),
            Messenger::Op(site) if call.site.as_ref() != Some(site) => {
                Some("The op that the engine names is only the next one that was launched.")
            }
            Messenger::Op(_) | Messenger::Other => None,
        }
    }

    /// The report for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("backend: {}\n", self.backend);
        let _ = match &self.reported {
            Some(error) => writeln!(text, "the engine by itself reports: {}", error.what),
            None => writeln!(text, "the engine by itself reports no error"),
        };
        let Some(fault) = &self.fault else {
            let _ = writeln!(text, "NO FAULT in {} ops, synchronised one by one", self.ops);
            if self.reported.is_some() {
                text.push_str("The fault does not appear when ops are serialised: a matter of order, not of an op's arguments.\n");
            }
            return text;
        };
        match &fault.culprit {
            Culprit::Kernel(call) => {
                let site = call.site.as_ref().map_or(String::new(), |site| format!(", {site}"));
                let _ = writeln!(text, "\nTHE KERNEL FAULTED: {}{site} (op number {})", call.op, call.number);
                let _ = writeln!(text, "  says: {}", fault.what);
                text.push_str(&arguments(call));
                if let Some(late) = self.blames_another(call) {
                    let _ = writeln!(text, "  {late}");
                }
            }
            Culprit::Copy(copy) => {
                let _ = writeln!(text, "\nTHE COPY FAULTED: {} at step {}", copy.site.point, copy.site.step);
                let _ = writeln!(text, "  says: {}", fault.what);
                let _ = writeln!(text, "  bytes {:?} of '{}'", copy.extent, copy.owner);
                text.push_str("  Every kernel before it ended well.\n");
            }
            Culprit::Start => {
                let _ = writeln!(text, "\nTHE RUN FAILED BEFORE ITS FIRST OP\n  says: {}", fault.what);
            }
        }
        if let Some(capsule) = &fault.capsule {
            let path = capsule.display();
            let _ = writeln!(text, "  capsule: {path} (assay replay {path})");
        }
        text
    }
}

fn arguments(call: &Call) -> String {
    let mut text = String::new();
    for a in &call.arguments {
        let address = a.address.map_or("address unknown".into(), |at| format!("{at:#014x}"));
        let role = match a.role {
            Role::Input => "reads ",
            Role::Indices => "index ",
            Role::Output => "writes",
        };
        let _ = writeln!(
            text,
            "  {role} {:<10} {:<24} {address}  bytes {}..{} of {} in '{}'",
            a.name, a.layout, a.extent.start, a.extent.end, a.allocation, a.owner
        );
    }
    for (name, value) in &call.params {
        let _ = writeln!(text, "  {name} = {value}");
    }
    let _ = writeln!(text, "  launch: {}", call.launched());
    text
}
