//! The user's clang, and how it is called.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use sanitize_protocol::VARIABLE;

/// What hiprtc declares before a program's source: HIP's own header, or what kernels cannot do without.
const PROLOGUE: &str = include_str!("prologue.h");

/// The only GPU there is.
const GPU: &str = "gfx942";

/// Releases of clang that are looked for by name, the newest first. Earlier ones do not know the GPU.
const RELEASES: std::ops::RangeInclusive<u32> = 17..=24;

/// Folders with ROCm's device libraries outside of ROCm.
const LIBRARIES: [&str; 2] = ["/usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "/usr/lib/amdgcn/bitcode"];

/// Of these, what hiprtc links. The version of the instruction set is part of the prologue, because earlier releases do not have this one.
const BITCODE: [&str; 7] = [
    "ocml",
    "ockl",
    "oclc_daz_opt_off",
    "oclc_finite_only_off",
    "oclc_unsafe_math_off",
    "oclc_correctly_rounded_sqrt_on",
    "oclc_wavefrontsize64_on",
];

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// There is no compiler.
    #[error(
        "hiprtc needs clang, which was not found in HIP_CLANG_PATH, ROCM_PATH/llvm/bin and PATH: install clang and lld 17 or later"
    )]
    NoCompiler,
    /// An option that cannot be kept to.
    #[error("{0}: the device is a gfx942, and makes no bitcode")]
    Option(String),
    /// The compiler refuses the source.
    #[error("{}", String::from_utf8_lossy(.0))]
    Compiler(Vec<u8>),
    /// The files cannot be written or read.
    #[error("hiprtc: {0}")]
    Files(#[from] io::Error),
}

/// What is compiled.
pub(super) struct Sources<'a> {
    pub(super) name: &'a str,
    pub(super) source: &'a str,
    pub(super) headers: &'a BTreeMap<String, String>,
}

/// A compiler with the options that it needs here.
struct Compiler {
    program: PathBuf,
    options: Vec<OsString>,
}

/// The compiler is looked for once.
fn compiler() -> Option<&'static Compiler> {
    static COMPILER: OnceLock<Option<Compiler>> = OnceLock::new();
    COMPILER.get_or_init(|| find().map(prepare)).as_ref()
}

/// Where clang is.
fn find() -> Option<PathBuf> {
    let folder = |variable: &str| env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let rocm = folder("ROCM_PATH").unwrap_or_else(|| "/opt/rocm".into());
    let given = folder("HIP_CLANG_PATH").into_iter().chain([rocm.join("llvm/bin")]);
    let given = given.map(|folder| folder.join("clang++"));
    let names: Vec<String> =
        RELEASES.rev().map(|release| format!("clang++-{release}")).chain(["clang++".into()]).collect();
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let in_path = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    given.chain(in_path).find(|program| program.is_file())
}

/// Options for the libraries that are there.
fn prepare(program: PathBuf) -> Compiler {
    let rocm = env::var_os("ROCM_PATH").filter(|value| !value.is_empty()).map(|path| {
        let mut option = OsString::from("--rocm-path=");
        option.push(path);
        option
    });
    let with_rocm = Compiler { program, options: rocm.into_iter().collect() };
    // Without ROCm the driver refuses, before it compiles anything.
    let asked = with_rocm.command().args(["-###", "-c", "-o", "/dev/null", "/dev/null"]).output();
    if asked.is_ok_and(|asked| asked.status.success()) {
        return with_rocm;
    }
    let mut options: Vec<OsString> =
        ["-nogpuinc", "-nogpulib", "-include", "__clang_hip_runtime_wrapper.h"].map(Into::into).into();
    let folder = env::var_os("HIP_DEVICE_LIB_PATH").map(PathBuf::from);
    let folders = folder.into_iter().chain(LIBRARIES.map(PathBuf::from));
    match folders.into_iter().find(|folder| BITCODE.iter().all(|name| bitcode(folder, name).is_file())) {
        Some(folder) => {
            for name in BITCODE {
                let link =
                    [OsStr::new("-Xclang"), OsStr::new("-mlink-builtin-bitcode"), OsStr::new("-Xclang")];
                options.extend(link.map(ToOwned::to_owned));
                options.push(bitcode(&folder, name).into());
            }
            options.push("-DASSAY_ISA_VERSION=9402".into());
        }
        None => options.push("-DASSAY_NO_LIBRARIES".into()),
    }
    Compiler { options, ..with_rocm }
}

fn bitcode(folder: &Path, name: &str) -> PathBuf {
    folder.join(name).with_extension("bc")
}

impl Compiler {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "-fdeclspec"]);
        command.arg(format!("--offload-arch={GPU}")).args(["-D__HIP_PLATFORM_AMD__=1", "-O3", "-std=c++17"]);
        command.args(["-fhip-kernel-arg-name", "-gline-tables-only"]).args(&self.options);
        // The compiler is no program to check.
        command.env_remove(VARIABLE).env_remove("LD_PRELOAD").stdin(Stdio::null());
        command
    }
}

/// A folder for one compilation. It goes away when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("assay-hiprtc-{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// Writes a file. A name that leads out of the folder is an error.
    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !Path::new(name).components().all(inside) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("a header cannot be called {name}"),
            ));
        }
        let path = self.0.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays in the place for temporary files harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The options for clang: hiprtc names the GPU in its own way.
fn options(given: &[String]) -> Result<Vec<&str>, Failure> {
    let mut kept = Vec::new();
    for option in given {
        let arch = ["--gpu-architecture=", "--offload-arch=", "-arch="];
        let gpu = arch.iter().find_map(|name| option.strip_prefix(name));
        match gpu {
            Some(gpu) if gpu.split(':').next() == Some(GPU) => {}
            Some(_) => return Err(Failure::Option(option.clone())),
            None if option == "-fgpu-rdc" || option == "-emit-llvm" => {
                return Err(Failure::Option(option.clone()));
            }
            None => kept.push(option.as_str()),
        }
    }
    Ok(kept)
}

/// Compiles: the code object, and what the compiler printed.
pub(super) fn compile(sources: &Sources<'_>, given: &[String]) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    let options = options(given)?;
    let compiler = compiler().ok_or(Failure::NoCompiler)?;
    let folder = Folder::new()?;
    for (name, text) in sources.headers {
        folder.write(name, text)?;
    }
    folder.write("assay/prologue.h", PROLOGUE)?;
    let file = Path::new(sources.name).file_name().unwrap_or(OsStr::new("program.hip"));
    let file = folder.0.join("assay").join(file);
    fs::write(&file, sources.source)?;
    let (prologue, out) = (folder.0.join("assay/prologue.h"), folder.0.join("assay/code"));
    let mut command = compiler.command();
    command
        .arg("-include")
        .arg(prologue)
        .arg("-I")
        .arg(&folder.0)
        .args(options)
        .arg(&file)
        .arg("-o")
        .arg(&out);
    // Names in the log and in debug information are those of the program.
    let mut map = OsString::from("-ffile-prefix-map=");
    map.push(folder.0.join("assay"));
    map.push("/=");
    let Output { status, stdout, stderr } = command.arg(map).output()?;
    let log = [stdout, stderr].concat();
    if status.success() { Ok((fs::read(out)?, log)) } else { Err(Failure::Compiler(log)) }
}
