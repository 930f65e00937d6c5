//! Running the waves of one workgroup.

use std::sync::{Mutex, PoisonError};

use super::access::lds::{Lds, LdsNote};
use super::access::scratch::Scratch;
use super::core::counters::Tally;
use super::core::cx::{Cx, Step};
use super::core::mode::Mode;
use super::core::trap::Trap;
use super::core::uop::Uop;
use super::core::wave::{SCALARS, State, Wave};
use super::go_on::{Finding, Findings, go_on};
use super::gpr_index;
use super::modifiers::{self, is_valu};
use super::poison;
use super::program::Program;
use super::resolve::is_vector;
use super::spare::{Spare, Spares};
use super::start::Start;
use super::unwaited;
use super::unwritten;
use crate::hostcall::Host;
use crate::isa::{Format, Inst};
use crate::memory::{FaultKind, Group, LaunchMemory, RaceNote, Within};
use crate::prefetch::prefetch;
use crate::report::{LdsProblem, Problem, Segment};
use crate::waits;

/// Instructions a wave runs before the next one gets its turn, so that a wave which waits for another one in a
/// loop does not wait for ever.
const TURN: u64 = 1 << 20;
/// As [`TURN`], where waves of different workgroups wait for each other: that is what they are there for.
const TOGETHER: u64 = 1 << 12;

/// How far waves run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    /// Instructions that a wave may execute.
    budget: u64,
    /// Those of a turn.
    turn: u64,
}

impl Pace {
    pub(super) fn new(budget: u64, cooperative: bool) -> Self {
        Self { budget, turn: if cooperative { TOGETHER } else { TURN } }
    }
}

/// What one host thread needs to run workgroups, one after the other.
#[derive(Debug)]
pub(super) struct Worker<'a> {
    program: &'a Program,
    memory: &'a LaunchMemory,
    start: &'a Start,
    waves: Vec<Wave>,
    lds: Box<Lds>,
    sizes: Sizes,
    pace: Pace,
    host: Option<&'a Mutex<Host>>,
    pub(super) tally: Tally,
    notes: Notes,
    /// What was wrong where the launch went on.
    findings: Findings,
    /// Memory for [`Group::watch_waves`].
    within: Option<Box<Within>>,
}

/// What a thread leaves behind.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) tally: Tally,
    pub(super) notes: Notes,
    pub(super) findings: Vec<Finding>,
}

/// Races that cannot change a result, with the workgroups that completed them.
pub(super) type Notes = Vec<(u32, Failure)>;

/// The first wrong thing that a workgroup did.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) trap: Trap,
    pub(super) wave: u32,
    /// The instruction, unless the program counter left the code.
    pub(super) inst: Option<Inst>,
}

impl Failure {
    /// The instructions of a race: this one, and the other's place.
    pub(super) fn sides(&self) -> (Option<u64>, Option<u64>) {
        let other = match &self.trap.problem {
            Problem::Access { fault, .. } => match &fault.kind {
                FaultKind::Race { other, .. } => other.pc.map(u64::from),
                _ => None,
            },
            Problem::Lds { fault } => match fault.problem {
                LdsProblem::Race { other_offset, .. } => other_offset,
                _ => None,
            },
            _ => None,
        };
        (self.inst.map(|inst| inst.pc), other)
    }

    /// Whether other workgroups could still say something new: they would not after an endless loop or an unknown instruction.
    pub(super) fn ends_launch(&self) -> bool {
        !matches!(
            self.trap.problem,
            Problem::Access { .. }
                | Problem::Lds { .. }
                | Problem::DivergentBarrier { .. }
                | Problem::Trap { .. }
        )
    }

    /// A race between workgroups: which of them comes second depends on their order.
    pub(super) fn is_race(&self) -> bool {
        matches!(&self.trap.problem, Problem::Access { fault, .. } if matches!(fault.kind, FaultKind::Race { .. }))
    }
}

/// Sizes of a workgroup's memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) lds: u64,
    pub(super) scratch: u32,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        program: &'a Program,
        memory: &'a LaunchMemory,
        start: &'a Start,
        sizes: Sizes,
        spares: &Spares,
        (pace, host): (Pace, Option<&'a Mutex<Host>>),
    ) -> Self {
        let checks = memory.checks();
        let wave = |id| Wave {
            s: [0; SCALARS],
            v: program.vector_file(),
            scc: false,
            mode: Mode::new(0),
            gpr_index: false,
            vskip: false,
            pc: 0,
            poison: 0,
            poisonings: Vec::new(),
            waits: waits::State::default(),
            marks: None,
            scratch: Scratch::new(sizes.scratch, checks.uninitialised),
            state: State::Ended,
            executed: 0,
            id,
        };
        let spare = spares.take(sizes, checks);
        let (mut waves, lds) = spare.map_or_else(
            || (Vec::new(), Box::new(Lds::new(sizes.lds, checks))),
            |spare| (spare.waves, spare.lds),
        );
        let have = waves.len() as u32;
        waves.truncate(start.waves() as usize);
        waves.extend((have..start.waves()).map(wave));
        let (tally, notes, findings, within) = Default::default();
        Self { program, memory, start, waves, lds, sizes, pace, host, tally, notes, findings, within }
    }

    /// Leaves the state of waves to the next launch, and answers what was counted, noted and found.
    pub(super) fn finish(self, spares: &Spares) -> Finished {
        let Self { waves, lds, sizes, tally, notes, findings, .. } = self;
        spares.put(Spare { waves, lds, sizes, checks: self.memory.checks() });
        Finished { tally, notes, findings: findings.into_list() }
    }

    /// Runs the workgroup with a linear number and coordinates to its end, and calls `each_turn` in between.
    pub(super) fn run(
        &mut self,
        number: u32,
        coordinates: [u32; 3],
        mut each_turn: impl FnMut(&Tally),
    ) -> Result<(), Box<Failure>> {
        let mut group = self.begin(number, coordinates);
        while self.go_on(&mut group)? {
            each_turn(&self.tally);
        }
        self.end(&mut group)
    }

    /// Begins a workgroup.
    pub(super) fn begin(&mut self, number: u32, coordinates: [u32; 3]) -> Group {
        let mut group = self.memory.group(number);
        self.lds.reset();
        for (id, wave) in (0..).zip(&mut self.waves) {
            self.program.leave_over(&mut wave.v);
            wave.scratch.reset();
            self.start.wave(wave, id, coordinates);
        }
        if self.waves.len() > 1 && self.memory.checks().races {
            let mut within = self.within.take().unwrap_or_default();
            within.begin(self.waves.len() as u32);
            group.watch_waves(within);
        }
        self.tally.groups += 1;
        self.tally.waves += self.waves.len() as u64;
        group
    }

    /// Gives its waves a turn. `false`: all have ended.
    pub(super) fn go_on(&mut self, group: &mut Group) -> Result<bool, Box<Failure>> {
        let going = self.turn(group);
        self.take_notes(group);
        going
    }

    /// What can be said only at the workgroup's end.
    pub(super) fn end(&mut self, group: &mut Group) -> Result<(), Box<Failure>> {
        self.within = group.end_watch();
        self.unsettled(group).map_or(Ok(()), |failure| Err(Box::new(failure)))
    }

    fn instruction(&self, offset: u32) -> Option<Inst> {
        self.program.at_offset(offset).map(|uop| uop.inst)
    }

    fn global_race(&self, RaceNote { wave, pc, fault }: RaceNote) -> Failure {
        let inst = self.instruction(pc);
        let trap = match inst.map(|inst| inst.format) {
            Some(Format::Smem) => Trap::access(Segment::Scalar, fault.fault),
            Some(Format::Flat) => Trap::lane(Segment::Flat, fault),
            _ => Trap::lane(Segment::Global, fault),
        };
        Failure { trap, wave, inst }
    }

    fn lds_race(&self, LdsNote { wave, lane, offset, fault }: LdsNote) -> Failure {
        Failure { trap: Trap::local(lane.into(), fault), wave, inst: self.instruction(offset) }
    }

    /// Keeps one note for each pair of instructions.
    fn take_notes(&mut self, group: &mut Group) {
        let (global, local) = (group.take_notes(), self.lds.take_notes());
        if global.is_empty() && local.is_empty() {
            return;
        }
        let notes = global.into_iter().map(|note| self.global_race(note)).collect::<Vec<_>>();
        let notes = notes.into_iter().chain(local.into_iter().map(|note| self.lds_race(note)));
        for failure in notes.collect::<Vec<_>>() {
            if !self.notes.iter().any(|(_, known)| known.sides() == failure.sides()) {
                self.notes.push((group.id(), failure));
            }
        }
    }

    /// A plain load of what others change by atomics, without a compare-and-swap after it.
    fn unsettled(&mut self, group: &mut Group) -> Option<Failure> {
        let global = group.take_unsettled().map(|note| self.global_race(note));
        global.or_else(|| self.lds.take_unsettled().map(|note| self.lds_race(note)))
    }

    /// Gives every wave that can run its turn, and lets waves pass the barrier when all are there. The first one is another wave in each
    /// workgroup: what depends on their order, as a sum by atomics does, differs between rows of a launch.
    fn turn(&mut self, group: &mut Group) -> Result<bool, Box<Failure>> {
        let count = self.waves.len();
        let first = group.id() as usize % count.max(1);
        for at in (first..count).chain(0..first) {
            if self.waves[at].state == State::Ready {
                self.run_wave(group, at)?;
            }
        }
        if self.waves.iter().any(|wave| wave.state == State::Ready) {
            return Ok(true);
        }
        // Waves meet by arriving at a barrier, whichever instruction that is: the hardware counts arrivals.
        let Some(waiting) = self.waves.iter().find(|wave| wave.state != State::Ended) else {
            return Ok(false);
        };
        if self.waves.iter().any(|wave| wave.state == State::Ended) {
            return Err(self.divergence(waiting.state));
        }
        self.tally.barriers += self.waves.len() as u64;
        self.lds.pass_barrier();
        group.pass_barrier();
        for wave in &mut self.waves {
            wave.state = State::Ready;
        }
        Ok(true)
    }

    /// Some waves wait, the first one at `barrier`, and others have ended.
    #[cold]
    fn divergence(&self, barrier: State) -> Box<Failure> {
        let numbers = |ended: bool| {
            self.waves
                .iter()
                .filter(|wave| (wave.state == State::Ended) == ended)
                .map(|wave| wave.id)
                .collect()
        };
        let waiting: Vec<u32> = numbers(false);
        let problem = Problem::DivergentBarrier { waiting: waiting.clone(), absent: numbers(true) };
        let inst = match barrier {
            State::AtBarrier(index) => self.program.uop(index).map(|uop| uop.inst),
            _ => None,
        };
        Box::new(Failure { trap: Trap::new(problem), wave: waiting.first().copied().unwrap_or(0), inst })
    }

    /// Runs one wave to its next barrier, its end, or the end of its turn.
    fn run_wave(&mut self, group: &mut Group, at: usize) -> Result<(), Box<Failure>> {
        group.enter_wave(self.waves[at].id);
        let mut cx = Cx {
            wave: &mut self.waves[at],
            lds: &mut self.lds,
            memory: self.memory,
            group,
            counters: &mut self.tally,
            program: self.program,
            trap: None,
        };
        let mut step = interpret(&mut cx, self.pace.budget, self.pace.turn);
        while step == Step::Trap && self.memory.checks().go_on {
            step = go_on(&mut cx, &mut self.findings);
            if step == Step::Next {
                step = interpret(&mut cx, self.pace.budget, self.pace.turn);
            } else if step == Step::Trap {
                break;
            }
        }
        let trap = cx.trap.take();
        let wave = &mut self.waves[at];
        let reached = wave.marks.as_mut().and_then(|marks| marks.take_reached().into_iter().next());
        if let Some(reached) = reached.filter(|_| step == Step::Trap) {
            return Err(Box::new(reached.failure));
        }
        if step == Step::End
            && let Some(marks) = wave.marks.take()
        {
            for failure in marks.harmless() {
                if !self.notes.iter().any(|(_, known)| known.sides() == failure.sides()) {
                    self.notes.push((group.id(), failure));
                }
            }
        }
        match step {
            Step::Next | Step::Yield => {}
            Step::Barrier => wave.state = State::AtBarrier(wave.pc - 1),
            Step::End => wave.state = State::Ended,
            Step::Trap => {
                let inst =
                    wave.pc.checked_sub(1).and_then(|index| self.program.uop(index)).map(|uop| uop.inst);
                let trap = trap
                    .map_or_else(|| Trap::new(Problem::Budget { instructions: wave.executed }), |trap| *trap);
                return Err(Box::new(Failure { trap, wave: wave.id, inst }));
            }
        }
        self.serve(at)
    }

    /// Lets the host answer what a wave may have asked for.
    fn serve(&self, at: usize) -> Result<(), Box<Failure>> {
        let Some(host) = self.host else { return Ok(()) };
        let answered = host.lock().unwrap_or_else(PoisonError::into_inner).serve(self.memory);
        answered.map_err(|reason| {
            let wave = &self.waves[at];
            let inst = wave.pc.checked_sub(1).and_then(|index| self.program.uop(index)).map(|uop| uop.inst);
            Box::new(Failure { trap: Trap::new(Problem::HostRequest { reason }), wave: wave.id, inst })
        })
    }
}

/// Runs a wave for a turn.
pub(super) fn interpret(c: &mut Cx<'_>, budget: u64, turn: u64) -> Step {
    let watched = c.program.watched().is_some() && c.memory.checks().waits;
    if watched || c.program.traced().is_some() {
        run_turn::<true>(c, budget, turn)
    } else {
        run_turn::<false>(c, budget, turn)
    }
}

/// The interpreter's loop. Without `OBSERVED`, the wave is neither watched nor traced.
fn run_turn<const OBSERVED: bool>(c: &mut Cx<'_>, budget: u64, turn: u64) -> Step {
    let turn = turn.min(budget.saturating_sub(c.wave.executed).saturating_add(1));
    let program = c.program;
    let watched = program.watched().filter(|_| OBSERVED && c.memory.checks().waits);
    let traced = program.traced().filter(|_| OBSERVED);
    let mut executed = 0;
    while executed < turn {
        executed += 1;
        let at = c.wave.pc;
        let Some(u) = program.uop(at) else {
            c.wave.executed += executed;
            let reason = "the kernel runs past the end of its code".to_owned();
            return c.fault(Trap::new(Problem::Instruction { words: Vec::new(), reason }));
        };
        c.wave.pc = at + 1;
        // Neighbours are several cache lines apart.
        if let Some(soon) = program.uop(at + 2) {
            prefetch(soon);
        }
        c.counters.instructions[u.kind as usize] += 1;
        if c.wave.poison != 0 && poison::gate(c, u) != Step::Next {
            return Step::Trap;
        }
        if c.wave.marks.is_some() && unwritten::gate(c, u) != Step::Next {
            return Step::Trap;
        }
        if let Some(code) = watched
            && unwaited::gate(c, u, code) != Step::Next
        {
            return Step::Trap;
        }
        let live = traced.is_some() && c.wave.exec() != 0;
        let step = carry_out(c, u);
        if let Some(traced) = traced {
            traced.mark(at, c.wave.pc, live);
        }
        if step != Step::Next {
            c.wave.executed += executed;
            return step;
        }
    }
    c.wave.executed += turn;
    if c.wave.executed > budget {
        return c.fault(Trap::new(Problem::Budget { instructions: c.wave.executed }));
    }
    Step::Next
}

/// Runs an instruction.
#[inline(always)]
pub(super) fn carry_out(c: &mut Cx<'_>, u: &Uop) -> Step {
    if u.splat != 0 {
        c.splat(u);
    }
    if c.wave.mode.flushes | c.wave.gpr_index | c.wave.vskip { run_specially(c, u) } else { (u.run)(c, u) }
}

/// Runs an instruction under a mode that is not the usual one.
#[cold]
fn run_specially(c: &mut Cx<'_>, u: &Uop) -> Step {
    if c.wave.vskip && is_vector(u.inst.format) {
        return Step::Next;
    }
    let moved = if c.wave.gpr_index && is_valu(u.inst.format) {
        match gpr_index::moved(c, u) {
            Ok(moved) => Some(moved),
            Err(step) => return step,
        }
    } else {
        None
    };
    let u = moved.as_ref().unwrap_or(u);
    if c.wave.mode.flushes && u.float { modifiers::flushed(c, u) } else { (u.run)(c, u) }
}
