//! Order between the workgroups of one launch.
//!
//! Workgroups are unordered, except through atomics: an atomic publishes what its workgroup did before,
//! and a workgroup that later performs an atomic on the same address is ordered after all of that. (The
//! device is sequentially consistent, so fences add nothing; a kernel that lacks one passes here.)
//! This is what makes "the last workgroup to finish sums the partial results" no race.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::fault::{AccessKind, LaneFault};
use super::within::Within;

/// Per workgroup, how much of what it did is known to have happened: all up to this clock.
type Clocks = HashMap<u32, u32>;

/// A running workgroup, as the race detector sees it. One exists per workgroup, for all of its waves.
#[derive(Debug)]
pub struct Group {
    id: u32,
    actor: u32,
    clock: u32,
    /// A plain access was recorded since the clock last advanced.
    dirty: bool,
    seen: Clocks,
    /// The wave that runs.
    wave: u32,
    /// What the waves did since the last barrier; `None` where nobody looks for races between them.
    pub(super) within: Option<Box<Within>>,
    /// Races that cannot change a result.
    notes: Vec<RaceNote>,
    /// Plain loads of what other workgroups change by atomics: faults, unless a compare-and-swap follows.
    pub(super) pending: Vec<RaceNote>,
}

/// A race, and who completed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaceNote {
    /// The wave within its workgroup.
    pub wave: u32,
    /// The instruction, as given to [`WaveAccess`](super::WaveAccess).
    pub pc: u32,
    /// The race.
    pub fault: LaneFault,
}

/// Notes that are kept until the next call of [`Group::take_notes`]: more would only repeat them.
const MOST_NOTES: usize = 64;

impl Group {
    /// The linear number of the workgroup.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// From now on, another wave of the workgroup runs.
    pub fn enter_wave(&mut self, wave: u32) {
        self.wave = wave;
    }

    /// From now on, races between its waves are looked for. `within` is empty, but for its memory.
    pub fn watch_waves(&mut self, within: Box<Within>) {
        self.within = Some(within);
    }

    /// Ends [`watch_waves`](Self::watch_waves).
    pub fn end_watch(&mut self) -> Option<Box<Within>> {
        self.within.take()
    }

    /// All waves have met at a barrier.
    pub fn pass_barrier(&mut self) {
        if let Some(within) = &mut self.within {
            within.pass_barrier();
        }
    }

    /// The wave that runs has done an atomic, on whatever memory.
    pub fn synchronise_wave(&mut self) {
        if let Some(within) = &mut self.within {
            within.synchronise(self.wave);
        }
    }

    pub(super) fn wave(&self) -> u32 {
        self.wave
    }

    /// Takes the races out that cannot change a result.
    pub fn take_notes(&mut self) -> Vec<RaceNote> {
        std::mem::take(&mut self.notes)
    }

    /// Takes the first plain load out that no compare-and-swap followed: a race.
    pub fn take_unsettled(&mut self) -> Option<RaceNote> {
        (!self.pending.is_empty()).then(|| self.pending.remove(0))
    }

    pub(super) fn note(&mut self, note: RaceNote) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(note);
        }
    }

    pub(super) fn actor(&self) -> u32 {
        self.actor
    }

    pub(super) fn note_plain(&mut self, kind: AccessKind) {
        self.dirty |= kind != AccessKind::Atomic;
    }

    pub(super) fn has_synchronised(&self) -> bool {
        !self.seen.is_empty()
    }
}

/// The order between the workgroups of one launch.
#[derive(Debug)]
pub(super) struct Order {
    launch: u32,
    groups: u32,
    /// (workgroup, clock) of the actors numbered from `groups` on; those below are workgroups at clock 0.
    later_actors: Mutex<Vec<(u32, u32)>>,
    /// What the atomics on an address have published.
    published: Mutex<HashMap<u64, Clocks>>,
    /// One thread runs all workgroups.
    alone: AtomicBool,
}

impl Order {
    pub(super) fn new(launch: u32, groups: u32) -> Self {
        Self {
            launch,
            groups,
            later_actors: Mutex::default(),
            published: Mutex::default(),
            alone: AtomicBool::new(false),
        }
    }

    pub(super) fn launch(&self) -> u32 {
        self.launch
    }

    pub(super) fn groups(&self) -> u32 {
        self.groups
    }

    pub(super) fn set_alone(&self, alone: bool) {
        self.alone.store(alone, Ordering::Relaxed);
    }

    /// Whether nobody else changes records meanwhile.
    #[inline]
    pub(super) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Relaxed)
    }

    pub(super) fn group(id: u32) -> Group {
        Group {
            id,
            actor: id,
            clock: 0,
            dirty: false,
            seen: Clocks::new(),
            wave: 0,
            within: None,
            notes: Vec::new(),
            pending: Vec::new(),
        }
    }

    fn actor(&self, actor: u32) -> (u32, u32) {
        match actor.checked_sub(self.groups) {
            None => (actor, 0),
            Some(later) => self.later_actors.lock().unwrap_or_else(PoisonError::into_inner)[later as usize],
        }
    }

    pub(super) fn group_of(&self, actor: u32) -> u32 {
        self.actor(actor).0
    }

    pub(super) fn same_group(&self, actor: u32, group: &Group) -> bool {
        actor == group.actor || self.group_of(actor) == group.id
    }

    /// Did everything that `actor` did happen before what `group` does now?
    pub(super) fn precedes(&self, actor: u32, group: &Group) -> bool {
        let (id, clock) = self.actor(actor);
        id == group.id || group.seen.get(&id).is_some_and(|&seen| seen >= clock)
    }

    /// `group` performs atomics on `addresses`: it learns what was published there (`acquire`) and
    /// publishes what it did and knows (`release`).
    pub(super) fn synchronise(&self, group: &mut Group, addresses: &[u64], acquire: bool, release: bool) {
        let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        if acquire {
            for address in addresses {
                if let Some(clocks) = published.get(address) {
                    merge(&mut group.seen, clocks);
                    group.seen.remove(&group.id);
                }
            }
        }
        if release {
            let finished = if group.dirty { Some(group.clock) } else { group.clock.checked_sub(1) };
            for address in addresses {
                let clocks = published.entry(*address).or_default();
                merge(clocks, &group.seen);
                if let Some(clock) = finished {
                    merge(clocks, &Clocks::from([(group.id, clock)]));
                }
            }
            drop(published);
            if group.dirty {
                self.advance(group);
            }
        }
    }

    fn advance(&self, group: &mut Group) {
        let mut later = self.later_actors.lock().unwrap_or_else(PoisonError::into_inner);
        let next = u32::try_from(later.len()).ok().and_then(|n| n.checked_add(self.groups));
        // 2^32 actors later, clocks stop: orders are missed, which hides no access from the checker.
        if let Some(actor) = next {
            group.clock += 1;
            later.push((group.id, group.clock));
            group.actor = actor;
            group.dirty = false;
        }
    }
}

fn merge(into: &mut Clocks, from: &Clocks) {
    for (&id, &clock) in from {
        let entry = into.entry(id).or_insert(clock);
        *entry = (*entry).max(clock);
    }
}
