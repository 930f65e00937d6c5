//! Names the library and its symbol versions as ROCm does.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

/// The symbol versions `hip_MAJOR.MINOR` that a program may ask for: the last minor version of each major one.
///
/// The loader refuses a program that asks for a version which the library does not define. There is room for releases
/// to come.
const LAST_MINOR: [(u32, u32); 5] = [(4, 9), (5, 9), (6, 9), (7, 40), (8, 40)];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let folder = env::var_os("OUT_DIR").expect("cargo sets it");
    let folder = Path::new(&folder);
    let script = folder.join("versions.map");
    fs::write(&script, versions()).expect("cargo made the folder");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libamdhip64.so.6");
    let argument = format!("-Wl,--version-script={}", script.display());
    let versions = linker_takes(&argument, folder);
    if versions {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
    println!("cargo:rustc-env=SYMBOL_VERSIONS={}", if versions { "defined" } else { "none" });
}

/// Whether the linker of this build makes a library with this argument, tried on an empty one.
///
/// rustc passes a version script of its own. lld, its linker on x86-64 Linux since 1.90, takes a second one; GNU ld refuses. Without
/// versions the loader still binds all symbols, and prints a line about each library that asked for one.
fn linker_takes(argument: &str, folder: &Path) -> bool {
    let source = folder.join("probe.rs");
    fs::write(&source, "#[unsafe(no_mangle)] pub extern \"C\" fn probe() {}\n")
        .expect("cargo made the folder");
    let variable = |name: &str| env::var(name).expect("cargo sets it");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "probe", "-Cpanic=abort"]);
    rustc.args(["--target", &variable("TARGET"), &format!("-Clink-arg={argument}"), "-o"]);
    rustc.arg(folder.join("probe.so")).arg(&source);
    rustc.args(env::var("RUSTC_LINKER").iter().map(|linker| format!("-Clinker={linker}")));
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    rustc.stdout(Stdio::null()).stderr(Stdio::null());
    rustc.status().is_ok_and(|status| status.success())
}

/// A version script that defines versions without symbols. A symbol without a version satisfies a reference to any
/// version that the library defines, so that no list says which release brought which symbol.
fn versions() -> String {
    let mut script = String::new();
    for (major, last) in LAST_MINOR {
        for minor in 0..=last {
            writeln!(script, "hip_{major}.{minor} {{}};").expect("a string grows");
        }
    }
    script
}
