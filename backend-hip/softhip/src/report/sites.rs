//! The places in host code that a report names.

use serde::{Deserialize, Serialize};

use super::{LaunchProblem, Operation, Problem, Report};
use crate::memory::{AllocationInfo, Site};

/// What happened at a place in host code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The allocation was made.
    Allocated,
    /// It was freed.
    Freed,
    /// The kernel was launched.
    Launched,
    /// The call at fault was made.
    Called,
    /// The copy was queued.
    Queued,
    /// The first of two operations was queued.
    First,
    /// The second of two operations was queued.
    Second,
}

impl Report {
    /// Every place in host code, with what happened there.
    pub fn host_sites(&mut self) -> Vec<(Event, &mut Site)> {
        let mut sites = Vec::new();
        match &mut self.problem {
            Problem::Access { fault, .. } => {
                fault.nearest.iter_mut().for_each(|nearest| add_allocation(&mut sites, nearest));
            }
            Problem::Launch { problem: LaunchProblem::StaleArgument { allocation, .. }, .. }
            | Problem::DoubleFree { allocation, .. }
            | Problem::Leak { allocation } => add_allocation(&mut sites, allocation),
            Problem::HostAccess { allocation, copy, .. } => {
                allocation.iter_mut().for_each(|allocation| add_allocation(&mut sites, allocation));
                sites.extend(copy.site.as_mut().map(|site| (Event::Queued, site)));
            }
            Problem::InvalidFree { nearest, .. } => {
                nearest.iter_mut().for_each(|nearest| add_allocation(&mut sites, nearest));
            }
            Problem::StreamRace { allocation, first, second, .. } => {
                allocation.iter_mut().for_each(|allocation| add_allocation(&mut sites, allocation));
                add_operation(&mut sites, Event::First, first);
                add_operation(&mut sites, Event::Second, second);
            }
            _ => {}
        }
        let called = self.call.as_mut().and_then(|call| call.site.as_mut());
        sites.extend(called.map(|site| (Event::Called, site)));
        sites.extend(self.launched.as_mut().map(|site| (Event::Launched, site)));
        sites
    }
}

fn add_allocation<'a>(sites: &mut Vec<(Event, &'a mut Site)>, allocation: &'a mut AllocationInfo) {
    let AllocationInfo { allocated, freed, .. } = allocation;
    sites.extend(allocated.as_mut().map(|site| (Event::Allocated, site)));
    sites.extend(freed.as_mut().map(|site| (Event::Freed, site)));
}

fn add_operation<'a>(sites: &mut Vec<(Event, &'a mut Site)>, event: Event, operation: &'a mut Operation) {
    sites.extend(operation.call.site.as_mut().map(|site| (event, site)));
}
