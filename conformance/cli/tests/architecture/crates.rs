//! The crates of a workspace: their root files, and which needs which.

use std::fs;
use std::path::{Path, PathBuf};

use toml::Table;

use crate::graph::Graph;

/// A crate of the workspace.
pub struct Member {
    /// Name of the package.
    pub name: String,
    /// Its folder, from the top of the workspace.
    pub folder: PathBuf,
    manifest: Table,
}

impl Member {
    /// The root files of its library and of its binary, those that it has.
    pub fn roots(&self, top: &Path) -> Vec<PathBuf> {
        let sources = top.join(&self.folder).join("src");
        let roots = ["lib.rs", "main.rs"].map(|file| sources.join(file));
        roots.into_iter().filter(|path| path.exists()).collect()
    }

    /// The names of what it depends on, as its manifest has them.
    pub fn dependencies(&self, kinds: &[&str]) -> Vec<&str> {
        let plain = kinds.iter().filter_map(|kind| self.manifest.get(*kind)?.as_table());
        let targets = self.manifest.get("target").and_then(|t| t.as_table());
        let of_targets = targets.into_iter().flat_map(|t| t.values()).filter_map(|t| t.as_table());
        let of_targets = of_targets.flat_map(|t| kinds.iter().filter_map(|kind| t.get(*kind)?.as_table()));
        plain.chain(of_targets).flat_map(Table::keys).map(String::as_str).collect()
    }
}

fn read(path: &Path) -> Table {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The crates of the workspace whose manifest is in `top`.
pub fn members(top: &Path) -> Vec<Member> {
    let workspace = read(&top.join("Cargo.toml"));
    let folders = workspace["workspace"]["members"].as_array().unwrap();
    let member = |folder: &toml::Value| {
        let folder = PathBuf::from(folder.as_str().unwrap());
        let manifest = read(&top.join(&folder).join("Cargo.toml"));
        let name = manifest["package"]["name"].as_str().unwrap().to_owned();
        Member { name, folder, manifest }
    };
    folders.iter().map(member).collect()
}

/// Which crate of the workspace needs which, in its tests too: Cargo itself refuses other cycles only.
pub fn graph(top: &Path, members: &[Member]) -> Graph {
    let workspace = read(&top.join("Cargo.toml"));
    let shared = workspace["workspace"].get("dependencies").and_then(|d| d.as_table());
    let package = |key: &str| {
        let named = shared.and_then(|all| all.get(key)?.get("package")?.as_str());
        named.unwrap_or(key).to_owned()
    };
    let mut graph = Graph::default();
    for member in members {
        for key in member.dependencies(&["dependencies", "dev-dependencies", "build-dependencies"]) {
            let to = package(key);
            if members.iter().any(|other| other.name == to) {
                graph.add(&member.name, &to, || member.folder.join("Cargo.toml").display().to_string());
            }
        }
    }
    graph
}

/// The Rust files below `folder`.
pub fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .collect()
}

/// The names under which members of the workspace depend on each other.
pub fn workspace_keys(top: &Path) -> Vec<String> {
    let workspace = read(&top.join("Cargo.toml"));
    let shared = workspace["workspace"]["dependencies"].as_table().unwrap();
    shared.iter().filter(|(_, value)| value.get("path").is_some()).map(|(key, _)| key.clone()).collect()
}
