//! The settings of `assay sanitize`, and what it is told. Without them, reports are text on the standard error stream.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hip_api::Code;
use launch_capsule::{Found, LaunchCapsule};
use sanitize_protocol::{
    Finding, Message, MessageLog, Messenger, Schedule, Settings, Stack, Tool, VARIABLE, present,
};
use softhip::control::{CallSite, LaunchRecord, Options, Selection, SoftDevice, current};
use softhip::exec::{Progress, tell_progress};
use softhip::memory::{AllocationKind, Checks, Site};
use softhip::report::{Problem, Report};
use softhip::sched::{Policy, RecordLaunches};

/// A run under `assay sanitize`.
struct Session {
    settings: Settings,
    messages: MessageLog,
}

/// `None` inside: the program runs by itself.
static SESSION: OnceLock<Option<Session>> = OnceLock::new();

/// The process is none of those that were asked for: nothing is told of it.
static SILENT: AtomicBool = AtomicBool::new(false);

/// Copies to the host, where they are counted.
static COPIES: AtomicU64 = AtomicU64::new(0);

/// What is known of the first fault.
#[derive(Default)]
struct Fault {
    /// Calls of launches that answered it so far.
    launches: u64,
    /// Another call has answered it.
    told: bool,
}

static FAULT: Mutex<Fault> = Mutex::new(Fault { launches: 0, told: false });

/// Sets up the device, at the first call.
pub(crate) fn begin() {
    session();
}

fn session() -> Option<&'static Session> {
    SESSION.get_or_init(open).as_ref()
}

/// Reads the settings and installs a device that keeps to them.
fn open() -> Option<Session> {
    let given = std::env::var_os(VARIABLE)?;
    let read = given.to_str().ok_or_else(|| "it is not UTF-8".to_owned());
    let settings = read.and_then(|text| serde_json::from_str(text).map_err(|error| error.to_string()));
    let settings: Settings = match settings {
        Ok(settings) => settings,
        Err(error) => {
            print_line(&format!("assay: {VARIABLE}: {error}"));
            return None;
        }
    };
    if settings.only_children_of.is_some_and(|parent| parent != std::os::unix::process::parent_id()) {
        SILENT.store(true, Ordering::Relaxed);
        return None;
    }
    let messages = match MessageLog::open(settings.messages.clone()) {
        Ok(messages) => messages,
        Err(error) => {
            print_line(&format!("assay: {error}"));
            return None;
        }
    };
    let device = Arc::new(SoftDevice::new(Options {
        seed: settings.seed,
        policy: match settings.schedule {
            Schedule::Eager => Policy::Eager,
            Schedule::Deferred => Policy::Deferred,
            Schedule::Random => Policy::Random(settings.seed),
        },
        checks: Checks { go_on: true, ..Tool::checks(&settings.tools) },
        ..Options::default()
    }));
    let launches = settings.launches.map(|launches| launches.first..=launches.last);
    device.select_launches(Selection { kernel: settings.kernel.clone(), launches });
    device.label_by_arguments();
    let saves = settings.capsules.is_some();
    device.record_launches(if saves { RecordLaunches::Before } else { RecordLaunches::After });
    if !settings.faults_stick {
        device.forgive();
    }
    device.install();
    if let Some(seconds) = settings.progress_seconds {
        tell_progress(Duration::from_secs(seconds.into()), tell_of_progress);
    }
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

    /// Tells of a report, unless it is of a tool that was not asked for. What makes the device unusable is always told.
    fn report(&self, mut report: Report, launch: Option<&LaunchRecord>, sticks: bool) {
        let tool = Tool::of(&report.problem);
        if !sticks && tool.is_some_and(|tool| !self.settings.tools.contains(&tool)) {
            return;
        }
        if repeats(&report) {
            REPEATED.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let mut stacks = Vec::new();
        for (event, site) in report.host_sites() {
            let Some(number) = site.stack else { continue };
            let frames = host_stack::frames(number);
            *site = host_stack::site(&frames);
            stacks.push(Stack { event, frames });
        }
        let needed = launch.and_then(|launch| launch_capsule::need::bytes(launch, &report));
        present(&mut report, needed);
        let text = report.to_string();
        let process = std::process::id();
        let capsule = launch.and_then(|launch| self.save(launch, &report));
        let finding = Finding { process, tool, sticks, report, text, stacks, capsule };
        self.tell(&Message::Finding(Box::new(finding)));
    }

    /// Writes the launch of a report to a file, if that was asked for.
    fn save(&self, launch: &LaunchRecord, report: &Report) -> Option<PathBuf> {
        static SAVED: AtomicU32 = AtomicU32::new(0);
        let number = SAVED.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}.capsule", std::process::id());
        let path = self.settings.capsules.as_ref()?.join(name);
        let mut record = launch.clone();
        let allocations = record.memory.iter_mut().map(|snapshot| &mut snapshot.info);
        let sites = allocations.flat_map(|info| [&mut info.allocated, &mut info.freed]);
        for site in sites.chain([&mut record.call.site]).flatten() {
            if let Some(number) = site.stack {
                *site = host_stack::site(&host_stack::frames(number));
            }
        }
        let capsule = LaunchCapsule { record, found: Found::Report(Box::new(report.clone())) };
        match launch_capsule::file::write(&path, "assay sanitize", &capsule) {
            Ok(()) => Some(path),
            Err(error) => {
                print_line(&format!("assay: {error}"));
                None
            }
        }
    }

    /// Tells which call the program may take for the culprit.
    fn answered_fault(&self, name: &str, fault: Code) {
        let mut state = FAULT.lock().unwrap_or_else(PoisonError::into_inner);
        if is_launch(name) {
            state.launches += 1;
            return;
        }
        if std::mem::replace(&mut state.told, true) {
            return;
        }
        self.tell(&Message::Messenger(Messenger {
            process: std::process::id(),
            function: name.to_owned(),
            answer: fault.name().to_string_lossy().into_owned(),
            frames: CallSite::get().and_then(|site| site.stack).map(host_stack::frames).unwrap_or_default(),
            launches_before: state.launches,
        }));
    }
}

/// Findings of kernels that were left out.
static REPEATED: AtomicU64 = AtomicU64::new(0);

/// Whether a report is about an instruction of which the same has been told. Reports of one instruction of one kernel differ in thread,
/// address and launch.
fn repeats(report: &Report) -> bool {
    type Told = BTreeSet<(String, u64, &'static str)>;
    static TOLD: Mutex<Told> = Mutex::new(BTreeSet::new());
    let Some(at) = &report.at else { return false };
    let key = (at.kernel.clone(), at.offset, report.problem.name());
    !TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(key)
}

/// Whether a report is of work on the device, so that ROCm's device would be unusable after it.
fn is_fault(report: &Report) -> bool {
    !matches!(
        report.problem,
        Problem::Launch { .. }
            | Problem::Leak { .. }
            | Problem::HostAccess { .. }
            | Problem::DoubleFree { .. }
            | Problem::InvalidFree { .. }
            | Problem::Handle { .. }
    )
}

/// Tells how far a kernel has come.
fn tell_of_progress(progress: Progress<'_>) {
    let Some(session) = SESSION.get().and_then(Option::as_ref) else { return };
    session.tell(&Message::Progress(sanitize_protocol::Progress {
        process: std::process::id(),
        kernel: sanitize_protocol::demangled(progress.kernel),
        done: progress.done,
        groups: progress.groups,
        instructions: progress.instructions,
        seconds: progress.elapsed.as_secs(),
    }));
}

/// Whether a call is one that the compiler puts around a launch.
pub(crate) fn is_around_launch(name: &str) -> bool {
    name.contains("CallConfiguration")
}

fn is_launch(name: &str) -> bool {
    name.contains("Launch")
}

fn is_allocation(name: &str) -> bool {
    name.contains("Malloc") || name.contains("Alloc")
}

/// Whether copies to the host are to be counted.
pub(crate) fn counts_copies() -> bool {
    session().is_some_and(|session| session.settings.counts_copies)
}

/// Counts a copy to the host.
pub(crate) fn count_copy() {
    COPIES.fetch_add(1, Ordering::Relaxed);
}

/// Whether an allocation that is refused is to be granted with fewer bytes.
pub(crate) fn grants() -> bool {
    session().is_some_and(|session| session.settings.grants)
}

/// What every call does first: the device is there, and reports can name the caller.
pub(crate) fn begin_call(name: &'static str) {
    if session().is_some() && !is_around_launch(name) {
        CallSite::set(Some(Site::of_stack(host_stack::take())));
    }
}

/// The device's fault, if there has been one. A call that is made after it answers it, whatever else it does: under `assay sanitize` work is
/// checked after a fault, too.
pub(crate) fn fault_before() -> Option<Code> {
    session().and_then(|_| current().fault())
}

/// What every call does last.
pub(crate) fn end_call(name: &str, code: i32) {
    let device = current();
    let reports = device.take_reports();
    let Some(session) = session() else {
        if !SILENT.load(Ordering::Relaxed) {
            reports.iter().for_each(|report| print_line(&format!("assay: {report}")));
        }
        return;
    };
    if session.settings.selects() {
        for (kernel, selected) in device.take_new_kernels() {
            session.tell(&Message::Launched { kernel, selected });
        }
    }
    if reports.is_empty() && code == Code::SUCCESS.0 {
        return;
    }
    if is_allocation(name) && device.fault().is_none() && code != Code::SUCCESS.0 {
        let (process, function) = (std::process::id(), name.to_owned());
        let answer = Code(code).name().to_string_lossy().into_owned();
        session.tell(&Message::Refused { process, function, answer });
    }
    let fault = device.fault();
    let mut launches = device.take_failed_launches();
    for report in reports {
        let known = launches.iter().position(|(about, _)| *about == report);
        let launch = known.map(|known| launches.swap_remove(known).1);
        let sticks = is_fault(&report);
        session.report(report, launch.as_ref(), sticks);
    }
    if let Some(fault) = fault.filter(|fault| fault.0 == code) {
        session.answered_fault(name, fault);
    }
}

/// Whether the host's own accesses are to be watched.
pub(crate) fn watches_host() -> bool {
    session().is_some_and(|session| session.settings.tools.contains(&Tool::Hostcheck))
}

/// Tells of something that the host's own code did.
pub(crate) fn report_host(report: Report) {
    if let Some(session) = session() {
        session.report(report, None, false);
    }
}

/// A call that is not supported.
pub(crate) fn refused(name: &str) {
    match session() {
        Some(session) => session.tell(&Message::Unsupported { function: name.to_owned() }),
        None if SILENT.load(Ordering::Relaxed) => {}
        None => print_line(&format!("assay: {name} is not supported by the software device")),
    }
}

/// Prints a line. A program that has closed its standard error stream gets none.
pub(crate) fn print_line(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// What is left to tell when the program has ended.
pub(crate) fn end() {
    let Some(Some(session)) = SESSION.get() else { return };
    let device = current();
    if session.settings.tools.contains(&Tool::Leakcheck) && device.fault().is_none() {
        for allocation in device.memory().live() {
            let mine = matches!(
                allocation.kind,
                AllocationKind::Device | AllocationKind::Pinned | AllocationKind::Mapped
            );
            // Only the library itself allocates without a caller.
            if mine && allocation.allocated.is_some() {
                session.report(Report::new(Problem::Leak { allocation: Box::new(allocation) }), None, false);
            }
        }
    }
    session.tell(&Message::Ended {
        process: std::process::id(),
        launches: device.launched(),
        never_ran: device.queued(),
        instructions: device.counters().instructions,
        repeated: REPEATED.load(Ordering::Relaxed),
        copies_to_host: COPIES.load(Ordering::Relaxed),
    });
}
