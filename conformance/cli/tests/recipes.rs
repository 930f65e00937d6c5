//! The recipes for several machines in conformance/README.md, as far as they can run on one: their commands, part by part.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};

/// Cases that take a moment; the recipes run all.
const FEW: &str = "add/ n=31, rows=5";

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    std::fs::read_to_string(path).unwrap()
}

/// The block fenced with `language` that contains `word`.
fn block(language: &str, word: &str) -> String {
    let page = page();
    let fence = format!("```{language}\n");
    let blocks = page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.filter(|block| block.contains(word)).map(str::to_owned).next().unwrap()
}

/// Runs a script as a machine of the recipe does, on few cases.
fn shell(folder: &Path, script: &str, variables: &[(&str, &str)]) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_assay")).parent().unwrap();
    let script = script.replace("--full --backend cpu,soft", &format!("'{FEW}' --backend cpu,ref"));
    assert!(script.contains(FEW) || script.contains("merge"), "{script}");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(folder).env("PATH", path).env_remove("GITHUB_ACTIONS");
    command.envs(variables.iter().copied()).output().unwrap()
}

#[track_caller]
fn ends_well(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}");
}

/// The cases that a report counts.
fn cases(folder: &Path, report: &str) -> usize {
    std::fs::read_to_string(folder.join(report)).unwrap().matches("<testcase").count()
}

/// Cases of the whole sweep, run at once.
fn whole() -> usize {
    let folder = tempfile::tempdir().unwrap();
    let script = "assay check --full --backend cpu,soft --junit whole.xml";
    ends_well(&shell(folder.path(), script, &[]));
    cases(folder.path(), "whole.xml")
}

#[test]
fn the_matrix_of_github_actions_is_the_whole_sweep() {
    let yaml = block("yaml", "matrix");
    let run = |word: &str| {
        let mut lines = yaml.lines().filter_map(|line| line.trim().strip_prefix("- run: "));
        lines.find(|line| line.contains(word)).unwrap().to_owned()
    };
    assert!(yaml.contains("shard: [1, 2, 3, 4]"));
    let folder = tempfile::tempdir().unwrap();
    for shard in ["1", "2", "3", "4"] {
        let script = run("assay check").replace("${{ matrix.shard }}", shard);
        ends_well(&shell(folder.path(), &script, &[]));
    }
    ends_well(&shell(folder.path(), &run("assay merge"), &[]));
    assert_eq!(cases(folder.path(), "assay.xml"), whole());
}

#[test]
fn the_slurm_array_is_the_whole_sweep() {
    let script = block("sh", "#SBATCH");
    assert!(script.contains("#SBATCH --array=1-4\n"));
    let folder = tempfile::tempdir().unwrap();
    // Tasks of an array run at once in one folder.
    std::thread::scope(|scope| {
        for task in ["1", "2", "3", "4"] {
            let (script, folder) = (&script, folder.path());
            let variables = [("SLURM_ARRAY_TASK_ID", task), ("SLURM_ARRAY_TASK_COUNT", "4")];
            scope.spawn(move || ends_well(&shell(folder, script, &variables)));
        }
    });
    assert!(page().contains("`sbatch --wait parts.sh; assay merge part-*.json`"));
    ends_well(&shell(folder.path(), "assay merge part-*.json --junit assay.xml", &[]));
    assert_eq!(cases(folder.path(), "assay.xml"), whole());
}
