//! Libraries of ROCm, loaded when they are first needed, so that one program serves machines with and without ROCm.
#![expect(unsafe_code, reason = "loading a library runs its initialisers")]

use std::path::Path;

use libloading::Library;

/// Where ROCm is installed unless the loader knows better.
const FOLDERS: [&str; 2] = ["", "/opt/rocm/lib"];

/// No library could be loaded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{what} cannot be loaded: {}. Install ROCm (https://rocm.docs.amd.com; Debian and Ubuntu also have the package {package}), \
     or name the library's folder in LD_LIBRARY_PATH",
    tried.join("; ")
)]
pub struct MissingLibrary {
    /// What the library is.
    pub what: &'static str,
    /// The package of a distribution that has it.
    pub package: &'static str,
    /// What the loader said of each library that was tried.
    pub tried: Vec<String>,
}

/// Calls `take` with each of the libraries `names` that can be loaded, until it succeeds.
pub(crate) fn load_first<T>(
    what: &'static str,
    package: &'static str,
    names: &[&str],
    take: impl Fn(Library) -> Result<T, libloading::Error>,
) -> Result<T, MissingLibrary> {
    let mut tried = Vec::new();
    for folder in FOLDERS {
        for name in names {
            let path = Path::new(folder).join(name);
            // SAFETY: ROCm's libraries have no initialiser that asks anything of the caller.
            match unsafe { Library::new(&path) }.and_then(&take) {
                Ok(taken) => return Ok(taken),
                Err(error) => tried.push(error.to_string()),
            }
        }
    }
    Err(MissingLibrary { what, package, tried })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named_with_all_that_was_tried() {
        let names = ["libassay-no-such-library.so.7", "libassay-no-such-library.so"];
        let error = load_first("the thing", "the-package", &names, |_| Ok(())).unwrap_err();
        let text = error.to_string();
        assert_eq!(error.tried.len(), 4);
        for part in ["the thing", "the-package", names[0], names[1], "/opt/rocm/lib", "LD_LIBRARY_PATH"] {
            assert!(text.contains(part), "'{part}' in: {text}");
        }
    }
}
