//! The checks on small trees with a cycle planted.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::{crates, modules};

/// A folder with these files.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn cycles(files: &[(&str, &str)]) -> Vec<String> {
    modules::graph(&tree(files).path().join("lib.rs")).cycles()
}

#[test]
fn a_cycle_of_modules_is_named_with_its_lines() {
    let found = cycles(&[
        ("lib.rs", "mod a;\nmod b;\npub mod c;\nmod d;"),
        ("a.rs", "use crate::b::B;"),
        ("b/mod.rs", "mod inner;"),
        ("b/inner.rs", "use super::super::{\n    d,\n    c::{self, C},\n};"),
        ("c.rs", "fn f() {\n    super::a::f();\n}"),
        ("d.rs", "use self::e::E;\nmod e { use super::F; }"),
    ]);
    assert_eq!(found, ["a needs b (a.rs:1), b needs c (b/inner.rs:3), c needs a (c.rs:2)"]);
}

#[test]
fn a_re_export_leads_to_the_module_that_has_the_item() {
    let found = cycles(&[
        ("lib.rs", "mod a;\nmod b;\npub use a::{A, x as X};\npub use b::B;"),
        ("a.rs", "use crate::B;"),
        ("b.rs", "type T = $crate::X;"),
    ]);
    assert_eq!(found, ["a needs b (a.rs:1), b needs a (b.rs:1)"]);
    assert!(cycles(&[("lib.rs", "mod a;\npub use a::{A, B};"), ("a.rs", "use crate::{A, B};")]).is_empty());
}

#[test]
fn what_the_root_defines_is_part_of_the_graph() {
    let found =
        cycles(&[("lib.rs", "mod a;\nfn all() -> Vec<u8> {\n    a::all()\n}"), ("a.rs", "use super::all;")]);
    assert_eq!(found, ["a needs the crate's root (a.rs:1), the crate's root needs a (lib.rs:3)"]);
}

#[test]
fn tests_comments_and_a_module_s_own_children_do_not_count() {
    let found = cycles(&[
        ("lib.rs", "mod a;\nmod b;"),
        ("a.rs", "use crate::b;\npub mod inner { use super::T; use crate::a::U; }"),
        (
            "b.rs",
            "//! See [a](crate::a).\n#[cfg(test)]\nmod tests {\n    use crate::a;\n    use super::*;\n}\n// crate::a",
        ),
    ]);
    assert_eq!(found, Vec::<String>::new());
    let graph = modules::graph(
        &tree(&[("lib.rs", "mod a;\nmod b;"), ("a.rs", "use crate::b;"), ("b.rs", "")]).path().join("lib.rs"),
    );
    assert_eq!(graph.needs("a"), ["b"]);
}

#[test]
fn a_cycle_of_crates_is_named_in_tests_too() {
    let top = tree(&[
        (
            "Cargo.toml",
            "[workspace]\nmembers = ['a', 'b']\n[workspace.dependencies]\nbee = { package = 'b', path = 'b' }",
        ),
        ("a/Cargo.toml", "[package]\nname = 'a'\n[target.'cfg(unix)'.dependencies]\nbee.workspace = true"),
        ("b/Cargo.toml", "[package]\nname = 'b'\n[dev-dependencies]\na = { path = '../a' }\nserde = '1'"),
    ]);
    let members = crates::members(top.path());
    let at = |name: &str| Path::new(name).join("Cargo.toml").display().to_string();
    let expected = format!("a needs b ({}), b needs a ({})", at("a"), at("b"));
    assert_eq!(crates::graph(top.path(), &members).cycles(), [expected]);
}
