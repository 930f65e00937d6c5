//! Names the library as ROCm 6 does, and makes a function for every call that is not supported.
//!
//! The exports have no symbol versions. The loader lets them satisfy references to any version, so programs of every
//! release of ROCm find them. A library with versions is refused by programs that ask for a version it has not heard of.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// The names, one on each line.
const UNSUPPORTED: &str = "unsupported.txt";

fn main() {
    println!("cargo:rerun-if-changed={UNSUPPORTED}");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libamdhip64.so.6");
    let names = fs::read_to_string(UNSUPPORTED).expect("the list of calls is beside this file");
    let mut table = "unsupported! {\n".to_owned();
    for name in names.lines() {
        writeln!(table, "    {name}").expect("a string grows");
    }
    table.push_str("}\n");
    let folder = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&folder).join("unsupported.rs"), table).expect("cargo made the folder");
}
