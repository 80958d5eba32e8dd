//! The commands that measure an operation over matrices: `spmv`, `spmm`, `sddmm`, `spadd`, `spgemm`, `masked`, `graphs`, `assembly`,
//! `triangular`, `hisparse`, `formats`.

use std::path::Path;

use evenpath::spgemm::SpgemmMethod;
use serde_json::Value;

use super::{command, objects, passes, positive, run, stderr};

const TINY: &str = "stencil5:20,power-law:300,empty-rows:500,dense:7x90";

/// The setting and the rows that a command prints.
fn rows(name: &str, arguments: &[&str]) -> (Value, Vec<Value>) {
    let mut lines = objects(name, &[&["--repetitions", "2"], arguments].concat());
    let setting = lines.remove(0)["setting"].take();
    assert!(setting.is_object(), "{name} {arguments:?}");
    (setting, lines)
}

/// The contenders of evenpath, which have a time and a right result.
fn ours(row: &Value) -> &Vec<Value> {
    assert_eq!(row["verified"], true, "{row}");
    let ours = row["ours"].as_array().expect("contenders");
    for own in ours {
        assert!(positive(own, "ms") > 0.0 && own["error"].is_null(), "{row}");
    }
    ours
}

fn names(row: &Value) -> Vec<&str> {
    ours(row).iter().map(|own| own["name"].as_str().unwrap_or_default()).collect()
}

#[test]
fn every_case_is_measured_and_verified_on_every_device() {
    let matrices = ["--generate", "stencil5:12,lp:8,empty-rows:30", "--no-peers"];
    for device in ["best", "cpu", "simulated"] {
        let of = |name: &str, arguments: &[&str]| {
            let (_, rows) = rows(name, &[&matrices[..], &["--device", device], arguments].concat());
            for row in rows.iter().filter(|row| row["failed"].is_null()) {
                ours(row);
                assert!(row["peers"].as_array().is_some_and(Vec::is_empty), "{row}");
            }
            let failed = rows.iter().filter(|row| row["failed"].is_string()).count();
            (rows.len(), failed)
        };
        // Three matrices, two numbers of columns, four types.
        assert_eq!(of("spmm", &["--columns", "1,6", "--value", "f16,bf16,f32,f64"]), (24, 0));
        assert_eq!(of("sddmm", &["--columns", "1,6"]), (12, 0));
        // One of the matrices is not square.
        assert_eq!(of("masked", &[]), (6, 2));
        assert_eq!(of("graphs", &["--value", "f32"]), (18, 6));
        assert_eq!(of("assembly", &["--generate", "stencil27:4"]), (8, 6));
        // Three matrices, of which one is not square; four steps and two types.
        assert_eq!(of("triangular", &[]), (24, 8));
        // Only products with vectors and of sparse matrices have complex types.
        assert_eq!(of("spmv", &["--value", "c32,c64", "--method", "auto,direct"]), (6, 0));
        assert_eq!(of("spgemm", &["--value", "c32,c64", "--method", "auto"]), (6, 0));
        assert_eq!(of("spadd", &["--value", "c32,f32", "--addend", "itself"]), (6, 3));
        assert_eq!(of("spmv", &["--value", "c32,f32", "--method", "bsr"]), (6, 3));
        // Three addends and two types; one matrix has no transpose of its shape.
        assert_eq!(of("spadd", &[]), (18, 2));
        assert_eq!(of("hisparse", &["--node", "32,64"]), (12, 0));
        // Only products with dense matrices have 16-bit types.
        assert_eq!(of("spadd", &["--value", "f16,f64", "--addend", "itself"]), (6, 3));
    }
}

#[test]
fn graphs_and_layouts_are_chosen_by_name() {
    let arguments =
        ["--device", "cpu", "--generate", "power-law:300", "--value", "f64", "--algorithm", "bfs,k-core"];
    let (_, rows) = rows("graphs", &arguments);
    let variants: Vec<_> = rows.iter().map(|row| (row["variant"].as_str(), names(row))).collect();
    let bfs = vec!["forward", "forward and backward"];
    assert_eq!(variants, [(Some("bfs"), bfs), (Some("k-core"), vec!["k-core"])]);
    assert!(rows.iter().all(|row| positive(&row["more"], "10^9 edges/s") > 0.0), "{rows:?}");
    assert!(positive(&rows[0]["more"], "levels") > 1.0);
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("text");
    let written =
        command("graphs").args(["--generate", "stencil5:3", "--write", folder]).output().expect("it starts");
    let path = format!("{folder}/stencil5-3.mtx");
    assert_eq!(String::from_utf8_lossy(&written.stdout), format!("{path}: 24 edges, source 4\n"));
    let arguments = ["--device", "cpu", "--matrix", &path, "--value", "f64", "--algorithm", "sssp"];
    let (_, rows) = self::rows("graphs", &arguments);
    assert_eq!((&rows[0]["more"]["source"], &rows[0]["verified"]), (&4.0.into(), &true.into()));
    let arguments = ["--device", "cpu", "--generate", "stencil5:9", "--value", "f64", "--columns", "4"];
    for (layout, name) in [("rows", "row-major"), ("columns", "column-major")] {
        let (_, rows) = self::rows("sddmm", &[&arguments[..], &["--layout", layout]].concat());
        assert_eq!((rows.len(), names(&rows[0])), (1, vec![name]));
    }
    let (_, rows) = self::rows("masked", &arguments[..6]);
    assert_eq!(names(&rows[0]), ["masked", "whole"]);
    assert!(positive(&rows[0]["more"], "whole over masked") > 0.0);
}

#[test]
fn solves_are_measured_by_their_methods() {
    let arguments = ["--device", "simulated", "--generate", "stencil5:9", "--value", "f64"];
    let (_, rows) = rows("triangular", &[&arguments[..], &["--method", "levels,tickets"]].concat());
    let variants: Vec<_> = rows.iter().map(|row| (row["variant"].as_str(), names(row))).collect();
    let methods = vec!["levels", "tickets"];
    let expected = [
        (Some("ilu0"), vec!["ilu0"]),
        (Some("ic0"), vec!["ic0"]),
        (Some("lower, levels, tickets"), methods.clone()),
        (Some("upper, levels, tickets"), methods),
    ];
    assert_eq!(variants, expected);
    for row in &rows {
        assert_eq!(row["more"]["levels"], 17.0, "{row}");
        assert!(positive(&row["more"], "analysis in runs") > 0.0, "{row}");
    }
}

#[test]
fn complex_products_are_measured_beside_sprs() {
    let arguments = ["--device", "cpu", "--generate", "stencil5:12", "--value", "c32,c64", "--peers", "sprs"];
    for name in ["spmv", "spgemm"] {
        for row in rows(name, &arguments).1.iter().filter(|row| row["failed"].is_null()) {
            assert!(row["peers"][0]["error"].is_null() && positive(&row["ratio"], "sprs") > 0.0, "{row}");
            assert_eq!(row["verified"], true, "{row}");
        }
    }
}

#[test]
fn every_method_of_the_cpu_is_measured_beside_sprs() {
    let arguments = ["--device", "cpu", "--generate", TINY, "--method", "all", "--peers", "sprs"];
    let (setting, rows) = rows("spmv", &arguments);
    assert_eq!((&setting["device"], &setting["peers"][0]), (&"CPU".into(), &"sprs".into()));
    assert_eq!(rows.len(), 8);
    for row in &rows {
        assert_eq!(
            (&row["op"], names(row)),
            (&"spmv".into(), vec!["auto", "merge-path", "one-column", "row-parallel"])
        );
        for own in ours(row) {
            assert!(own["setup_ms"].as_f64().is_some_and(|ms| ms >= 0.0), "{own}");
            assert_eq!(own["repeatable"], true, "{own}");
            let timing = &own["timing"];
            assert!(positive(timing, "runs_per_sample") >= 1.0 && timing["quartiles_ms"][1].is_number());
            assert!(positive(timing, "shortest_ms") <= positive(own, "ms"), "{own}");
        }
        let peers = row["peers"].as_array().expect("peers");
        assert_eq!(
            (peers.len(), &peers[0]["library"], &peers[0]["error"]),
            (1, &"sprs".into(), &Value::Null)
        );
        let fastest = ours(row).iter().map(|own| positive(own, "ms")).fold(f64::INFINITY, f64::min);
        assert!((positive(&row["ratio"], "sprs") * fastest / positive(&peers[0], "ms") - 1.0).abs() < 1e-9);
    }
}

#[test]
fn libraries_on_the_cpu_have_every_operation() {
    for (name, algorithm) in
        [("spmm", "csr_mulacc_dense_rowmaj"), ("spadd", "csmat_binop"), ("spgemm", "mul_csr_csr")]
    {
        let arguments = ["--device", "cpu", "--generate", "stencil5:12", "--peers", "sprs"];
        for row in rows(name, &arguments).1 {
            let peers = row["peers"].as_array().expect("peers");
            assert_eq!((peers.len(), &peers[0]["name"]), (1, &algorithm.into()), "{row}");
            assert!(peers[0]["error"].is_null() && positive(&row["ratio"], "sprs") > 0.0, "{row}");
        }
    }
}

#[test]
fn the_simulated_gpu_runs_every_method_too() {
    let arguments = ["--device", "simulated", "--generate", TINY, "--method", "all", "--value", "f64"];
    let (setting, rows) = rows("spmv", &arguments);
    assert_eq!((&setting["device"], rows.len()), (&"simulated GPU".into(), 4));
    for row in &rows {
        assert!(!names(row).contains(&"row-parallel"), "{row}");
        assert!(ours(row).iter().all(|own| own["repeatable"] == true), "{row}");
    }
    let (_, rows) = self::rows("spgemm", &["--generate", "stencil5:12,lp:8", "--device", "simulated"]);
    for row in &rows {
        assert_eq!(names(row).len(), SpgemmMethod::ALL.len(), "{row}");
        assert!(positive(&row["more"], "two-level-sort ms, block sort") > 0.0, "{row}");
        assert!(ours(row).iter().all(|own| own["bytes"].as_u64() > Some(0)), "{row}");
    }
}

#[test]
fn products_need_no_plan() {
    for device in ["cpu", "simulated"] {
        let arguments = ["--device", device, "--generate", TINY, "--method", "direct,merge-path+plan"];
        let (_, rows) = rows("spmv", &arguments);
        assert!(!rows.is_empty());
        for row in &rows {
            assert_eq!(names(row), ["direct", "merge-path+plan"]);
            assert!(ours(row).iter().all(|own| own["repeatable"] == true && own["setup_ms"] == 0.0), "{row}");
        }
    }
}

#[test]
fn transposed_matrices_are_multiplied() {
    let (_, rows) = rows("spmv", &["--device", "cpu", "--generate", "dense:7x90", "--transposed"]);
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert_eq!((&row["op"], &row["shape"]["rows"]), (&"spmv-transposed".into(), &7.into()));
        assert_eq!(names(row), ["ordered", "unordered", "copied"]);
    }
}

#[test]
fn products_are_chosen_by_name() {
    for (product, variants) in [
        ("square", &["A x A"][..]),
        ("outer", &["A x transpose"]),
        ("inner", &["transpose x A"]),
        ("galerkin", &["A x P", "transposed P x (A x P)"]),
    ] {
        for device in ["cpu", "simulated"] {
            let arguments = ["--generate", "stencil5:4", "--product", product, "--device", device];
            let (_, rows) =
                rows("spgemm", &[&arguments[..], &["--value", "f64", "--method", "auto"]].concat());
            let found: Vec<_> = rows.iter().filter_map(|row| row["variant"].as_str()).collect();
            assert_eq!((found, names(&rows[0])), (variants.to_vec(), vec!["auto"]));
        }
    }
    for product in ["square", "galerkin"] {
        let output = run("spgemm", &["--generate", "lp:8", "--product", product, "--device", "cpu"]);
        assert_eq!(output.status.code(), Some(1), "nothing was measured");
        assert!(stderr(&output).contains("must be square, but is 8 x 2040"), "{}", stderr(&output));
    }
}

#[test]
fn every_format_is_measured_and_right() {
    for device in ["cpu", "simulated"] {
        let (_, rows) = rows("formats", &["--device", device, "--generate", "stencil5:30"]);
        for (row, bytes) in rows.iter().zip([8, 4]) {
            let formats =
                ["CSR", "COO", "ELL", "ELL-R", "sliced ELL", "SELL-32-512", "SELL-32-all", "HYB", "BSR"];
            assert_eq!(names(row), formats);
            let ell = &ours(row)[2];
            assert_eq!(
                (&ell["matrix_bytes"], &ell["slots"]),
                (&(5 * 900 * (4 + bytes)).into(), &4500.into())
            );
        }
    }
    let (_, rows) = rows("formats", &["--device", "cpu", "--generate", "power-law:100000", "--value", "f64"]);
    let refused = rows[0]["ours"][2]["error"].as_str().expect("a refusal");
    let reason = "100000 rows padded to up to ";
    assert!(refused.starts_with(reason) && refused.contains("the limit is"), "{refused}");
    assert!(rows[0]["ours"][7]["ms"].as_f64() > Some(0.0), "{}", rows[0]);
}

fn write(folder: &Path, name: &str, text: &str) {
    let text = format!("%%MatrixMarket matrix coordinate real general\n{text}");
    std::fs::write(folder.join(name), text).expect("a file");
}

#[test]
fn a_folder_is_a_suite_and_what_cannot_be_read_is_a_row() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("text");
    let arguments = ["--device", "cpu", "--suite", "folder", "--folder", path, "--value", "f32"];
    write(folder.path(), "a.mtx", "2 2 1\n3 1 1.0\n");
    for name in ["spmv", "hisparse"] {
        assert_eq!(run(name, &arguments).status.code(), Some(1), "nothing was measured");
    }
    write(folder.path(), "b.mtx", "2 3 2\n1 3 1.0\n2 1 4.0\n");
    for name in ["spmv", "hisparse"] {
        let (_, rows) = rows(name, &arguments);
        assert!(rows[0]["failed"].as_str().is_some_and(|reason| reason.contains("a.mtx")), "{}", rows[0]);
        assert_eq!((&rows[1]["matrix"], &rows[1]["suite"]), (&"b".into(), &"folder".into()));
        assert_eq!(rows[1]["shape"]["nnz"], 2);
    }
}

#[test]
fn the_choice_is_judged_by_seed() {
    let random = ["--suite", "random", "--seed", "1,2", "--count", "2", "--most-nonzeros", "20000"];
    let arguments =
        [&random[..], &["--device", "cpu", "--method", "all", "--value", "f64", "--json"]].concat();
    let output = run("spmv", &arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    let rows: Vec<Value> = text.lines().skip(1).map(|line| line.parse().expect("JSON")).collect();
    let names: Vec<_> = rows.iter().map(|row| row["matrix"].as_str().unwrap_or_default()).collect();
    assert_eq!(names, ["random:1:0:20000", "random:1:1:20000", "random:2:0:20000", "random:2:1:20000"]);
    for row in &rows {
        assert!(row["structure"].as_str().is_some_and(|text| text.contains("columns=")), "{row}");
    }
    // Beside JSON, summaries are on stderr.
    let text = stderr(&output);
    assert!(text.contains("choice of a method of spmv, matrices of under 4 MB"), "{text}");
    assert!(!text.contains("matrices of 4 MB and more"), "{text}");
    for seed in [1, 2] {
        assert!(text.contains(&format!("| f64 | auto | random:{seed} | 2 | ")), "{text}");
    }
}

#[test]
fn choices_are_judged_beside_libraries_with_and_without_copies() {
    let arguments = [
        "--generate",
        "dense:700",
        "--method",
        "auto,all,may-copy",
        "--value",
        "f64,f32",
        "--repetitions",
        "1",
    ];
    let text = passes("spmv", &[&arguments[..], &["--device", "cpu", "--peers", "sprs"]].concat());
    // 5.9 and 3.9 MB.
    let (large, small) = text.split_once("matrices of under 4 MB").expect("two tables");
    let (_, large) = large.split_once("matrices of 4 MB and more").expect("a table of large matrices");
    for (table, value) in [(large, "f64"), (small, "f32")] {
        let head = "|  | choice | suite | matrices | over the fastest | largest | within 5 % | spread widely | sprs | lowest |";
        assert!(table.contains(head), "{text}");
        let lines: Vec<_> = table.lines().filter(|line| line.starts_with(&format!("| {value} |"))).collect();
        assert_eq!(lines.len(), 2, "{text}");
        for (line, choice) in lines.into_iter().zip(["auto", "may-copy"]) {
            assert!(line.starts_with(&format!("| {value} | {choice} | - | 1 | ")), "{line}");
            let cells: Vec<_> = line.split(" | ").collect();
            let number = |cell: &str| cell.split(' ').next().and_then(|text| text.parse::<f64>().ok());
            assert!(number(cells[4]).is_some_and(|regret| regret >= 1.0), "{line}");
            assert!(
                cells[5].ends_with("(dense:700x700)") && number(cells[8]).is_some_and(|ratio| ratio > 0.0),
                "{line}"
            );
        }
    }
    assert_eq!(
        text.matches("evenpath auto (").count(),
        2,
        "a method that is named twice is measured once: {text}"
    );
}

#[test]
fn shapes_and_ranges_of_nonzeros_are_measured() {
    let names = "band:300,kron:6,road:20,ratings:300,hyper:900,border:90,blocks:2,wide:300,tall:300,stairs:200,mesh7:6,perm7:6";
    for device in ["cpu", "simulated"] {
        let (_, rows) =
            rows("spmv", &["--device", device, "--generate", names, "--value", "f64", "--no-peers"]);
        let found: Vec<_> = rows.iter().filter_map(|row| row["matrix"].as_str()).collect();
        assert_eq!(found.join(","), names);
        assert!(rows.iter().all(|row| row["verified"] == true), "{rows:?}");
    }
    let range = ["--count", "2", "--least-nonzeros", "15000", "--most-nonzeros", "20000"];
    let (_, rows) =
        rows("spmv", &[&["--device", "cpu", "--suite", "random", "--value", "f32"], &range[..]].concat());
    let found: Vec<_> = rows.iter().filter_map(|row| row["matrix"].as_str()).collect();
    assert_eq!(found, ["random:1:0:15000..20000", "random:1:1:15000..20000"]);
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "a.mtx", "2 2 1\n2 1 1.0\n");
    write(folder.path(), "b.mtx", "2 2 2\n2 1 1.0\n2 2 1.0\n");
    let path = folder.path().to_str().expect("text");
    let arguments =
        ["--device", "cpu", "--suite", "folder", "--folder", path, "--value", "f32", "--least-nonzeros", "2"];
    let (_, rows) = self::rows("spmv", &arguments);
    assert_eq!((rows.len(), &rows[0]["matrix"]), (1, &"b".into()));
}

#[test]
fn the_table_has_a_line_a_contender_and_a_summary() {
    let arguments = ["--device", "cpu", "--generate", "stencil5:20", "--peers", "sprs", "--repetitions", "1"];
    let text = passes("spmv", &arguments);
    let head = text.lines().next().unwrap_or_default();
    assert!(head.starts_with("CPU (") && head.contains(" threads), copies at "), "{text}");
    for part in [
        "setup ms",
        "of copy",
        "stencil5:20 f64, spmv: 400 x 400, 1920 nonzeros",
        "evenpath auto (",
        "sprs mul_acc_mat_vec_csr",
        "sprs on 1: geometric mean",
        "longest row 5",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    // Two heads; of each type the case, two contenders and further figures; of each type a summary of two lines.
    assert_eq!(text.lines().count(), 2 + 2 * 4 + 2 * 2, "{text}");
}

#[test]
fn a_library_that_is_not_installed_is_named_and_left_out() {
    let output = command("spmv")
        .args(["--device", "cpu", "--generate", "stencil5:9", "--peers", "mkl", "--repetitions", "1"])
        .env("EVENPATH_MKL", "/no/such/folder")
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(0));
    let is_installed = String::from_utf8_lossy(&output.stdout).contains("mkl inspector-executor");
    let absent = stderr(&output).contains("note: Intel's OpenMP runtime cannot be used: ");
    assert!(is_installed || absent, "{}", stderr(&output));
}

#[test]
fn what_cannot_be_is_an_error_and_named() {
    let cases: [(&[&str], i32, &str); 8] = [
        (&["--generate", "like:nothing"], 1, "`nothing`"),
        (&["--method", "fast", "--generate", "stencil5:3"], 1, "`fast`"),
        (&["--suite", "folder"], 1, "EVENPATH_MATRICES"),
        (&["--suite", "folder", "--folder", "/no/such/folder"], 1, "/no/such/folder"),
        (&["--suite", "table3"], 2, "table3"),
        (&["--device", "cuda:999"], 1, "cuda:999"),
        (&["--generate", "band:0"], 1, "`band`"),
        (&["--suite", "random", "--least-nonzeros", "20000001"], 1, "--least-nonzeros"),
    ];
    for (arguments, code, part) in cases {
        let output = run("spmv", arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{arguments:?}: {}", stderr(&output));
    }
    // The method exists, but not on the CPU: the row says so.
    let arguments = ["--device", "cpu", "--generate", "stencil5:3", "--method", "row-tiles,auto", "--json"];
    let text = passes("spmv", &arguments);
    assert!(
        text.contains(
            "CPU does not support SpMV by `row-tiles`; it supports auto, merge-path, one-column, row-parallel"
        ),
        "{text}"
    );
}
