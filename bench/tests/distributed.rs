//! `evenpath-bench scale` and `distributed`: tables and JSON.

use serde_json::Value;

use super::{objects, run, stderr};

fn lines(command: &str, arguments: &[&str]) -> Vec<String> {
    let output = run(command, arguments);
    assert_eq!((output.status.code(), &*stderr(&output)), (Some(0), ""), "{command} {arguments:?}");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn scale_counts_what_strips_of_a_grid_exchange() {
    let by_rows = objects("scale", &["--by-rows", "stencil5:64", "--ranks", "1,4,64"]);
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
        time(&["--latency", "0", "--launch", "0", "--bandwidth", "1"])
            > 5.0 * time(&["--latency", "0", "--launch", "0", "--bandwidth", "100"])
    );
    let product = |rate: &str| time(&["--latency", "0", "--launch", "0", "--product-rate", rate]);
    assert!(product("1") > 5.0 * product("1000"));
    assert!(time(&["--value", "f32", "--latency", "0"]) < time(&["--value", "f64", "--latency", "0"]));
    let table = lines("scale", &["--generate", "uniform:1000", "--ranks", "1,4096"]);
    assert!(table[0].contains("1000 x 1000, 16000 nonzeros") && table[1].contains("a model"), "{table:?}");
    assert_eq!(table.len(), 5);
    for wrong in [&["--ranks", "0"][..], &["--by-rows", "other:3"], &["--matrix", "/nowhere.mtx"]] {
        assert_ne!(run("scale", wrong).status.code(), Some(0), "{wrong:?}");
    }
}

/// A small measurement of a matrix.
fn quick<'a>(matrix: &'a str, ranks: &'a str) -> Vec<&'a str> {
    vec!["--generate", matrix, "--ranks", ranks, "--rounds", "3", "--products", "2", "--steps", "3"]
}

#[test]
fn distributed_reports_both_kinds_of_scaling() {
    let options = quick("stencil5:40", "1,3");
    let objects = objects("distributed", &options);
    let found: Vec<_> = objects
        .iter()
        .map(|object| (object["scaling"].as_str(), object["ranks"].as_u64(), object["rows"].as_u64()))
        .collect();
    let weak = 69 * 69; // 40 times the root of 3
    let expected = [("strong", 1, 1600), ("strong", 3, 1600), ("weak", 1, 1600), ("weak", 3, weak)];
    assert_eq!(found, expected.map(|(scaling, ranks, rows)| (Some(scaling), Some(ranks), Some(rows))));
    for object in &objects {
        let number = |field: &str| object[field].as_f64().unwrap_or_else(|| panic!("{field} of {object}"));
        for field in [
            "us",
            "local_us",
            "gb_s",
            "build_s",
            "plan_s",
            "dot_us",
            "speed_up",
            "efficiency",
            "predicted_us",
        ] {
            assert!(number(field) > 0.0, "{field} of {object}");
        }
        assert!((number("predicted_over_measured") * number("us") - number("predicted_us")).abs() < 1e-6);
        // Nonzeros of a five-point stencil, and halos of two cuts with a side of points on either.
        let (rows, ranks) = (number("rows"), number("ranks"));
        let side = rows.sqrt();
        assert_eq!(object["nonzeros"].as_u64(), Some((5.0 * rows - 4.0 * side) as u64));
        assert!((number("halo_elements") - 2.0 * (ranks - 1.0) * side).abs() <= 8.0, "{object}");
        assert_eq!(object["devices"].as_array().map(Vec::len), Some(ranks as usize));
        assert!(object["wrong"].is_null(), "{object}");
        assert!(object["model"]["memory_rate"].as_f64().is_some_and(|rate| rate > 0.0), "{object}");
        assert_eq!(object["model"]["bandwidth"].is_null(), object["ranks"] == 1);
    }
    let first = |field: &str| objects[0][field].as_f64().expect("a number");
    assert_eq!((first("speed_up"), first("efficiency")), (1.0, 1.0));
    let table =
        lines("distributed", &[&options[..], &["--device", "simulated", "--scaling", "weak"]].concat());
    assert!(table[0].contains("latency") && table[3].contains("weak"), "{table:?}");
}

#[test]
fn distributed_measures_conjugate_gradients() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.jsonl");
    let out = path.to_str().expect("a name");
    let options =
        [&quick("stencil27:9", "1,2")[..], &["--scaling", "strong", "--op", "spmv,cg", "--out", out]];
    for _ in 0..2 {
        assert!(lines("distributed", &options.concat()).len() >= 7);
    }
    let text = std::fs::read_to_string(&path).expect("rows");
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let ops: Vec<_> = rows.iter().filter_map(|row| row["op"].as_str()).collect();
    assert_eq!(ops, ["spmv", "cg"].repeat(4));
    let time = |row: &Value| row["us"].as_f64().expect("a number");
    for pair in rows.chunks(2) {
        assert!(pair.iter().all(|row| row["wrong"].is_null() && row["matrix"] == "stencil27:9"), "{pair:?}");
        assert!(pair[1]["gb_s"].is_null() && time(&pair[1]) > 0.0, "{pair:?}");
        assert!(pair[1]["predicted_us"].as_f64() > pair[0]["predicted_us"].as_f64(), "{pair:?}");
    }
}

#[test]
fn distributed_measures_graphs_trees_and_draws() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scaling.svg");
    let plot = path.to_str().expect("a name");
    let options = [&quick("stencil7:9", "1,2")[..], &["--format", "hisparse", "--plot", plot]].concat();
    for object in objects("distributed", &options) {
        assert_eq!((&object["format"], &object["engine"]), (&"hisparse".into(), &"host".into()));
        assert!(object["predicted_us"].is_null() && object["wrong"].is_null(), "{object}");
    }
    let svg = std::fs::read_to_string(&path).expect("a plot");
    assert!(
        svg.starts_with("<svg") && svg.contains("strong scaling") && svg.contains("weak, ideal"),
        "{svg}"
    );
    // Graphs do not grow.
    let graph = objects("distributed", &quick("rmat:8", "2,3"));
    assert!(graph.len() == 2 && graph.iter().all(|row| row["scaling"] == "strong" && row["wrong"].is_null()));
    for (arguments, reason) in [
        (
            &["--generate", "stencil5:9", "--ranks", "2", "--engine", "nccl"][..],
            "NCCL cannot be used: rank 0: ",
        ),
        (&["--generate", "stencil5:9", "--ranks", "1", "--plot", "/nowhere/a.svg"], "/nowhere/a.svg: "),
        (&["--generate", "stencil5:9", "--ranks", "1", "--out", "/nowhere/a.jsonl"], "/nowhere/a.jsonl: "),
        (&["--generate", "rmat:8", "--scaling", "weak"], "has no weak scaling"),
        (&["--generate", "rmat:8", "--op", "cg"], "is not positive definite"),
        (&["--generate", "stencil6:8"], "stencil5:SIDE"),
    ] {
        let refused = run("distributed", arguments);
        assert_ne!(refused.status.code(), Some(0), "{arguments:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains(reason), "{refused:?}");
    }
}
