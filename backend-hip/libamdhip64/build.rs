//! Names the library and its symbol versions as ROCm does, and makes a function for every call that is not supported.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// The names of the calls that are not supported, one on each line.
const UNSUPPORTED: &str = "unsupported.txt";

/// The symbol versions `hip_MAJOR.MINOR` that a program may ask for: the last minor version of each major one.
///
/// The loader refuses a program that asks for a version which the library does not define. There is room for releases
/// to come.
const LAST_MINOR: [(u32, u32); 5] = [(4, 9), (5, 9), (6, 9), (7, 40), (8, 40)];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={UNSUPPORTED}");
    let folder = env::var_os("OUT_DIR").expect("cargo sets it");
    let folder = Path::new(&folder);
    fs::write(folder.join("unsupported.rs"), unsupported()).expect("cargo made the folder");
    let script = folder.join("versions.map");
    fs::write(&script, versions()).expect("cargo made the folder");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libamdhip64.so.6");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={}", script.display());
}

/// The call of the macro that makes a function per name.
fn unsupported() -> String {
    let names = fs::read_to_string(UNSUPPORTED).expect("the list of calls is beside this file");
    format!("unsupported! {{\n{names}}}\n")
}

/// A version script that defines versions without symbols. A symbol without a version satisfies a reference to any
/// version that the library defines, so that no list says which release brought which symbol.
///
/// rustc passes a version script of its own. lld, its linker on x86-64 Linux since 1.90, takes both; GNU ld refuses.
fn versions() -> String {
    let mut script = String::new();
    for (major, last) in LAST_MINOR {
        for minor in 0..=last {
            writeln!(script, "hip_{major}.{minor} {{}};").expect("a string grows");
        }
    }
    script
}
