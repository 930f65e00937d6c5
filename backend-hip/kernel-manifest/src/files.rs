//! Code objects in files, folders and sources.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use code_object::{CodeObject, ContainerError, Kernel, ObjectError, TargetId, open_for};

/// What the names of sources end with.
const SOURCES: [&str; 4] = ["hip", "cpp", "cu", "cc"];

/// What the names of files with code objects end with, where a folder is given.
const OBJECTS: [&str; 4] = ["hsaco", "co", "hipfb", "so"];

/// Releases of clang that are looked for by name, the newest first.
const RELEASES: std::ops::RangeInclusive<u32> = 17..=24;

/// Why there are no kernels.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file holds no code object for the device.
    #[error("{}: {error}", path.display())]
    Container {
        /// The file.
        path: PathBuf,
        /// Why.
        error: ContainerError,
    },
    /// A code object cannot be read.
    #[error("{}: {error}", path.display())]
    Object {
        /// The file.
        path: PathBuf,
        /// Why.
        error: ObjectError,
    },
    /// A folder holds no file that could hold a code object.
    #[error("{}: none of its files ends in .{}", path.display(), OBJECTS.join(", ."))]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// Two files have a kernel of the same name.
    #[error("kernel '{kernel}' is in {first} and in {second}")]
    Twice {
        /// The kernel.
        kernel: String,
        /// A file.
        first: String,
        /// Another one.
        second: String,
    },
    /// There is no compiler for a source.
    #[error(
        "{}: a source needs hipcc or clang++ (17 or later) in the PATH, and neither is there; give a code object instead",
        path.display()
    )]
    NoCompiler {
        /// The source.
        path: PathBuf,
    },
    /// The compiler refuses a source.
    #[error("{}: {program} refuses it:\n{said}", path.display())]
    Refused {
        /// The source.
        path: PathBuf,
        /// The compiler.
        program: String,
        /// What it wrote.
        said: String,
    },
}

/// A code object.
#[derive(Debug)]
pub struct Image {
    /// The file that it is from, with a number where that has several.
    pub name: String,
    /// The ELF file.
    pub bytes: Vec<u8>,
    /// What it says about its kernels.
    pub object: CodeObject,
}

/// The kernels of some files. A clone is the same.
#[derive(Clone, Debug)]
pub struct KernelFiles {
    images: Arc<[Image]>,
}

impl KernelFiles {
    /// The code objects for `target` in files and folders; a source is compiled.
    pub fn load(paths: &[PathBuf], target: &TargetId) -> Result<Self, FilesError> {
        let mut images = Vec::new();
        for path in paths {
            let files = if path.is_dir() { in_folder(path)? } else { vec![path.clone()] };
            for file in files {
                let bytes = if is_source(&file) { compile(&file, target.processor())? } else { read(&file)? };
                images.extend(unpack(&file, &bytes, target)?);
            }
        }
        let files = KernelFiles { images: images.into() };
        files.no_duplicates()?;
        Ok(files)
    }

    /// The code objects.
    pub fn images(&self) -> &[Image] {
        &self.images
    }

    /// All kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.images.iter().flat_map(|image| image.object.kernels())
    }

    /// The kernel called `name`, with the code object that has it.
    pub fn find(&self, name: &str) -> Option<(&Image, &Kernel)> {
        self.images.iter().find_map(|image| Some((image, image.object.kernel(name)?)))
    }

    fn no_duplicates(&self) -> Result<(), FilesError> {
        for (at, image) in self.images.iter().enumerate() {
            for kernel in image.object.kernels() {
                let other = self.images[..at].iter().find(|o| o.object.kernel(&kernel.name).is_some());
                if let Some(other) = other {
                    let (first, second) = (other.name.clone(), image.name.clone());
                    return Err(FilesError::Twice { kernel: kernel.name.clone(), first, second });
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for KernelFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.images.iter().map(|image| image.name.as_str()).collect();
        f.write_str(&names.join(", "))
    }
}

/// Whether a file is a source by its name.
pub fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|end| SOURCES.iter().any(|source| end == *source))
}

/// The files of a folder that could hold code objects, by name.
fn in_folder(path: &Path) -> Result<Vec<PathBuf>, FilesError> {
    let unreadable = |error| FilesError::Unreadable { path: path.into(), error };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.extension().is_some_and(|end| OBJECTS.iter().any(|object| end == *object)) {
            files.push(file);
        }
    }
    files.sort_unstable();
    if files.is_empty() { Err(FilesError::Empty { path: path.into() }) } else { Ok(files) }
}

fn read(path: &Path) -> Result<Vec<u8>, FilesError> {
    input_file::read(path, input_file::BINARY)
        .map_err(|error| FilesError::Unreadable { path: path.into(), error })
}

fn unpack(path: &Path, bytes: &[u8], target: &TargetId) -> Result<Vec<Image>, FilesError> {
    let packed =
        open_for(bytes, target).map_err(|error| FilesError::Container { path: path.into(), error })?;
    let several = packed.len() > 1;
    let image = |(at, packed): (usize, code_object::Packed<'_>)| {
        let object = CodeObject::read(&packed.bytes)
            .map_err(|error| FilesError::Object { path: path.into(), error })?;
        let number = if several { format!("#{at}") } else { String::new() };
        Ok(Image { name: format!("{}{number}", path.display()), bytes: packed.bytes.into_owned(), object })
    };
    packed.into_iter().enumerate().map(image).collect()
}

/// The compilers that are tried, in turn: a program, and its options besides those of all.
fn compilers() -> Vec<(PathBuf, &'static [&'static str])> {
    const HIPCC: &[&str] = &["--genco"];
    const CLANG: &[&str] = &["-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output"];
    const ALONE: &[&str] =
        &["-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let find = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    let clang = std::env::var_os("CLANG").filter(|value| !value.is_empty()).map(PathBuf::from);
    let clang = clang
        .or_else(|| RELEASES.rev().find_map(|release| find(&format!("clang++-{release}"))))
        .or_else(|| find("clang++"));
    if let Some(hipcc) = find("hipcc") {
        return vec![(hipcc, HIPCC)];
    }
    clang.into_iter().flat_map(|program| [(program.clone(), CLANG), (program, ALONE)]).collect()
}

/// Compiles a source to the file `object`.
pub fn compile_to(source: &Path, gpu: &str, object: &Path) -> Result<(), FilesError> {
    let bytes = compile(source, gpu)?;
    std::fs::write(object, bytes).map_err(|error| FilesError::Unreadable { path: object.into(), error })
}

/// The code object that the user's compiler makes of a source. Without ROCm, the source must do without its headers.
fn compile(path: &Path, gpu: &str) -> Result<Vec<u8>, FilesError> {
    read(path)?;
    let unwritable = |error| FilesError::Unreadable { path: std::env::temp_dir(), error };
    let folder = tempfile::tempdir().map_err(unwritable)?;
    let object = folder.path().join("kernels.hsaco");
    let mut refused = None;
    for (program, options) in compilers() {
        let mut command = Command::new(&program);
        command.args(options).arg(format!("--offload-arch={gpu}"));
        command.args(["-O3", "-std=c++17", "-gline-tables-only", "-fhip-kernel-arg-name", "-o"]);
        command.arg(&object).arg(path).stdin(Stdio::null());
        let named = |said: String| FilesError::Refused {
            path: path.into(),
            program: program.display().to_string(),
            said,
        };
        match command.output() {
            Ok(output) if output.status.success() => return read(&object),
            // What clang says without ROCm's headers is about a source that does without them, or about its first include.
            Ok(output) => refused = Some(named(String::from_utf8_lossy(&output.stderr).trim_end().into())),
            Err(error) => refused = Some(named(error.to_string())),
        }
    }
    Err(refused.unwrap_or_else(|| FilesError::NoCompiler { path: path.into() }))
}
