//! Hunting faults with the suite's cases.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use backend_hip::objects::{Objects, gfx942};
use backend_hip::{HipBackend, Options};
use code_object::CodeObject;
use conformance::far::{self, Far};
use conformance::guard;
use conformance::outcome::Outcome;
use conformance::suite::{self, Filter, Slice};
use conformance::target::{RunError, Target};
use kernels::{Breakpoint, Identity, Numerics, OpForm, Record, SplitMix64, Stem, Support};
use softhip::control::Options as Device;
use softhip::dataflow::{self, Impossible};
use softhip::memory::Checks;
use softhip::sched::Limits;
use softhip::trace::{self, Traced};

use super::equivalent::{self, Argument};
use super::fault::{self, Fault, Kind};
use super::survivor::Class;
use super::values::Values;

/// Instructions that a wave of a faulty kernel may execute: far more than any of the cases that are taken.
const BUDGET: u64 = 400_000;

/// Microseconds that a case may take to be met by every fault that it reaches.
const QUICK: u64 = 60_000;

/// Microseconds of slower cases that a fault meets besides.
const SLOW: u64 = 400_000;

/// Microseconds that any of them may take.
const SLOWEST: u64 = 1_500_000;

/// Cases of a kernel that are few: more are sought for it among all cases of its op.
const FEW: usize = 40;

/// Microseconds that this may take.
const SOUGHT: u64 = 20_000_000;

/// Cases of each kernel that run with rows far apart, in each of the ways to have them so.
const APART: usize = 12;

/// Cases that a fault meets before it has survived.
const CASES: usize = 400;

/// Cases after which it is asked whether a fault changes nothing: most that change something are killed before.
const TRIED: usize = 12;

/// Faults that are on the hunt together.
const HERD: usize = 48;

/// Bytes of the device: room for operands with rows far apart. Memory that nothing touches costs nothing.
const MEMORY: u64 = 1 << 40;

/// What to hunt.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Ops whose kernels get faults.
    pub stems: Vec<Stem>,
    /// Only kernels whose names contain this.
    pub kernel: String,
    /// Faults over all kernels.
    pub sample: usize,
    /// Chooses them.
    pub seed: u64,
}

/// A fault that no case found.
#[derive(Clone, Debug)]
pub struct Survivor {
    /// What it changes.
    pub kind: Kind,
    /// What it is about.
    pub class: Class,
    /// Bytes from the kernel's first instruction.
    pub offset: u64,
    /// Source line.
    pub line: Option<String>,
    /// The instruction.
    pub was: String,
    /// What stands there instead.
    pub now: String,
    /// Cases that executed it and passed.
    pub cases: usize,
}

/// What became of the faults of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Bag {
    /// Killed by a case.
    pub killed: usize,
    /// Found without running, by lint: a missing wait, a register that nothing has written.
    pub linted: usize,
    /// Those that change bits of some result, and every result stays within the bound that the contract allows.
    pub within_bound: Vec<Survivor>,
    /// Set apart, by argument.
    pub equivalent: BTreeMap<Argument, usize>,
    /// In kernels that no case launches.
    pub idle: usize,
    /// In instructions that no case executes, or none with a lane on.
    pub unreached: Vec<Survivor>,
    /// Those that are left: no case that executes the instruction shows a bit of difference.
    pub survivors: Vec<Survivor>,
}

impl Bag {
    /// Faults that were seen.
    pub fn found(&self) -> usize {
        self.killed + self.linted
    }

    /// Faults that should have been seen: those that are not equivalent by argument and do not merely round differently.
    pub fn visible(&self) -> usize {
        self.found() + self.survivors.len() + self.unreached.len() + self.idle
    }

    /// All faults.
    pub fn all(&self) -> usize {
        self.visible() + self.within_bound.len() + self.equivalent.values().sum::<usize>()
    }
}

/// Hunts, on as many threads as asked for; calls `progress` after each fault that is decided.
pub fn hunt(plan: &Plan, threads: usize, progress: impl Fn() + Sync) -> BTreeMap<String, Bag> {
    trace::start();
    let stems: Vec<Stem> =
        plan.stems.iter().copied().filter(|stem| !kernels_of(*stem, plan).is_empty()).collect();
    let cases = spread(&stems, threads, |stem| (*stem, reaches(*stem, &kernels_of(*stem, plan))));
    let traced = trace::kernels();
    // What faulty kernels reach is of no use.
    trace::stop();
    let shares = shares(plan);
    let bags =
        spread(&cases, threads, |(stem, cases)| of_stem(*stem, cases, &traced, plan, &shares, &progress));
    bags.into_iter().flatten().collect()
}

/// Does `work` for each of `items`, on several threads.
fn spread<T: Sync, R: Send>(items: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The kernels of an op that a plan asks for.
fn kernels_of(stem: Stem, plan: &Plan) -> Vec<String> {
    let object = gfx942(stem.name()).and_then(|bytes| CodeObject::read(bytes).ok());
    let names = object.map(|object| object.kernels().iter().map(|kernel| kernel.name.clone()).collect());
    let names: Vec<String> = names.unwrap_or_default();
    names.into_iter().filter(|name| name.contains(&plan.kernel)).collect()
}

/// Faults of each kernel: as many as of every other one.
fn shares(plan: &Plan) -> BTreeMap<String, usize> {
    let names: Vec<String> = plan.stems.iter().flat_map(|stem| kernels_of(*stem, plan)).collect();
    let count = names.len().max(1);
    let share = |at: usize| plan.sample / count + usize::from(at < plan.sample % count);
    names.into_iter().enumerate().map(|(at, name)| (name, share(at))).collect()
}

/// Where a case's operands lie.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Place {
    /// As the case has them, with canaries around them.
    Near,
    /// With entries of a dimension far apart, see [`Far`]: the outermost that has more than one, or the one behind it.
    Apart(usize),
    /// The same so far that a stride itself does not fit in 32 bits.
    Beyond(usize),
}

impl Place {
    const FAR: [Self; 4] = [Self::Apart(0), Self::Apart(1), Self::Beyond(0), Self::Beyond(1)];
    const COUNT: usize = 1 + Self::FAR.len();

    const fn index(self) -> usize {
        match self {
            Self::Near => 0,
            Self::Apart(dimension) => 1 + dimension,
            Self::Beyond(dimension) => 3 + dimension,
        }
    }
}

/// A case, and which instructions of a kernel it executes.
struct Reach {
    name: String,
    place: Place,
    micros: u64,
    /// Of what the case's ops leave in memory.
    digest: u64,
    /// By kernel and index.
    executed: BTreeMap<String, Vec<bool>>,
}

/// Hunts the faults of an op's kernels.
fn of_stem(
    stem: Stem,
    cases: &[Reach],
    traced: &[Arc<Traced>],
    plan: &Plan,
    shares: &BTreeMap<String, usize>,
    progress: &(impl Fn() + Sync),
) -> Vec<(String, Bag)> {
    let kernels = kernels_of(stem, plan);
    let Some(bytes) = gfx942(stem.name()) else { return Vec::new() };
    let Ok(own) = CodeObject::read(bytes) else { return Vec::new() };
    // A kernel that no case launches has all its faults where no case goes.
    let launched = |name: &String| traced.iter().any(|traced| traced.kernel() == name.as_str());
    let mut bags: Vec<(String, Bag)> = kernels
        .iter()
        .filter(|name| !launched(name))
        .map(|name| (name.clone(), Bag { idle: shares.get(name).copied().unwrap_or(0), ..Bag::default() }))
        .collect();
    for traced in traced.iter().filter(|traced| kernels.iter().any(|name| name == traced.kernel())) {
        let count = shares.get(traced.kernel()).copied().unwrap_or(0);
        let herd = sample(traced, count, plan.seed);
        let mut bag = Bag::default();
        let (values, impossible) = (OnceCell::new(), OnceCell::new());
        let game = Game { stem, bytes, own: &own, traced, cases, values, impossible };
        for part in herd.chunks(HERD) {
            game.hunt(part, &mut bag, progress);
        }
        bags.push((traced.kernel().to_owned(), bag));
    }
    bags
}

/// The cases of an op, the quickest first, with what each reaches of its kernels.
fn reaches(stem: Stem, kernels: &[String]) -> Vec<Reach> {
    let filter = Filter::new(&format!("{stem}/soft/"));
    let names = suite::names("soft", &filter);
    let places = std::iter::once(Place::Near).chain(Place::FAR);
    let targets: Vec<Digested> = places.filter_map(|place| target(Objects::own(), place)).collect();
    if targets.len() != Place::COUNT {
        return Vec::new();
    }
    let mut names = Slice::Quick.of(names);
    names.extend(suite::names_around_breakpoints("soft", &targets[0], &filter));
    let run = |name: String, place: Place| {
        let target = &targets[place.index()];
        let of_op = || {
            trace::kernels().into_iter().filter(|traced| kernels.iter().any(|name| name == traced.kernel()))
        };
        of_op().for_each(|traced| traced.clear());
        let begin = (Instant::now(), worked());
        target.digest.set(0);
        let passed =
            suite::run(&name, target, suite::JUDGE).is_ok_and(|result| result.outcome == Outcome::Passed);
        let micros = worked()
            .zip(begin.1)
            .map_or_else(|| conformance::outcome::micros_since(begin.0), |(end, begin)| end - begin);
        let executed: BTreeMap<_, _> = of_op()
            .map(|traced| {
                (
                    traced.kernel().to_owned(),
                    (0..traced.code().len()).map(|at| traced.worked(at)).collect::<Vec<_>>(),
                )
            })
            .filter(|(_, executed)| executed.iter().any(|hit| *hit))
            .collect();
        let passes = passed && micros <= SLOWEST && !executed.is_empty();
        (passes.then(|| Reach { name, place, micros, digest: target.digest.get(), executed }), micros)
    };
    let mut cases: Vec<Reach> = names.iter().filter_map(|name| run(name.clone(), Place::Near).0).collect();
    // Kernels that few of these come to meet others of the op.
    let thin = |cases: &[Reach]| {
        let of = |kernel: &String| cases.iter().filter(|case| case.executed.contains_key(kernel)).count();
        kernels.iter().any(|kernel| of(kernel) < FEW)
    };
    let (known, mut spent) = (names.iter().cloned().collect::<HashSet<String>>(), 0);
    for name in mixed(suite::names("soft", &filter)).into_iter().filter(|name| !known.contains(name)) {
        if spent > SOUGHT || !thin(&cases) {
            break;
        }
        let (case, micros) = run(name, Place::Near);
        spent += micros;
        cases.extend(case.filter(|case| case.micros <= QUICK));
    }
    cases.sort_by_key(|case| case.micros);
    // Some of them with rows far apart, as many for each kernel.
    let quick = cases.iter().filter(|case| case.micros <= QUICK);
    let near: HashMap<String, Vec<String>> =
        quick.map(|case| (case.name.clone(), case.executed.keys().cloned().collect())).collect();
    for place in Place::FAR {
        let moves = |record: &Record| match place {
            Place::Near => false,
            Place::Apart(dimension) => far::moves(record, dimension),
            Place::Beyond(dimension) => far::moves_beyond(record, dimension),
        };
        let mut chosen: HashMap<&String, usize> = HashMap::new();
        for name in mixed(near.keys().cloned().collect()) {
            let launched = &near[&name];
            let enough = |kernel| chosen.get(kernel).is_some_and(|count| *count >= APART);
            if launched.iter().all(enough) || !suite::record(&name).is_ok_and(|record| moves(&record)) {
                continue;
            }
            if let Some(case) = run(name, place).0 {
                launched.iter().for_each(|kernel| *chosen.entry(kernel).or_default() += 1);
                cases.push(case);
            }
        }
    }
    cases
}

/// Microseconds that this thread has had of a processor, where the system tells: how long a case takes does not depend on what else runs.
fn worked() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse::<u64>().ok().map(|nanos| nanos / 1000)
}

/// Names in an order that says nothing, the same each time.
fn mixed(mut names: Vec<String>) -> Vec<String> {
    let hash = |name: &String| {
        let mixed = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        SplitMix64::new(mixed).next_u64()
    };
    names.sort_by_cached_key(hash);
    names
}

/// Some of a kernel's faults, chosen by chance.
fn sample(traced: &Traced, count: usize, seed: u64) -> Vec<Fault> {
    let mut all = fault::faults(traced);
    let name =
        traced.kernel().bytes().fold(seed, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let mut random = SplitMix64::new(name);
    let mut chosen = Vec::new();
    while chosen.len() < count && !all.is_empty() {
        let at = usize::try_from(random.next_u64() % all.len() as u64).unwrap_or(0);
        chosen.push(all.swap_remove(at));
    }
    chosen
}

/// A backend with other objects before the program's own.
fn target(objects: Objects, place: Place) -> Option<Digested> {
    let device = Device {
        seed: 1,
        straddle: true,
        checks: Checks { strict_races: true, ..Checks::ALL },
        limits: Limits { threads: 1, budget: BUDGET },
        memory_bytes: MEMORY,
        ..Device::default()
    };
    let backend = HipBackend::software(device, Options { objects, ..Options::default() }).ok()?;
    let inner: Box<dyn Target> = match place {
        Place::Near => guard::with_canaries(backend).ok()?,
        Place::Apart(dimension) => Box::new(Far::new(backend, dimension).ok()?),
        Place::Beyond(dimension) => Box::new(Far::beyond(backend, dimension).ok()?),
    };
    Some(Digested { inner, digest: Cell::new(0) })
}

/// A target that keeps a digest of what its ops leave in memory.
struct Digested {
    inner: Box<dyn Target>,
    digest: Cell<u64>,
}

impl Target for Digested {
    fn identity(&self) -> Identity {
        self.inner.identity()
    }

    fn supports(&self, form: &OpForm) -> Support {
        self.inner.supports(form)
    }

    fn breakpoints(&self, form: &OpForm) -> Vec<Breakpoint> {
        self.inner.breakpoints(form)
    }

    fn numerics(&self, form: &OpForm) -> Numerics {
        self.inner.numerics(form)
    }

    fn run(&self, record: &Record) -> Result<Vec<Vec<u8>>, RunError> {
        let ran = self.inner.run(record);
        let mut digest = self.digest.get();
        for bytes in ran.iter().flatten() {
            for word in bytes.chunks(8) {
                let word = word.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
                digest = (digest.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
        }
        self.digest.set(digest);
        ran
    }
}

/// A kernel whose faults are hunted.
struct Game<'a> {
    stem: Stem,
    bytes: &'static [u8],
    own: &'a CodeObject,
    traced: &'a Traced,
    cases: &'a [Reach],
    /// What its registers hold, once somebody asks.
    values: OnceCell<Option<Values<'a>>>,
    /// Where no wave comes in it, once somebody asks.
    impossible: OnceCell<Impossible>,
}

/// A fault that is not decided yet.
struct Hunted<'f> {
    fault: &'f Fault,
    object: Vec<u8>,
    /// By [`Place`].
    targets: [Option<Digested>; Place::COUNT],
    met: usize,
    /// Microseconds that slow cases of it have taken.
    slow: u64,
    /// Some case's bits are not those of the kernel without the fault.
    differs: bool,
}

impl Game<'_> {
    fn hunt(&self, faults: &[Fault], bag: &mut Bag, progress: &impl Fn()) {
        let mut alive: Vec<Hunted<'_>> = Vec::new();
        for fault in faults {
            let Some(object) = self.patched(fault) else { continue };
            alive.push(Hunted {
                fault,
                object,
                targets: [const { None }; Place::COUNT],
                met: 0,
                slow: 0,
                differs: false,
            });
        }
        for case in self.cases {
            alive.retain_mut(|hunted| {
                if hunted.met >= CASES || !self.reaches(case, hunted.fault) {
                    return true;
                }
                if case.micros > QUICK {
                    if hunted.slow > SLOW {
                        return true;
                    }
                    hunted.slow += case.micros;
                }
                hunted.met += 1;
                let killed = !self.survives(hunted, case);
                let decided = !killed && hunted.met == TRIED && self.is_decided(hunted, bag);
                if decided {
                    progress();
                }
                count(killed, bag, progress) && !decided
            });
        }
        for hunted in alive {
            self.settle(&hunted, bag);
            progress();
        }
    }

    /// Whether a case executes the instruction of a fault.
    fn reaches(&self, case: &Reach, fault: &Fault) -> bool {
        let executed = case.executed.get(self.traced.kernel());
        executed.is_some_and(|executed| executed.get(fault.index).copied().unwrap_or(false))
    }

    /// A fault that no case killed.
    fn settle(&self, hunted: &Hunted<'_>, bag: &mut Bag) {
        if self.is_decided(hunted, bag) {
            return;
        }
        if hunted.differs {
            bag.within_bound.push(self.survivor(hunted));
        } else if hunted.met == 0 {
            bag.unreached.push(self.survivor(hunted));
        } else {
            bag.survivors.push(self.survivor(hunted));
        }
    }

    /// Counts a fault that lint finds, or that changes nothing by an argument; whether it is one of them.
    fn is_decided(&self, hunted: &Hunted<'_>, bag: &mut Bag) -> bool {
        let object = CodeObject::read(&hunted.object).ok();
        let linted = |object| equivalent::is_linted(self.traced, hunted.fault, object);
        let impossible = self.impossible.get_or_init(|| dataflow::impossible(self.traced.code()));
        let argument =
            |object| equivalent::argument(self.traced, self.values(), impossible, hunted.fault, object);
        if object.as_ref().is_some_and(linted) {
            bag.linted += 1;
            return true;
        }
        let argument = if hunted.differs { None } else { object.as_ref().and_then(argument) };
        if let Some(argument) = argument {
            *bag.equivalent.entry(argument).or_default() += 1;
        }
        argument.is_some()
    }

    /// What the kernel's registers hold.
    fn values(&self) -> Option<&Values<'_>> {
        let kernel = self.own.kernels().iter().find(|kernel| kernel.name == self.traced.kernel());
        let threads = kernel.map_or(1024, |kernel| kernel.max_flat_workgroup_size);
        let arguments = kernel.and_then(|kernel| equivalent::arguments_at(&kernel.descriptor));
        self.values.get_or_init(|| Values::of(self.traced.code(), threads, arguments)).as_ref()
    }

    fn survivor(&self, hunted: &Hunted<'_>) -> Survivor {
        let code = self.traced.code();
        let inst = &code[hunted.fault.index];
        Survivor {
            kind: hunted.fault.kind,
            class: Class::of(code, hunted.fault),
            offset: inst.pc - code[0].pc,
            line: self.own.location(inst.pc).map(|at| format!("{}:{}", at.file, at.line)),
            was: inst.to_string(),
            now: hunted.fault.now.map_or_else(|| "s_nop".into(), |now| now.to_string()),
            cases: hunted.met,
        }
    }

    fn survives(&self, hunted: &mut Hunted<'_>, case: &Reach) -> bool {
        let at = case.place.index();
        let target = hunted.targets[at].take().or_else(|| self.faulty(&hunted.object, case.place));
        let Some(target) = target else { return false };
        let passed = passes(&target, &case.name);
        if passed {
            hunted.differs |= target.digest.get() != case.digest;
            hunted.targets[at] = Some(target);
        }
        passed
    }

    /// A backend with a faulty object.
    fn faulty(&self, object: &[u8], place: Place) -> Option<Digested> {
        let (stem, object) = (self.stem.name(), object.to_vec());
        let objects = Objects::new("a fault made by machine", move |asked| {
            (asked == stem).then(|| Ok(Cow::Owned(object.clone())))
        });
        target(objects, place)
    }

    /// The object with a fault.
    fn patched(&self, fault: &Fault) -> Option<Vec<u8>> {
        let pc = self.traced.code().get(fault.index)?.pc;
        let segment = self.own.image().segments().iter().find(|segment| segment.range().contains(&pc))?;
        let start = self.bytes.windows(segment.bytes.len()).position(|window| window == segment.bytes)?;
        let at = start + usize::try_from(pc - segment.address).ok()?;
        let mut object = self.bytes.to_vec();
        for (nth, word) in fault.words.iter().enumerate() {
            object.get_mut(at + 4 * nth..at + 4 * nth + 4)?.copy_from_slice(&word.to_le_bytes());
        }
        Some(object)
    }
}

/// Counts a fault if it is killed; whether it is alive.
fn count(killed: bool, bag: &mut Bag, progress: &impl Fn()) -> bool {
    if killed {
        bag.killed += 1;
        progress();
    }
    !killed
}

/// Whether a case passes; its digest is in the target then.
fn passes(target: &Digested, case: &str) -> bool {
    target.digest.set(0);
    let run = AssertUnwindSafe(|| suite::run(case, target, suite::JUDGE));
    catch_unwind(run).is_ok_and(|ran| ran.is_ok_and(|result| result.outcome == Outcome::Passed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_made_in_the_object_met_by_cases_that_reach_them_and_killed() {
        let plan = Plan { stems: vec![Stem::Add], kernel: String::new(), sample: 60, seed: 3 };
        let bags = hunt(&plan, 2, || {});
        let sum = |of: fn(&Bag) -> usize| bags.values().map(of).sum::<usize>();
        assert_eq!(sum(Bag::all), 60, "{bags:?}");
        assert!(sum(|bag| bag.killed) >= 40, "{bags:?}");
        let nothing = Plan { kernel: "no such kernel".into(), ..plan };
        assert!(hunt(&nothing, 1, || {}).is_empty());
    }
}
