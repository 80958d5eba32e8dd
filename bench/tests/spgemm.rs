//! `evenpath-bench spgemm` on small matrices.

use std::process::Command;

use evenpath::spgemm::SpgemmMethod;
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
    // Two matrices, two types, every method each.
    let all = SpgemmMethod::ALL.len();
    assert_eq!((records.len(), summaries.len()), (4, 2 * all), "{text}");
    for record in records {
        assert_eq!(record["op"], "spgemm", "{record}");
        let methods = record["methods"].as_array().expect("methods");
        assert_eq!(methods.len(), all, "{record}");
        for method in methods {
            let figures = &method["measured"];
            assert!(figures["ms"].as_f64().expect("a number") > 0.0, "{record}");
            assert!(figures["difference"].is_null() && figures["peak_bytes"].as_u64() > Some(0), "{record}");
        }
    }
}

#[test]
fn products_are_chosen_by_name() {
    for (product, names) in [
        ("square", &["stencil5:4"][..]),
        ("outer", &["stencil5:4 x transpose"]),
        ("inner", &["transpose x stencil5:4"]),
        ("galerkin", &["stencil5:4 x P", "transposed P x (stencil5:4 x P)"]),
    ] {
        for device in ["cpu", "simulated"] {
            let output = Command::new(env!("CARGO_BIN_EXE_evenpath-bench"))
                .args(["spgemm", "--generate", "stencil5:4", "--product", product, "--device", device])
                .args(["--value", "f64", "--method", "auto", "--repetitions", "1", "--no-peers", "--json"])
                .output()
                .expect("the program starts");
            assert!(output.status.success(), "{output:?}");
            let text = String::from_utf8(output.stdout).expect("text");
            let lines: Vec<Value> = text.lines().map(|line| line.parse().expect("JSON")).collect();
            let found: Vec<_> = lines.iter().filter_map(|line| line["matrix"].as_str()).collect();
            assert_eq!(found, names, "{text}");
            for record in lines.iter().filter(|line| line["op"] == "spgemm") {
                assert!(record["methods"][0]["measured"]["difference"].is_null(), "{record}");
                assert!(record["methods"][0]["measured"]["ms"].as_f64() > Some(0.0), "{record}");
            }
        }
    }
}

#[test]
fn a_matrix_that_is_not_square_is_not_squared() {
    for product in ["square", "galerkin"] {
        let output = Command::new(env!("CARGO_BIN_EXE_evenpath-bench"))
            .args(["spgemm", "--generate", "lp:8", "--product", product, "--device", "cpu"])
            .output()
            .expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("lp:8 must be square, but is 8 x 2040"), "{stderr}");
    }
}
