//! `evenpath-bench scale` and `distributed`: tables and JSON.

use std::process::{Command, Output};

use serde_json::Value;

fn run(command: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evenpath-bench"))
        .arg(command)
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn lines(command: &str, arguments: &[&str]) -> Vec<String> {
    let output = run(command, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*errors), (Some(0), ""), "{command} {arguments:?}");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

fn objects(command: &str, arguments: &[&str]) -> Vec<Value> {
    let lines = lines(command, &[arguments, &["--json"]].concat());
    lines.iter().map(|line| serde_json::from_str(line).expect("an object")).collect()
}

#[test]
fn scale_counts_what_strips_of_a_grid_exchange() {
    let by_rows = objects("scale", &["--by-rows", "five-point:64", "--ranks", "1,4,64"]);
    let in_memory = objects("scale", &["--generate", "stencil5:64", "--ranks", "1,4,64"]);
    for (one, other) in by_rows.iter().zip(&in_memory) {
        for field in ["ranks", "messages", "sent_bytes", "most_halo", "non_local_nonzeros", "predicted_us"] {
            assert_eq!(one[field], other[field], "{field}");
        }
    }
    assert_eq!((&by_rows[0]["messages"], &by_rows[0]["sent_bytes"]), (&0.into(), &0.into()));
    // Three cuts, each with 64 points on both sides.
    assert_eq!((&by_rows[1]["messages"], &by_rows[1]["sent_bytes"]), (&6.into(), &(6 * 64 * 8).into()));
    let time = |at: usize| by_rows[at]["predicted_us"].as_f64().expect("a number");
    assert!(time(1) > 2.0 * 10.7 && time(0) < 10.7, "{} {}", time(0), time(1));
}

#[test]
fn scale_takes_parameters() {
    let time = |options: &[&str]| {
        let all = [&["--by-rows", "rmat:8", "--ranks", "16"][..], options].concat();
        objects("scale", &all)[0]["predicted_us"].as_f64().expect("a number")
    };
    assert!(time(&["--latency", "100"]) > 5.0 * time(&["--latency", "10"]));
    assert!(
        time(&["--latency", "0", "--bandwidth", "1"]) > 5.0 * time(&["--latency", "0", "--bandwidth", "100"])
    );
    assert!(time(&["--value", "f32", "--latency", "0"]) < time(&["--value", "f64", "--latency", "0"]));
    let table = lines("scale", &["--generate", "uniform:1000", "--ranks", "1,4096"]);
    assert!(table[0].contains("1000 x 1000, 16000 nonzeros") && table[1].contains("a model"), "{table:?}");
    assert_eq!(table.len(), 5);
    for wrong in [&["--ranks", "0"][..], &["--by-rows", "other:3"], &["--matrix", "/nowhere.mtx"]] {
        assert_ne!(run("scale", wrong).status.code(), Some(0), "{wrong:?}");
    }
}

#[test]
fn distributed_reports_both_kinds_of_scaling() {
    let options = ["--side", "40", "--ranks", "1,3", "--rounds", "3", "--products", "2"];
    let objects = objects("distributed", &options);
    let found: Vec<_> = objects
        .iter()
        .map(|object| (object["scaling"].as_str(), object["ranks"].as_u64(), object["rows"].as_u64()))
        .collect();
    let weak = 69 * 69; // 40 times the root of 3
    let expected = [("strong", 1, 1600), ("strong", 3, 1600), ("weak", 1, 1600), ("weak", 3, weak)];
    assert_eq!(found, expected.map(|(scaling, ranks, rows)| (Some(scaling), Some(ranks), Some(rows))));
    assert!(objects.iter().all(|object| object["product_us"].as_f64().is_some_and(|time| time > 0.0)));
    assert_eq!(lines("distributed", &[&options[..], &["--device", "simulated"]].concat()).len(), 5);
}

#[test]
fn distributed_measures_trees_and_draws() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scaling.svg");
    let plot = path.to_str().expect("a name");
    let options = ["--side", "40", "--ranks", "1,2", "--rounds", "3", "--format", "hisparse", "--plot", plot];
    for object in objects("distributed", &options) {
        assert_eq!((&object["format"], &object["engine"]), (&"hisparse".into(), &"host".into()));
    }
    let svg = std::fs::read_to_string(&path).expect("a plot");
    assert!(
        svg.starts_with("<svg") && svg.contains("strong scaling") && svg.contains("weak, ideal"),
        "{svg}"
    );
    let refused = run("distributed", &["--side", "9", "--ranks", "2", "--engine", "nccl"]);
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("NCCL cannot be used: rank 0: "),
        "{refused:?}"
    );
    let refused = run("distributed", &["--side", "9", "--ranks", "1", "--plot", "/nowhere/a.svg"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("/nowhere/a.svg: "), "{refused:?}");
}
