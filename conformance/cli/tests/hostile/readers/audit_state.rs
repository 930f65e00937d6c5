//! Iterations of an audit that was killed, which the next one goes on with.

use forensics::audit::state::State;
use serde_json::json;

use crate::Reader;

pub const READER: Reader = Reader {
    name: "audit_state",
    sound: || {
        let line = r#"{"mode":"audit","number":0,"schedule":"own","errors":["e"],"logged":2,"expected":2,"seconds":0.5}"#;
        let other = line.replace("audit", "stress").replace(":0,", ":7,");
        super::texts(&[&format!("{{\"audit\":\"a\"}}\n{line}\n{other}\n"), ""])
    },
    words: &["\n", "{\"audit\":\"a\"}\n", "stress", "baseline", "null", "-1", "1e999", "[", "]", "{", "}"],
    read: |path| State::open(path, &json!({ "audit": "a" }), true).map(drop).map_err(|e| e.to_string()),
    // An audit runs a model for minutes.
    command: None,
};
