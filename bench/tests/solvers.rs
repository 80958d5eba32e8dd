//! `evenpath-bench solve` and `pagerank`: output and plots.

use serde_json::Value;

use super::{objects, passes, positive, run, stderr};

/// The JSON object that it prints, and its plot; the exit code must be 0.
fn plotted(command: &str, arguments: &[&str]) -> (Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let plot = folder.path().join("plot.svg");
    let own = ["--json", "--plot", plot.to_str().expect("text")];
    let json = passes(command, &[arguments, &own].concat()).parse().expect("an object");
    (json, std::fs::read_to_string(plot).expect("a plot"))
}

/// Checks a row of a system that was solved.
fn check_solved(row: &Value, tolerance: f64) {
    let residuals: Vec<f64> = row["residuals"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    assert_eq!(residuals.len() as u64, row["steps"].as_u64().unwrap() + 1);
    assert!(residuals[0] > 0.99 && residuals[residuals.len() - 1] <= tolerance, "{residuals:?}");
    assert!(row["residual"].as_f64().unwrap() <= 10.0 * tolerance, "{row}");
    assert_eq!((&row["pass"], &row["outcome"]), (&true.into(), &"converged".into()), "{row}");
    for field in ["first_set_up_ms", "set_up_ms", "first_solve_ms", "solve_ms", "us_per_step", "solver_bytes"]
    {
        positive(row, field);
    }
}

#[test]
fn systems_are_solved_without_a_gpu() {
    for (arguments, tolerance) in [
        (&["--device", "cpu"][..], 1e-8),
        (&["--device", "cpu", "--value", "f32", "--tolerance", "1e-3"], 1e-3),
        (&["--device", "cpu", "--generate", "stencil5:40", "--ones"], 1e-8),
        (&["--device", "simulated", "--generate", "stencil7:5"], 1e-8),
        (&["--device", "simulated", "--generate", "stencil5:1"], 1e-8),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let plot = folder.path().join("plot.svg");
        let own = ["--repetitions", "2", "--plot", plot.to_str().expect("text")];
        let lines = objects("solve", &[arguments, &own].concat());
        assert_eq!(lines.len(), 2);
        check_solved(&lines[0], tolerance);
        assert_eq!((&lines[1]["rows"], &lines[1]["pass"]), (&1.into(), &true.into()));
        let plot = std::fs::read_to_string(plot).expect("a plot");
        assert!(plot.contains("stroke=\"#0072B2\" stroke-width=\"2\" points=\""), "{plot}");
    }
}

const PRECONDITIONERS: [&str; 9] =
    ["none", "jacobi", "gauss-seidel", "multicolor-gauss-seidel", "ilu", "ic", "chebyshev", "amg", "amg-f32"];

#[test]
fn every_preconditioner_is_measured() {
    for (device, kind) in [("cpu", "stencil5:24"), ("simulated", "stencil7:5")] {
        let names = PRECONDITIONERS.join(",");
        let arguments = ["--device", device, "--generate", kind, "--preconditioner", &names];
        let rows = objects("solve", &[&arguments[..], &["--repetitions", "1"]].concat());
        for (row, name) in rows.iter().zip(PRECONDITIONERS) {
            check_solved(row, 1e-8);
            assert_eq!((&row["preconditioner"], &row["matrix"]), (&name.into(), &kind.into()));
            let has_update = !["none", "jacobi", "chebyshev"].contains(&name);
            assert_eq!(row["update_ms"].is_number(), has_update, "{row}");
            assert_eq!(row["operator_complexity"].is_number(), name.starts_with("amg"), "{row}");
            if name != "none" {
                assert!(positive(row, "preconditioner_bytes") <= positive(row, "set_up_peak_bytes"), "{row}");
            }
        }
        assert_eq!(rows.len(), PRECONDITIONERS.len() + 1);
    }
}

#[test]
fn every_method_and_type_has_a_row_for_each_matrix() {
    let methods = ["cg", "pipelined-cg", "minres", "bicgstab", "gmres", "fgmres", "lsqr"];
    let names = methods.join(",");
    let matrices = ["--generate", "stencil5:9,stencil7:4", "--value", "f32,f64", "--tolerance", "1e-4"];
    let arguments = ["--device", "cpu", "--method", &names, "--repetitions", "1"];
    let rows = objects("solve", &[&matrices[..], &arguments].concat());
    let mut at = rows.iter();
    for matrix in ["stencil5:9", "stencil7:4"] {
        for value in ["f32", "f64"] {
            for method in methods {
                let row = at.next().unwrap();
                check_solved(row, 1e-4);
                let preconditioner = if method == "lsqr" { "none" } else { "jacobi" };
                let fields = ["matrix", "value", "method", "preconditioner"];
                assert_eq!(fields.map(|field| &row[field]), [matrix, value, method, preconditioner], "{row}");
            }
        }
    }
    assert_eq!(at.len(), 1);
}

#[test]
fn the_suite_of_definite_problems_is_solved() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("own");
    let own = own.to_str().expect("text");
    let suite = ["--device", "cpu", "--suite", "definite", "--size", "300", "--repetitions", "1"];
    let rows = objects("solve", &[&suite[..], &["--out", own]].concat());
    assert_eq!(rows.len(), 21);
    for row in &rows[..20] {
        assert_eq!((&row["pass"], &row["outcome"]), (&true.into(), &"converged".into()), "{row}");
        assert!(row["steps"].as_u64().unwrap() <= 60, "{row}");
        assert!(row["residual"].as_f64().unwrap() <= 1e-7 && row["operator_complexity"].as_f64() < Some(3.0));
    }
    assert_eq!((&rows[20]["problems"], &rows[20]["failed"]), (&20.into(), &0.into()));
    // The matrices that it wrote are problems of a folder, without their near-null vectors.
    let cycles = ["--cycle", "k", "--smoother", "gauss-seidel"];
    let again = objects("solve", &[&suite[..], &["--folder", own], &cycles].concat());
    assert_eq!(again.len(), 41);
    for row in &again[20..40] {
        let name = row["problem"].as_str().unwrap().trim_end_matches(".mtx");
        let generated = rows.iter().find(|row| row["problem"] == name).unwrap();
        assert_eq!((&row["rows"], &row["nonzeros"]), (&generated["rows"], &generated["nonzeros"]), "{row}");
    }
    let output = run("solve", &["--size", "3"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn one_block_solves_small_systems() {
    for device in ["cpu", "simulated"] {
        for choice in ["true", "false"] {
            let arguments = ["--device", device, "--generate", "stencil5:9", "--one-block", choice];
            let rows = objects(
                "solve",
                &[&arguments[..], &["--preconditioner", "none,jacobi", "--repetitions", "1"]].concat(),
            );
            assert_eq!(rows.len(), 3);
            rows[..2].iter().for_each(|row| check_solved(row, 1e-8));
        }
    }
    let output = run(
        "solve",
        &["--device", "cpu", "--generate", "stencil5:4", "--one-block", "true", "--preconditioner", "ic"],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("one block cannot do the steps"));
}

#[test]
fn all_bits_of_repeated_set_ups_are_compared() {
    let arguments =
        ["--device", "simulated", "--generate", "stencil5:16", "--value", "f32,f64", "--tolerance", "1e-5"];
    let rows = objects("solve", &[&arguments[..], &["--repeat-bits", "2"]].concat());
    assert_eq!(rows.len(), 3);
    for (row, value) in rows.iter().zip(["f32", "f64"]) {
        assert_eq!(
            (&row["value"], &row["runs"], &row["pass"]),
            (&value.into(), &2.into(), &true.into()),
            "{row}"
        );
    }
    assert_eq!((&rows[2]["rows"], &rows[2]["failed"]), (&2.into(), &0.into()));
}

#[test]
fn too_few_steps_give_a_wrong_solution() {
    let output = run("solve", &["--device", "cpu", "--steps", "3", "--repetitions", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("FAIL"));
}

#[test]
fn a_preconditioner_that_fails_has_a_row() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("indefinite.mtx");
    std::fs::write(&path, "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 2 -1\n")
        .expect("a file");
    let matrix = path.to_str().expect("text");
    let arguments =
        ["--device", "cpu", "--matrix", matrix, "--method", "minres", "--preconditioner", "ic,none"];
    let output = run("solve", &[&arguments[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Value> = text.lines().map(|line| line.parse().expect("an object")).collect();
    assert_eq!(
        (lines.len(), &lines[0]["pass"], &lines[2]["failed"]),
        (3, &false.into(), &1.into()),
        "{text}"
    );
    assert!(lines[0]["difference"].as_str().unwrap().contains("row 1"), "{text}");
    check_solved(&lines[1], 1e-8);
}

#[test]
fn indefinite_kinds_are_refused() {
    let output = run("solve", &["--device", "cpu", "--generate", "stencil5:4,rmat:4"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("rmat:4 is not positive definite"));
}

#[test]
fn pages_are_ranked_without_a_gpu() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("web.mtx");
    // 1 and 2 link to each other and to 3, which links to nothing; 4 links to 1.
    let web = "%%MatrixMarket matrix coordinate pattern general\n4 4 5\n1 2\n2 1\n1 3\n2 3\n4 1\n";
    std::fs::write(&path, web).expect("a file");
    for device in ["cpu", "simulated"] {
        let arguments = ["--device", device, "--matrix", path.to_str().expect("text"), "--top", "4"];
        let (json, _) = plotted("pagerank", &arguments);
        // By hand, where s is a quarter of the probability of jumps: r4 = s, r1 = s + 0.85 (r2 / 2 + r4), r2 = s + 0.85
        // r1 / 2, r3 = s + 0.85 (r1 + r2) / 2, and their sum is 1.
        let r1 = (1.0 + 0.425 + 0.85) / (1.0 - 0.425 * 0.425);
        let r2 = 1.0 + 0.425 * r1;
        let r3 = 1.0 + 0.425 * (r1 + r2);
        let sum = 1.0 + r1 + r2 + r3;
        let mut expected: [(u64, f64); 4] = [(0, r1 / sum), (1, r2 / sum), (2, r3 / sum), (3, 1.0 / sum)];
        expected.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (found, expected) in json["top"].as_array().unwrap().iter().zip(expected) {
            assert_eq!(found[0].as_u64(), Some(expected.0), "{json}");
            assert!((found[1].as_f64().unwrap() - expected.1).abs() < 1e-9, "{json}");
        }
    }
    let (json, _) = plotted("pagerank", &["--device", "cpu"]);
    assert!(json["steps"].as_u64() > Some(20), "{json}");
}
