//! `evenpath-bench spadd` on small matrices.

use std::process::Command;

use serde_json::Value;

#[test]
fn every_case_is_measured_and_verified() {
    for device in ["best", "cpu", "simulated"] {
        every_case_is_verified_on(device);
    }
}

fn every_case_is_verified_on(device: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_evenpath-bench"))
        .args(["spadd", "--generate", "stencil5:12,lp:8,empty-rows:30", "--device", device])
        .args(["--repetitions", "2", "--no-peers", "--json"])
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<Value> = text.lines().map(|line| line.parse().expect("JSON")).collect();
    let cases = &lines[1..lines.len() - 1];
    // Three addends and two types; two addends for the matrix that is not square.
    assert_eq!(cases.len(), 16, "{text}");
    for case in cases {
        assert_eq!((&case["op"], &case["verified"]), (&"spadd".into(), &true.into()), "{case}");
        assert!(case["ms"].as_f64().expect("a number") > 0.0 && case["cusparse_ms"].is_null(), "{case}");
    }
}
