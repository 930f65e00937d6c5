//! Reports in JSON are as their schema says.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use serde_json::Value;

/// What of `value` is not as `schema` says. The keywords are those that the schema uses; any other one is itself a fault.
fn faults(schema: &Value, root: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    for (keyword, rule) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => {}
            "$ref" => {
                let target = root.pointer(rule.as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
                faults(target, root, value, at, found);
            }
            "type" => {
                let types = rule.as_array().map_or(vec![rule], |types| types.iter().collect());
                if !types.iter().any(|name| is_a(value, name.as_str().unwrap())) {
                    found.push(format!("{at}: {value} is no {rule}"));
                }
            }
            "enum" => {
                if !rule.as_array().unwrap().contains(value) {
                    found.push(format!("{at}: {value} is none of {rule}"));
                }
            }
            "anyOf" => {
                let fits = |schema: &Value| {
                    let mut found = Vec::new();
                    faults(schema, root, value, at, &mut found);
                    found.is_empty()
                };
                if !rule.as_array().unwrap().iter().any(fits) {
                    found.push(format!("{at}: {value} fits nothing of {rule}"));
                }
            }
            "minimum" => {
                if value.as_f64().is_some_and(|value| value < rule.as_f64().unwrap()) {
                    found.push(format!("{at}: {value} is less than {rule}"));
                }
            }
            "pattern" => {
                // The only pattern there is.
                assert_eq!(rule, "^[0-9a-f]{64}$");
                let text = value.as_str().unwrap_or_default();
                if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
                {
                    found.push(format!("{at}: {value} is no hash"));
                }
            }
            "required" => {
                for name in rule.as_array().unwrap() {
                    if value.get(name.as_str().unwrap()).is_none() {
                        found.push(format!("{at}: {name} is missing"));
                    }
                }
            }
            "properties" => {
                // A documented report has no undocumented member.
                for (name, member) in value.as_object().into_iter().flatten() {
                    match rule.get(name) {
                        Some(schema) => faults(schema, root, member, &format!("{at}/{name}"), found),
                        None => found.push(format!("{at}: {name} is not documented")),
                    }
                }
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    faults(rule, root, item, &format!("{at}/{i}"), found);
                }
            }
            other => found.push(format!("this test does not know the keyword {other}")),
        }
    }
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type '{other}'"),
    }
}

#[test]
fn reports_of_check_are_as_the_schema_says() {
    let assay = |folder: &std::path::Path, arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_assay")).args(arguments).current_dir(folder).output().unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let schema: Value = serde_json::from_slice(&assay(folder.path(), &["schema"]).stdout).unwrap();
    for (code, arguments) in [
        (0, ["rms_norm/ rows=5, n=31,", "cpu,soft"]),
        (1, ["rms_norm/ bounded eps-1e-5", "mutant:rms-norm-eps-missing"]),
        (1, ["argmax/ n=257", "mutant:argmax-dies"]),
    ] {
        let [filter, backend] = arguments;
        let output = assay(folder.path(), &["check", filter, "--backend", backend, "--json", "r.json"]);
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value =
            serde_json::from_slice(&std::fs::read(folder.path().join("r.json")).unwrap()).unwrap();
        let mut found = Vec::new();
        faults(&schema, &schema, &report, "", &mut found);
        found.truncate(10);
        assert!(found.is_empty(), "{found:#?}");
    }
    // The test can fail.
    let mut found = Vec::new();
    faults(&schema, &schema, &serde_json::json!({ "assay": 1, "more": true }), "", &mut found);
    assert!(found.len() > 8, "{found:?}");
}
