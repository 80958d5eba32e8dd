//! `evenpath-bench spmm` on small matrices.

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
        .args([
            "spmm",
            "--generate",
            "stencil5:12,lp:8,empty-rows:30",
            "--columns",
            "1,6",
            "--value",
            "f16,bf16,f32,f64",
        ])
        .args(["--repetitions", "2", "--no-peers", "--json", "--device", device])
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<Value> = text.lines().map(|line| line.parse().expect("JSON")).collect();
    let cases = &lines[1..];
    // Three matrices, two numbers of columns, four types, two layouts.
    assert_eq!(cases.len(), 48, "{text}");
    for case in cases {
        assert_eq!((&case["op"], &case["verified"]), (&"spmm".into(), &true.into()), "{case}");
        assert!(case["ms"].as_f64().expect("a number") > 0.0 && case["cusparse_ms"].is_null(), "{case}");
    }
}
