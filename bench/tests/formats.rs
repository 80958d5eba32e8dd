//! `evenpath-bench formats` and `row-sorting`: output and exit codes.

use std::process::{Command, Output};

use serde_json::Value;

fn run(command: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evenpath-bench"))
        .arg(command)
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn passes(command: &str, arguments: &[&str]) -> Value {
    let output = run(command, &[arguments, &["--json"]].concat());
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{command} {arguments:?}: {stdout}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

#[test]
fn every_format_is_measured_and_right() {
    for device in ["cpu", "simulated"] {
        for value in ["f32", "f64"] {
            let json =
                passes("formats", &["--device", device, "--value", value, "--generate", "stencil5:30"]);
            for format in ["CSR", "COO", "ELL", "ELL-R", "sliced ELL", "SELL-32-512", "SELL-32-all", "HYB"] {
                assert!(json[format]["ms"].as_f64() > Some(0.0), "{format} in {json}");
            }
            let value_bytes = if value == "f32" { 4 } else { 8 };
            assert_eq!(json["ELL"]["bytes"], 5 * 900 * (4 + value_bytes));
            assert_eq!(json["ELL-R"]["slots"], 5 * 900);
        }
    }
}

#[test]
fn too_much_padding_is_refused() {
    let json = passes("formats", &["--device", "cpu", "--generate", "power-law:100000"]);
    let refused = json["ELL"].as_str().expect("a refusal");
    assert!(
        refused.starts_with("100000 rows padded to up to ") && refused.contains("the limit is"),
        "{refused}"
    );
    assert!(json["HYB"]["ms"].as_f64() > Some(0.0), "{json}");
    let output = run("row-sorting", &["--device", "cpu", "--generate", "power-law:100000"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.starts_with("error: 100000 rows padded to up to "), "{stderr}");
}

#[test]
fn sorting_is_measured_and_right() {
    for device in ["cpu", "simulated"] {
        let json = passes("row-sorting", &["--device", device, "--order", "200"]);
        let warps = &json["longest_row_of_warp"];
        // Rows of 2 to 40: unsorted, the longest of 32 is nearly always near 40; sorted, it is little above the mean.
        assert!(warps["before"].as_f64() > Some(33.0) && warps["before"].as_f64() < Some(40.1), "{warps}");
        assert!(warps["ratio"].as_f64() > Some(0.45) && warps["ratio"].as_f64() < Some(0.8), "{warps}");
        for method in
            ["ELL", "ELL-R", "ELL-R, sorted", "ELL-R, x in sequence", "ELL-R, x in sequence, sorted"]
        {
            assert!(json[method]["ms"].as_f64() > Some(0.0), "{method} in {json}");
        }
        for method in ["ELL-R", "ELL-R, x in sequence"] {
            assert!(json[format!("{method}: sorted / unsorted")].as_f64() > Some(0.0), "{method} in {json}");
        }
        assert!(json["restore_ms"].as_f64() > Some(0.0) && json["sorting_ms"].as_f64() > Some(0.0), "{json}");
    }
    passes("row-sorting", &["--device", "simulated", "--generate", "fem:100", "--value", "f64"]);
}
