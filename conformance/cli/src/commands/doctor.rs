//! `assay doctor`: what works on this machine, and what to install for the rest.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use assay_cli::backends;
use conformance::guard::Guard;
use conformance::outcome::Outcome;
use conformance::suite::{self, Filter};
use engine::gguf::Gguf;

use super::{End, Trouble, build_info, print};

/// Says what works on this machine, and what to install for the rest.
///
/// Looks at the processor, memory, GPU, ROCm, compilers, the software device and the model that `ASSAY_MODEL` names. The exit code is 0
/// whatever it finds.
#[derive(clap::Args)]
pub struct Doctor {}

/// What was found out about one thing.
struct Finding {
    what: &'static str,
    works: bool,
    detail: String,
    /// What to do about it where it does not work.
    advice: &'static str,
}

impl Finding {
    fn new(what: &'static str, found: Result<String, String>, advice: &'static str) -> Self {
        let works = found.is_ok();
        let detail = found.unwrap_or_else(|why| why);
        Finding { what, works, detail, advice }
    }
}

impl Doctor {
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "the signature of every command")]
    pub fn run(self) -> Result<End, Trouble> {
        print(&format!("assay {}\n\n", build_info::long()));
        let findings = [
            Finding::new("processor", Ok(processor()), ""),
            cpu_backend(),
            Finding::new("memory", memory(), ""),
            software_device(),
            gpu(),
            run_time_compiler(),
            tool("clang++-19", "builds the kernels of this repository: apt-get install clang-19 lld-19"),
            tool(
                "hipcc",
                "ROCm's own compiler, for kernels that include its headers: https://rocm.docs.amd.com",
            ),
            model(),
        ];
        let mut text = String::new();
        for Finding { what, works, detail, advice } in &findings {
            let _ = writeln!(text, "{} {what:<16} {detail}", if *works { "ok" } else { "--" });
            if !works && !advice.is_empty() {
                let _ = writeln!(text, "   {:<16} {advice}", "");
            }
        }
        print(&text);
        print(&summary(&findings));
        Ok(End::Well)
    }
}

/// Which commands work here.
fn summary(findings: &[Finding]) -> String {
    let works = |what: &str| findings.iter().any(|finding| finding.what == what && finding.works);
    let rows = [
        ("assay check", "every op on the CPU and on the software device", works("software device")),
        ("assay check --backend hip", "the same kernels on the GPU", works("GPU")),
        ("assay run -m FILE -p TEXT", "with the model of ASSAY_MODEL, or another GGUF file", works("model")),
        ("kernels/hip/build.sh", "device code built again", works("clang++-19")),
    ];
    rows.iter().fold("\nworks here:\n".into(), |mut text, (command, what, works)| {
        let _ = writeln!(text, "  {:<3} {command:<28} {what}", if *works { "yes" } else { "no" });
        text
    })
}

/// The value of a line `key : value` of a file of /proc.
fn proc_value(file: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn processor() -> String {
    let name = proc_value("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.into());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{name}, {threads} hardware threads")
}

/// The instruction set that the backend cpu uses here.
fn cpu_backend() -> Finding {
    let opened = backends::open("cpu", Guard::Off).map(|target| target.identity().device);
    Finding::new("backend cpu", opened.map_err(|error| error.to_string()), "")
}

fn memory() -> Result<String, String> {
    let gib = |key| {
        let kib: f64 = proc_value("/proc/meminfo", key)?.split(' ').next()?.parse().ok()?;
        Some(kib / f64::from(1 << 20))
    };
    match (gib("MemTotal"), gib("MemAvailable")) {
        (Some(all), Some(free)) => Ok(format!("{all:.1} GiB, {free:.1} GiB free")),
        _ => Err("/proc/meminfo does not say".into()),
    }
}

/// Runs one case.
fn software_device() -> Finding {
    let run = || {
        let target = backends::open("soft", Guard::Off).map_err(|error| error.to_string())?;
        let names = suite::names("soft", &Filter::new("add"));
        let name = names.first().ok_or("the op add has no case")?;
        let begin = Instant::now();
        let result = suite::run(name, target.as_ref(), suite::JUDGE).map_err(|error| error.to_string())?;
        match result.outcome {
            Outcome::Passed => {
                Ok(format!("{}; a case of add in {:.0?}", target.identity().device, begin.elapsed()))
            }
            other => Err(format!("{name}: {other:?}")),
        }
    };
    Finding::new("software device", run(), "")
}

#[cfg(feature = "hip")]
fn gpu() -> Finding {
    let found = backend_hip::gpu::visible().map_err(|error| error.to_string()).map(|gpus| {
        gpus.iter().map(|gpu| format!("{} ({})", gpu.name, gpu.arch)).collect::<Vec<_>>().join(", ")
    });
    Finding::new("GPU", found, if Path::new("/dev/kfd").exists() { "" } else { NO_DRIVER })
}

/// What to do without the driver.
#[cfg(feature = "hip")]
const NO_DRIVER: &str = "there is no /dev/kfd: the amdgpu driver is not loaded";

#[cfg(not(feature = "hip"))]
fn gpu() -> Finding {
    let driver = if Path::new("/dev/kfd").exists() { "/dev/kfd is there" } else { "there is no /dev/kfd" };
    let why = format!("this program was built without the backend hip; {driver}");
    Finding::new("GPU", Err(why), "build with: cargo build --release --features hip (needs no part of ROCm)")
}

#[cfg(feature = "hip")]
fn run_time_compiler() -> Finding {
    let found = backend_hip::hiprtc::available().map(|()| "found".to_owned());
    Finding::new("hiprtc", found.map_err(|error| error.to_string()), "only GPUs other than gfx942 need it")
}

#[cfg(not(feature = "hip"))]
fn run_time_compiler() -> Finding {
    Finding::new("hiprtc", Err("not looked for without the backend hip".into()), "")
}

/// The first line that `name --version` prints.
fn tool(name: &'static str, advice: &'static str) -> Finding {
    let found = match Command::new(name).arg("--version").output() {
        Ok(output) => {
            Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
        }
        Err(error) => Err(error.to_string()),
    };
    Finding::new(name, found, advice)
}

fn model() -> Finding {
    let found = match std::env::var_os("ASSAY_MODEL") {
        None => Err("ASSAY_MODEL is not set".into()),
        Some(path) => match Gguf::open(&path) {
            Ok(gguf) => Ok(format!("{}: {} tensors", Path::new(&path).display(), gguf.tensors().len())),
            Err(error) => Err(error.to_string()),
        },
    };
    let advice = "bash golden/fetch_model.sh DIR fetches SmolLM2-135M (98 MB) and prints the line to set";
    Finding::new("model", found, advice)
}
