//! Call stacks of the host: taken at every call that a report may name, turned into frames only when one does.

#![allow(unsafe_code, reason = "the loader is asked which module an address is part of")]

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::ptr::with_exposed_provenance_mut;
use std::sync::{Mutex, PoisonError};

use sanitize_protocol::Frame;
use softhip::memory::Site;

/// Frames that are taken of a stack, the library's own included.
const DEPTH: usize = 48;

/// The stacks so far, by number.
#[derive(Default)]
struct Stacks {
    /// Return addresses, the innermost first.
    all: Vec<Box<[usize]>>,
    numbers: HashMap<Box<[usize]>, u32>,
}

static STACKS: Mutex<Option<Stacks>> = Mutex::new(None);

/// The number of the present call stack.
pub fn take() -> u32 {
    number(addresses())
}

/// The number of the call stack of an instruction that a signal has interrupted; its handler calls this.
pub fn take_at(instruction: usize) -> u32 {
    let mut addresses = addresses();
    if let Some(at) = addresses.iter().position(|&address| address == instruction) {
        addresses.drain(..at);
        // Other addresses are behind their calls.
        addresses[0] += 1;
    }
    number(addresses)
}

fn addresses() -> Vec<usize> {
    let mut addresses = Vec::with_capacity(DEPTH);
    backtrace::trace(|frame| {
        addresses.push(frame.ip().expose_provenance());
        addresses.len() < DEPTH
    });
    addresses
}

fn number(addresses: Vec<usize>) -> u32 {
    let mut stacks = STACKS.lock().unwrap_or_else(PoisonError::into_inner);
    let stacks = stacks.get_or_insert_default();
    if let Some(&known) = stacks.numbers.get(addresses.as_slice()) {
        return known;
    }
    let number = u32::try_from(stacks.all.len()).expect("a program has fewer than 2^32 different stacks");
    let addresses = addresses.into_boxed_slice();
    stacks.all.push(addresses.clone());
    stacks.numbers.insert(addresses, number);
    number
}

/// The frames of a stack, from the program's call of this library to `main`.
pub fn frames(number: u32) -> Vec<Frame> {
    let addresses = {
        let stacks = STACKS.lock().unwrap_or_else(PoisonError::into_inner);
        let found = stacks.as_ref().and_then(|stacks| stacks.all.get(number as usize));
        found.map(|addresses| addresses.to_vec()).unwrap_or_default()
    };
    let own = module(take as fn() -> u32 as usize).map(|module| module.base);
    let mut frames = Vec::new();
    for address in addresses {
        let found = module(address);
        if found.as_ref().map(|module| module.base) == own {
            continue;
        }
        let ended = frames_at(address, found.as_ref(), &mut frames);
        if ended {
            break;
        }
    }
    frames
}

/// The innermost place with a line of source, or the innermost one.
pub fn site(frames: &[Frame]) -> Site {
    let with_line = frames.iter().find_map(|frame| Some(Site::new(frame.file.clone()?, frame.line?)));
    let plain = |frame: &Frame| {
        Site::new(format!("{}+{:#x}", frame.module.as_deref().unwrap_or("?"), frame.offset), 0)
    };
    with_line.or_else(|| frames.first().map(plain)).unwrap_or_else(|| Site::new("an unknown place", 0))
}

/// Adds the frames of a return address, inlined functions first. True at the end of the program's own frames.
fn frames_at(address: usize, module: Option<&Module>, frames: &mut Vec<Frame>) -> bool {
    // The call is before the address that it returns to.
    let call = address.saturating_sub(1);
    let place = |function, file, line| Frame {
        function,
        file,
        line,
        module: module.map(|module| module.name.clone()),
        offset: module.map_or(call, |module| call.wrapping_sub(module.base)) as u64,
    };
    let (mut known, mut ended) = (false, false);
    backtrace::resolve(with_exposed_provenance_mut(call), |symbol| {
        known = true;
        let function = symbol.name().map(|name| name.to_string());
        // The compiler's function that launches a kernel is no place in the source.
        if function.as_deref().is_some_and(|name| name.contains("__device_stub__")) {
            return;
        }
        // What calls `main` is no place in the program.
        if function.as_deref().is_some_and(|name| name.starts_with("__libc_start")) {
            ended = true;
            return;
        }
        ended |= function.as_deref() == Some("main");
        let file = symbol.filename().map(|file| file.display().to_string());
        frames.push(place(
            function,
            file.map(|file| file.trim_start_matches("./").to_owned()),
            symbol.lineno(),
        ));
    });
    if !known {
        frames.push(place(None, None, None));
    }
    ended
}

/// A loaded program or library.
struct Module {
    name: String,
    base: usize,
}

/// What an address is part of.
fn module(address: usize) -> Option<Module> {
    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    let pointer: *const c_void = with_exposed_provenance_mut::<c_void>(address);
    // SAFETY: any address may be asked about, and `found` is valid for a write.
    let known = unsafe { libc::dladdr(pointer, &raw mut found) } != 0;
    if !known || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's name of the module, which is a string for as long as it is loaded.
    let path = unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy();
    let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
    Some(Module { name, base: found.dli_fbase.addr() })
}
