//! Which device, and which place in host code, a HIP call belongs to.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::{Arc, PoisonError, RwLock};

use super::{Options, SoftDevice};
use crate::memory::Site;

static INSTALLED: RwLock<Option<Arc<SoftDevice>>> = RwLock::new(None);

thread_local! {
    static BOUND: RefCell<Vec<Arc<SoftDevice>>> = const { RefCell::new(Vec::new()) };
    static SITE: RefCell<Option<Site>> = const { RefCell::new(None) };
}

/// The device that HIP calls of this thread act on.
pub fn current() -> Arc<SoftDevice> {
    // A static destructor of a C++ program may call after the thread's variables have gone.
    let bound = BOUND.try_with(|bound| bound.borrow().last().cloned());
    if let Some(device) = bound.ok().flatten() {
        return device;
    }
    if let Some(device) = &*INSTALLED.read().unwrap_or_else(PoisonError::into_inner) {
        return Arc::clone(device);
    }
    let mut installed = INSTALLED.write().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(installed.get_or_insert_with(|| Arc::new(SoftDevice::new(Options::default()))))
}

impl SoftDevice {
    /// Makes this the device of all threads that have bound no other.
    pub fn install(self: &Arc<Self>) {
        *INSTALLED.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(self));
    }

    /// Makes this the device of the calling thread, until the guard is dropped.
    #[must_use = "the binding ends with the guard"]
    pub fn bind(self: &Arc<Self>) -> Bound {
        BOUND.with_borrow_mut(|bound| bound.push(Arc::clone(self)));
        Bound { device: Arc::clone(self) }
    }
}

/// A thread's binding to a device.
#[derive(Debug)]
pub struct Bound {
    device: Arc<SoftDevice>,
}

impl Drop for Bound {
    fn drop(&mut self) {
        BOUND.with_borrow_mut(|bound| {
            if let Some(last) = bound.iter().rposition(|device| Arc::ptr_eq(device, &self.device)) {
                bound.remove(last);
            }
        });
    }
}

/// The place in host code that reports name for HIP calls of this thread, until the guard is dropped.
///
/// HIP's functions are C functions and cannot know their caller; a backend that wants its own callers named says so.
#[derive(Debug)]
#[must_use = "the call site ends with the guard"]
pub struct CallSite {
    previous: Option<Site>,
}

impl CallSite {
    /// The caller of the function that calls this, if that one has `#[track_caller]`.
    #[track_caller]
    pub fn here() -> Self {
        Self::new(Location::caller())
    }

    /// A given place.
    pub fn new(site: impl Into<Site>) -> Self {
        Self { previous: SITE.replace(Some(site.into())) }
    }

    /// Sets the place until the next setting.
    pub fn set(site: Option<Site>) {
        // A static destructor of a C++ program may call after the thread's variables have gone.
        let _ = SITE.try_with(|current| current.replace(site));
    }

    /// The place in force.
    pub fn get() -> Option<Site> {
        SITE.try_with(|site| site.borrow().clone()).ok().flatten()
    }
}

impl Drop for CallSite {
    fn drop(&mut self) {
        SITE.set(self.previous.take());
    }
}
