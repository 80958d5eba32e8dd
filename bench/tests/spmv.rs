//! `evenpath-bench spmv` as a program: measurements, output and exit codes.

use std::process::{Command, Output};

use serde_json::Value;

fn spmv(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evenpath-bench"))
        .arg("spmv")
        .args(arguments)
        .env_remove("EVENPATH_MATRICES")
        .output()
        .expect("the program starts")
}

/// Its output; the exit code must be 0.
fn passes(arguments: &[&str]) -> String {
    let output = spmv(arguments);
    let (text, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}{text}");
    text.into_owned()
}

/// The objects that it prints: the device, the records, and the summaries.
/// The line of the device, the records, the summaries, and the errors of the choice.
fn json(arguments: &[&str]) -> (Value, Vec<Value>, Vec<Value>, Vec<Value>) {
    let text = passes(&[&["--json", "--repetitions", "2"], arguments].concat());
    let mut lines = text.lines().map(|line| serde_json::from_str(line).expect("one object per line"));
    let device = lines.next().expect("the device's line");
    let (summaries, others): (Vec<_>, Vec<_>) = lines.partition(|line: &Value| line.get("summary").is_some());
    let (choices, records) = others.into_iter().partition(|line| line.get("choice").is_some());
    (device, records, summaries, choices)
}

fn positive(line: &Value, field: &str) -> f64 {
    let value = line[field].as_f64().unwrap_or_else(|| panic!("no `{field}` in {line}"));
    assert!(value > 0.0, "{field} in {line}");
    value
}

const TINY: &str = "stencil5:20,power-law:300,empty-rows:500,dense:7x90";

#[test]
fn every_method_of_the_cpu_is_measured_beside_sprs() {
    let (device, records, summaries, choices) =
        json(&["--device", "cpu", "--generate", TINY, "--method", "all", "--peers", "sprs"]);
    let copy_gbps = positive(&device, "copy_gbps");
    assert_eq!(device["peers"][0], "sprs");
    assert_eq!(records.len(), 8);
    for record in &records {
        assert_eq!((&record["op"], &record["generated"]), (&"spmv".into(), &true.into()));
        let methods = record["methods"].as_array().expect("methods");
        let names: Vec<_> =
            methods.iter().map(|method| method["method"].as_str().unwrap_or_default()).collect();
        assert_eq!(names, ["auto", "merge-path", "row-parallel"]);
        for method in methods {
            let (nnz, ms) = (positive(record, "nnz"), positive(method, "ms"));
            assert!((positive(method, "gflops") * ms * 1e6 / (2.0 * nnz) - 1.0).abs() < 1e-9, "{method}");
            assert!(
                (positive(method, "gbps") / positive(method, "copy_share") / copy_gbps - 1.0).abs() < 1e-9
            );
            assert!(method["plan_ms"].as_f64().is_some_and(|ms| ms >= 0.0), "{method}");
            assert_eq!(
                (&method["repeatable"], &method["difference"]),
                (&true.into(), &Value::Null),
                "{method}"
            );
        }
        let peers = record["peers"].as_array().expect("peers");
        assert_eq!(peers.len(), 1);
        assert_eq!((&peers[0]["library"], &peers[0]["difference"]), (&"sprs".into(), &Value::Null));
    }
    assert_eq!(summaries.len(), 2);
    for summary in &summaries {
        let summary = &summary["summary"];
        let ratios: Vec<f64> = records
            .iter()
            .filter(|record| record["value"] == summary["value"])
            .map(|record| positive(&record["peers"][0], "ms") / positive(&record["methods"][0], "ms"))
            .collect();
        let mean = ratios.iter().product::<f64>().powf(1.0 / ratios.len() as f64);
        assert!((positive(summary, "geometric_mean_ratio") / mean - 1.0).abs() < 1e-9, "{summary}");
    }
    assert_eq!(choices.len(), 2);
    assert!(choices.iter().all(|choice| choice["choice"]["matrices"] == 4), "{choices:?}");
}

#[test]
fn the_choice_is_judged_by_seed() {
    let random = ["--suite", "random", "--seed", "1,2", "--count", "2", "--most-nonzeros", "20000"];
    let (_, records, _, choices) =
        json(&[&random[..], &["--device", "cpu", "--method", "all", "--value", "f64"]].concat());
    let names: Vec<_> = records.iter().map(|record| record["matrix"].as_str().unwrap_or_default()).collect();
    let seeds = ["random:1:0:20000", "random:1:1:20000", "random:2:0:20000", "random:2:1:20000"];
    assert_eq!(names, seeds);
    for record in &records {
        assert!(record["structure"].as_str().is_some_and(|text| text.contains("columns=")), "{record}");
        let method = &record["methods"][0];
        assert!(positive(method, "runs_per_sample") >= 1.0 && method["quartiles_ms"][1].is_number());
    }
    let groups: Vec<_> =
        choices.iter().map(|choice| (&choice["choice"]["group"], &choice["choice"]["matrices"])).collect();
    assert_eq!(groups, [(&"random:1".into(), &2.into()), (&"random:2".into(), &2.into())]);
    assert!(choices.iter().all(|choice| positive(&choice["choice"], "geometric_mean") > 0.5));
}

#[test]
fn the_simulated_gpu_runs_every_method_too() {
    let arguments = ["--device", "simulated", "--generate", TINY, "--method", "all", "--value", "f64"];
    let (device, records, summaries, _) = json(&arguments);
    assert_eq!(device["device"], "simulated GPU");
    assert_eq!((records.len(), summaries.len()), (4, 1));
    for record in &records {
        for method in record["methods"].as_array().expect("methods") {
            assert_ne!(method["method"], "row-parallel");
            assert_eq!(
                (&method["repeatable"], &method["difference"]),
                (&true.into(), &Value::Null),
                "{method}"
            );
        }
    }
}

#[test]
fn transposed_matrices_are_multiplied() {
    let (_, records, ..) = json(&["--device", "cpu", "--generate", "dense:7x90", "--transposed"]);
    assert_eq!(records.len(), 2);
    for record in &records {
        assert_eq!((&record["op"], &record["rows"]), (&"spmv_transposed".into(), &7.into()));
        assert_eq!(record["methods"][0]["difference"], Value::Null);
    }
}

#[test]
fn a_folder_is_a_suite() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 2.0\n2 3 4.0\n";
    std::fs::write(folder.path().join("small.mtx"), text).expect("a file");
    let path = folder.path().to_str().expect("text");
    let (_, records, ..) = json(&["--device", "cpu", "--suite", "folder", "--folder", path]);
    assert_eq!((&records[0]["matrix"], &records[0]["suite"]), (&"small".into(), &"folder".into()));
    assert_eq!((&records[0]["generated"], &records[0]["nnz"]), (&false.into(), &2.into()));
}

#[test]
fn the_table_has_a_line_a_method_and_one_a_summary() {
    let arguments = ["--device", "cpu", "--generate", "stencil5:20", "--peers", "sprs", "--repetitions", "1"];
    let text = passes(&arguments);
    assert!(text.starts_with("CPU, copies at "), "{text}");
    for part in ["plan ms", "of copy", "stencil5:20", "sprs mul_acc_mat_vec_csr", "geometric mean"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert_eq!(text.lines().count(), 2 + 2 + 2, "{text}");
}

#[test]
fn a_library_that_is_not_installed_is_named_and_left_out() {
    let output = Command::new(env!("CARGO_BIN_EXE_evenpath-bench"))
        .args(["spmv", "--device", "cpu", "--generate", "stencil5:9", "--peers", "mkl", "--repetitions", "1"])
        .env("EVENPATH_MKL", "/no/such/folder")
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(0));
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let is_installed = stdout.contains("mkl inspector-executor");
    assert!(is_installed || stderr.contains("note: Intel's OpenMP runtime cannot be used: "), "{stderr}");
}

#[test]
fn what_cannot_be_is_an_error_and_named() {
    let cases: [(&[&str], i32, &str); 6] = [
        (&["--generate", "like:nothing"], 1, "`nothing`"),
        (&["--method", "fast", "--generate", "stencil5:3"], 1, "`fast`"),
        (&["--suite", "folder"], 1, "EVENPATH_MATRICES"),
        (&["--suite", "folder", "--folder", "/no/such/folder"], 1, "/no/such/folder"),
        (&["--suite", "table3"], 2, "table3"),
        (&["--device", "cuda:999"], 1, "cuda:999"),
    ];
    for (arguments, code, part) in cases {
        let output = spmv(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(part), "{arguments:?}: {stderr}");
    }
    // The method exists, but not on the CPU: the line says so, and nothing else fails.
    let output = spmv(&["--device", "cpu", "--generate", "stencil5:3", "--method", "row-tiles", "--json"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("CPU does not support SpMV by `row-tiles`; it supports auto, merge-path, row-parallel"),
        "{text}"
    );
}
