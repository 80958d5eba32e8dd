//! `evenpath-bench spgemm` on whatever device is there, on small matrices.

use std::process::Command;

use serde_json::Value;

#[test]
fn every_method_is_measured_and_verified() {
    let output = Command::new(env!("CARGO_BIN_EXE_evenpath-bench"))
        .args(["spgemm", "--generate", "stencil5:12,lp:8", "--repetitions", "2", "--no-peers", "--json"])
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<Value> = text.lines().map(|line| line.parse().expect("JSON")).collect();
    let (records, summaries): (Vec<_>, Vec<_>) =
        lines[1..].iter().partition(|line| line["summary"].is_null());
    // Two matrices of two types, three methods each.
    assert_eq!((records.len(), summaries.len()), (4, 6), "{text}");
    for record in records {
        assert_eq!(record["op"], "spgemm", "{record}");
        let methods = record["methods"].as_array().expect("methods");
        assert_eq!(methods.len(), 3, "{record}");
        for method in methods {
            let figures = &method["measured"];
            assert!(figures["ms"].as_f64().expect("a number") > 0.0, "{record}");
            assert!(figures["difference"].is_null() && figures["peak_bytes"].as_u64() > Some(0), "{record}");
        }
    }
}
