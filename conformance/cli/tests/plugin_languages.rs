//! Plug-ins in C, HIP and Python, and the page about them, where a compiler or Python is there.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod pages;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

use pages::root;
use test_needs::Need;

/// The page about plug-ins.
const PAGE: &str = "conformance/plugin/README.md";

fn main() -> ExitCode {
    let mut trials = test_needs::trials!(test_needs::c_compiler();
        the_header_is_c11_and_cpp,
        a_plug_in_in_c_conforms,
        commands_of_the_page_in_c_print_what_it_shows,
    );
    trials.extend(test_needs::trials!(python();
        a_plug_in_in_python_conforms,
        what_is_wrong_in_python_is_named,
        types_in_python_are_declared,
        files_and_processes_that_python_touches_are_named,
        layouts_in_python_are_declared,
        python_that_dies_or_hangs_costs_one_case,
        commands_of_the_page_in_python_print_what_it_shows,
    ));
    trials.extend(test_needs::trials!(hip(); a_plug_in_in_hip_conforms_and_its_bug_is_named));
    test_needs::run(trials)
}

/// Python with numpy: `ASSAY_PYTHON`, or `python3`.
fn python() -> Need<String> {
    let program = std::env::var("ASSAY_PYTHON").unwrap_or_else(|_| "python3".into());
    let found = match Command::new(&program).args(["-c", "import numpy"]).output() {
        Ok(output) if output.status.success() => Ok(program),
        Ok(_) => Err(format!("{program} has no numpy; pip install numpy, or name another in ASSAY_PYTHON")),
        Err(error) => Err(format!("{program}: {error}")),
    };
    Need::new(found, "ASSAY_REQUIRE_PYTHON")
}

/// What compiles HIP without ROCm.
fn hip() -> Need<PathBuf> {
    let headers = PathBuf::from("/usr/include/hip/hip_runtime.h");
    let library = Path::new("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode/ocml.bc").exists();
    let found = match Command::new("clang++-19").arg("--version").output() {
        Ok(_) if headers.exists() && library => Ok(headers),
        Ok(_) => Err("apt-get install rocm-device-libs libamdhip64-dev".into()),
        Err(error) => {
            Err(format!("clang++-19: {error}; apt-get install clang-19 lld-19 llvm-19 clang-tools-19"))
        }
    };
    Need::new(found, "ASSAY_REQUIRE_HIP_COMPILER")
}

fn plugin(path: &str) -> PathBuf {
    root().join("conformance/plugin").join(path)
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[track_caller]
fn ended(output: &Output, code: i32, naming: &[&str]) {
    let text = said(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    for part in naming {
        assert!(text.contains(part), "no '{part}' in {text}");
    }
}

fn assay(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(folder).env_remove("GITHUB_ACTIONS");
    command
}

/// Compiles a file of C.
fn compile(compiler: &str, source: &Path, out: &Path) {
    let mut command = Command::new(compiler);
    command.args(["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2", "-shared", "-fPIC", "-I"]);
    command.arg(plugin("")).arg("-o").arg(out).arg(source).arg("-lm");
    ended(&command.output().unwrap(), 0, &[]);
}

fn the_header_is_c11_and_cpp(compiler: &str) {
    let folder = tempfile::tempdir().unwrap();
    let bare = folder.path().join("bare.c");
    std::fs::write(&bare, "#include \"assay.h\"\nint nothing;\n").unwrap();
    compile(compiler, &bare, &folder.path().join("bare.so"));
    let mut cpp = Command::new(compiler);
    cpp.args(["-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]);
    ended(&cpp.arg(plugin("")).arg(&bare).output().unwrap(), 0, &[]);
}

fn a_plug_in_in_c_conforms(compiler: &str) {
    let folder = tempfile::tempdir().unwrap();
    compile(compiler, &plugin("examples/plain.c"), &folder.path().join("libplain.so"));
    // The names of matmul and gelu_mul end in 'mul' too.
    for op in ["add/", "rms_norm/", "mul/ n=33,"] {
        let output = assay(folder.path()).args(["check", op, "--plugin", "./libplain.so"]).output().unwrap();
        ended(&output, 0, &["plugin: plain C (libplain.so)", " 0 failed"]);
    }
    let short = assay(folder.path()).args(["check", "add/ _type=", "--plugin", "./libplain.so"]).output();
    ended(&short.unwrap(), 2, &["plain.c computes in f32"]);
    let none = assay(folder.path()).args(["check", "rope/", "--plugin", "./libplain.so"]).output().unwrap();
    ended(&none, 2, &["implements none of the cases of 'rope/': not among the ops of plain.c"]);
}

fn a_plug_in_in_python_conforms(_: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = plugin("examples/plain.py");
    for op in ["add/ n=31,", "mul/ n=31,", "rms_norm/ n=31,", "softmax/ n=31,", "matmul/ k=32, m=5,"] {
        let output = assay(folder.path()).args(["check", op, "--python"]).arg(&file).output().unwrap();
        ended(&output, 0, &["plugin: numpy ", "(plain.py)", " 0 failed"]);
    }
}

/// Cases of `add` that take no time.
const EXACT: &str = "add/ exact rows=5, n=31,";

/// Writes a plug-in whose `add` is `body`, and checks some cases of it.
fn check_python(body: &str, cases: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("import assay\nimport os, time\nimport numpy as np\n\n{body}\n");
    std::fs::write(folder.path().join("mine.py"), text).unwrap();
    let arguments = ["check", cases, "--timeout", "5", "--plugin", "mine.py"];
    assay(folder.path()).args(arguments).output().unwrap()
}

fn what_is_wrong_in_python_is_named(_: &str) {
    let add = |body: &str| check_python(&format!("@assay.op\ndef add(a, b, out):\n    {body}"), EXACT);
    ended(&add("print('hello'); return a + b"), 0, &[]);
    ended(&add("out[...] = a + b; out[-1, -1] += 1"), 1, &["found by exact"]);
    ended(
        &add("return a[:, ::-1] + missing"),
        1,
        &["device: launch: Traceback", "name 'missing' is not defined"],
    );
    ended(&add("a += b; return a"), 1, &["read-only"]);
    ended(
        &check_python("@assay.op\ndef add(a, out):\n    return a", EXACT),
        2,
        &["add(a, out) has no argument 'b'"],
    );
    let declared = "@assay.op(numerics={'acumulator': 'f16'})\ndef add(a, b, out):\n    return a + b";
    ended(&check_python(declared, EXACT), 1, &["what the plug-in declares of add", "acumulator"]);
    ended(&check_python("1 / 0", EXACT), 2, &["the file cannot be run", "ZeroDivisionError"]);
    ended(&check_python("def add(a, b, out): pass", EXACT), 2, &["has no function with @assay.op"]);
    ended(&check_python("@assay.op\ndef adds(a, b, out): pass", EXACT), 2, &["no function called add"]);
}

/// The verdict on `add` of a Python file with this body, and its tricks.
fn judged_python(body: &str) -> (String, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "import assay\nimport os, subprocess\n\n@assay.op\ndef add(a, b, out):\n    {body}\n    return a + b\n"
    );
    std::fs::write(folder.path().join("mine.py"), text).unwrap();
    let output =
        assay(folder.path()).args(["judge", "add", "--seed", "3", "--python", "mine.py"]).output().unwrap();
    let verdict: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)));
    let tricks =
        verdict["tricks"].as_array().unwrap().iter().map(|trick| trick["name"].as_str().unwrap().into());
    (verdict["verdict"].as_str().unwrap().into(), tricks.collect())
}

fn files_and_processes_that_python_touches_are_named(_: &str) {
    let touches = (String::from("cheats"), vec![String::from("files_touched")]);
    assert_eq!(judged_python("open('seen', 'a').close()"), touches);
    assert_eq!(judged_python("subprocess.run(['true'])"), touches);
    // What is done once is a matter of starting up, like an import or a compiler's cache.
    let once = "if not hasattr(add, 'known'): open('seen', 'a').close(); add.known = 1";
    assert_eq!(judged_python(&once.replace("add", "assay")), (String::from("conforms"), Vec::new()));
}

/// A function is asked in f16 and bf16 where it says so, and what it is given then is what the case has.
fn types_in_python_are_declared(_: &str) {
    let add = |declared: &str, body: &str| {
        check_python(&format!("@assay.op{declared}\ndef add(a, b, out):\n    {body}"), "add/ _type= rows=5,")
    };
    let typed = "assay.f32(a) + assay.f32(b)";
    ended(&add("", "return a + b"), 2, &["; add takes f32 there"]);
    let all = "(types=['f32', 'f16', 'bf16'])";
    ended(&add(all, &format!("return {typed}")), 0, &[" 0 failed, 0 unsupported"]);
    ended(&add(all, "return a + b"), 1, &["FAILED"]);
    ended(
        &add(all, &format!("out[...] = assay.to_bf16({typed}) if out.dtype == 'uint16' else {typed}")),
        0,
        &[" 0 failed, 0 unsupported"],
    );
    let truncates = format!(
        "y = {typed}; return (y.view('uint32') >> 16).astype('uint16') if out.dtype == 'uint16' else y"
    );
    ended(&add(all, &truncates), 1, &["FAILED"]);
    let by_name = "(types={'a': ['f16', 'bf16'], 'b': ['f16', 'bf16']})";
    ended(&add(by_name, &format!("return {typed}")), 0, &[" 0 failed"]);
}

/// A function is asked with a transposed tensor where it says so.
fn layouts_in_python_are_declared(_: &str) {
    let copy = |declared: &str| {
        let body = format!("@assay.op{declared}\ndef copy(x, out):\n    out[...] = x");
        check_python(&body, "copy/ to=f32 n=33, columns=true")
    };
    ended(&copy(""), 2, &["'x' is transposed in memory; copy takes rows there"]);
    ended(&copy("(layouts=['rows', 'transposed'])"), 0, &[" 0 failed, 0 unsupported"]);
    ended(&copy("(layouts={'x': 'transposed'})"), 0, &[" 0 failed, 0 unsupported"]);
}

fn python_that_dies_or_hangs_costs_one_case(_: &str) {
    let fall = |how: &str| {
        let body = format!(
            "@assay.op\ndef add(a, b, out):\n    if np.all(b.shape == a.shape) and a.base is None: pass\n    {how}\n    return a + b"
        );
        check_python(&body, EXACT)
    };
    ended(&fall("os._exit(3)"), 1, &["device lost", "Python has ended (exit status: 3)"]);
    ended(&fall("os.kill(os.getpid(), 11)"), 1, &["device lost", "SIGSEGV"]);
    ended(&fall("time.sleep(1000)"), 1, &["hang: no answer within 5s"]);
    let marker = format!("assay-plug-in-{}", std::process::id());
    ended(&fall(&format!("time.sleep(1000) # {marker}")), 1, &["hang"]);
}

fn a_plug_in_in_hip_conforms_and_its_bug_is_named(_: &Path) {
    let folder = tempfile::tempdir().unwrap();
    // Cargo builds the drop-in library for the tests here.
    let runtime = std::env::current_exe().unwrap().with_file_name("libamdhip64.so");
    for name in ["libamdhip64.so.5", "libamdhip64.so.6"] {
        std::os::unix::fs::symlink(&runtime, folder.path().join(name)).unwrap();
    }
    let build = |out: &str, option: &[&str]| {
        let mut command = Command::new("sh");
        command.arg(plugin("examples/hip/build.sh")).arg(folder.path().join(out)).args(option);
        ended(&command.output().unwrap(), 0, &[]);
    };
    build("libright.so", &[]);
    build("libwrong.so", &["-DBUG"]);
    let check = |library: &str| {
        let mut command = assay(folder.path());
        command.args([
            "check",
            "rms_norm/ bounded rows=5, data=gauss",
            "--guard",
            "off",
            "--plugin",
            library,
        ]);
        command.args(["--save-capsules", "failed"]);
        command.env("LD_LIBRARY_PATH", folder.path()).output().unwrap()
    };
    ended(&check("./libright.so"), 0, &["(software)", " 0 failed"]);
    let wrong = check("./libwrong.so");
    ended(
        &wrong,
        1,
        &["Invalid global read of size 4 bytes", "rms_norm.hip:", "smallest", "capsule: failed/"],
    );
    let capsule = std::fs::read_dir(folder.path().join("failed")).unwrap().next().unwrap().unwrap().path();
    let replay = |library: &str| {
        let mut command = assay(folder.path());
        command.arg("replay").arg(&capsule).args(["--guard", "off", "--plugin", library]);
        command.env("LD_LIBRARY_PATH", folder.path()).output().unwrap()
    };
    ended(&replay("./libwrong.so"), 1, &["FAILED"]);
    ended(&replay("./libright.so"), 0, &["PASSED"]);
}

fn commands_of_the_page_in_c_print_what_it_shows(_: &str) {
    shows("needs=cc");
}

fn commands_of_the_page_in_python_print_what_it_shows(_: &str) {
    shows("needs=python");
}

/// Runs the commands of the page's blocks that need `need`, as a shell does.
fn shows(need: &str) {
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_assay")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let (mut code, mut wrong) = (0, Vec::new());
    let commands = pages::commands(PAGE, Some(need));
    assert!(commands.len() >= 2, "{PAGE} has few commands");
    for shown in commands {
        let script = format!("(exit {code}); {}", shown.command);
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(folder.path())
            .env("PATH", &path)
            .env_remove("GITHUB_ACTIONS")
            .output()
            .unwrap();
        code = output.status.code().unwrap();
        let stream = if output.stdout.is_empty() { output.stderr } else { output.stdout };
        wrong.extend(shown.complaint(String::from_utf8_lossy(&stream).trim_end()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
