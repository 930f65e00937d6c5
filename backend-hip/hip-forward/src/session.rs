//! The settings of `assay sanitize --on gpu`, and what it is told.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use hip_api::Code;
use launch_capsule::{Found, LaunchCapsule};
use sanitize_protocol::{
    FORWARD_VARIABLE, Failure, Finding, Message, MessageLog, Settings, Stack, Tool, present,
};
use softhip::control::LaunchRecord;
use softhip::report::Report;

struct Session {
    settings: Settings,
    messages: MessageLog,
}

/// `None` inside: the library was preloaded by somebody else, and only forwards.
static SESSION: OnceLock<Option<Session>> = OnceLock::new();
/// Launches so far.
static LAUNCHES: AtomicU64 = AtomicU64::new(0);
/// Launches since the last moment at which all were known to have ended well.
static UNKNOWN: AtomicU64 = AtomicU64::new(0);
/// A failure that sticks has been told: later calls answer the same.
static FAILED: AtomicBool = AtomicBool::new(false);

fn session() -> Option<&'static Session> {
    SESSION.get_or_init(open).as_ref()
}

fn open() -> Option<Session> {
    let given = std::env::var(FORWARD_VARIABLE).ok()?;
    let settings: Settings = serde_json::from_str(&given)
        .inspect_err(|error| print_line(&format!("assay: {FORWARD_VARIABLE}: {error}")))
        .ok()?;
    if settings.only_children_of.is_some_and(|parent| parent != std::os::unix::process::parent_id()) {
        return None;
    }
    let messages = MessageLog::open(settings.messages.clone());
    let messages = messages.inspect_err(|error| print_line(&format!("assay: {error}"))).ok()?;
    let session = Session { settings, messages };
    session.tell(&Message::Begun { process: std::process::id() });
    Some(session)
}

impl Session {
    fn tell(&self, message: &Message) {
        if let Err(error) = self.messages.tell(message) {
            print_line(&format!("assay: {error}"));
        }
    }

    /// Writes a launch to a file, if that was asked for.
    fn save(&self, record: Option<LaunchRecord>, answer: &str) -> Option<PathBuf> {
        static SAVED: AtomicU32 = AtomicU32::new(0);
        let mut record = record?;
        let number = SAVED.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}.capsule", std::process::id());
        let path = self.settings.capsules.as_ref()?.join(name);
        let allocations = record.memory.iter_mut().map(|snapshot| &mut snapshot.info);
        let sites = allocations.flat_map(|info| [&mut info.allocated, &mut info.freed]);
        for site in sites.chain([&mut record.call.site]).flatten() {
            if let Some(number) = site.stack {
                *site = host_stack::site(&host_stack::frames(number));
            }
        }
        let capsule = LaunchCapsule { record, found: Found::Answer(answer.to_owned()) };
        let written = launch_capsule::file::write(&path, "assay sanitize --on gpu", &capsule);
        written.inspect_err(|error| print_line(&format!("assay: {error}"))).ok().map(|()| path)
    }
}

/// Are launches waited for one by one?
pub(crate) fn synchronises() -> bool {
    session().is_some_and(|session| session.settings.sync_per_op)
}

/// Tells of a kernel's first launch that was asked for, and of its first that was not. Answers whether this one is to be recorded before it
/// is made.
pub(crate) fn records(kernel: &str, number: u64) -> bool {
    static KNOWN: Mutex<BTreeSet<(String, bool)>> = Mutex::new(BTreeSet::new());
    let Some(session) = session() else { return false };
    let selected = session.settings.select(kernel, number);
    if session.settings.selects() {
        let known = (kernel.to_owned(), selected);
        if KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(known) {
            session.tell(&Message::Launched { kernel: kernel.to_owned(), selected });
        }
    }
    selected && session.settings.capsules.is_some()
}

/// Does device memory get guard zones?
pub(crate) fn guards() -> bool {
    session().is_some_and(|session| session.settings.guard_zones)
}

/// The latest launch and its kernel.
static LATEST: Mutex<Option<(u64, String)>> = Mutex::new(None);

/// A launch is about to be made.
pub(crate) fn launches(number: u64, kernel: &str) {
    if guards() {
        *LATEST.lock().unwrap_or_else(PoisonError::into_inner) = Some((number, kernel.to_owned()));
    }
}

/// The latest launch in words.
pub(crate) fn latest() -> String {
    match &*LATEST.lock().unwrap_or_else(PoisonError::into_inner) {
        Some((number, kernel)) => {
            format!("after launch {number}, of {}", sanitize_protocol::demangled(kernel))
        }
        None => "before any launch".to_owned(),
    }
}

/// Counts a launch: its number, from 1.
pub(crate) fn next_launch() -> u64 {
    LAUNCHES.fetch_add(1, Ordering::Relaxed) + 1
}

/// A launch has been made, and perhaps ended well.
pub(crate) fn launched(ended_well: bool) {
    if ended_well {
        UNKNOWN.store(0, Ordering::Relaxed);
    } else {
        UNKNOWN.fetch_add(1, Ordering::Relaxed);
    }
}

/// A call of a name has answered.
pub(crate) fn answered(function: &'static str, code: i32) {
    let Some(session) = session() else { return };
    let code = Code(code);
    if code == Code::SUCCESS {
        if function == "hipDeviceSynchronize" {
            UNKNOWN.store(0, Ordering::Relaxed);
        }
        return;
    }
    if code == Code::NOT_READY || FAILED.load(Ordering::Relaxed) {
        return;
    }
    FAILED.fetch_or(sticks(code), Ordering::Relaxed);
    session.tell(&Message::Failure(failure(function, code, None, None, None)));
}

/// A launch has failed.
pub(crate) fn launch_failed(
    function: &'static str,
    code: i32,
    kernel: Option<String>,
    number: u64,
    record: Option<LaunchRecord>,
) {
    let Some(session) = session() else { return };
    let code = Code(code);
    if FAILED.load(Ordering::Relaxed) {
        return;
    }
    FAILED.fetch_or(sticks(code), Ordering::Relaxed);
    let capsule = session.save(record, &code.name().to_string_lossy());
    session.tell(&Message::Failure(failure(function, code, kernel, Some(number), capsule)));
}

fn failure(
    function: &str,
    code: Code,
    kernel: Option<String>,
    launch: Option<u64>,
    capsule: Option<PathBuf>,
) -> Failure {
    Failure {
        process: std::process::id(),
        function: function.to_owned(),
        answer: code.name().to_string_lossy().into_owned(),
        frames: host_stack::frames(host_stack::take()),
        kernel,
        launch,
        unknown_launches: UNKNOWN.load(Ordering::Relaxed),
        capsule,
    }
}

/// Do all later calls answer the same?
fn sticks(code: Code) -> bool {
    [Code::ILLEGAL_ADDRESS, Code::LAUNCH_FAILURE, Code::LAUNCH_TIME_OUT].contains(&code)
}

/// Tells of something that is wrong with a launch.
pub(crate) fn report(mut report: Report) {
    let Some(session) = session() else { return };
    let tool = Tool::of(&report.problem);
    let mut stacks = Vec::new();
    for (event, site) in report.host_sites() {
        let Some(number) = site.stack else { continue };
        let frames = host_stack::frames(number);
        *site = host_stack::site(&frames);
        stacks.push(Stack { event, frames });
    }
    present(&mut report, None);
    let text = report.to_string();
    let process = std::process::id();
    let finding = Finding { process, tool, sticks: false, report, text, stacks, capsule: None };
    session.tell(&Message::Finding(Box::new(finding)));
}

/// Prints a line. A program that has closed its standard error stream gets none.
pub(crate) fn print_line(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Runs when the program has ended.
extern "C" fn end() {
    if let Some(Some(session)) = SESSION.get() {
        session.tell(&Message::Ended {
            process: std::process::id(),
            launches: LAUNCHES.load(Ordering::Relaxed),
            never_ran: 0,
            instructions: 0,
            repeated: 0,
            copies_to_host: 0,
        });
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;
