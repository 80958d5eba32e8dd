//! `evenpath-bench conjugate-gradients` and `pagerank`: output and plots.

use serde_json::Value;

use super::{passes, run};

/// The JSON object that it prints, and its plot; the exit code must be 0.
fn plotted(command: &str, arguments: &[&str]) -> (Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let plot = folder.path().join("plot.svg");
    let own = ["--json", "--plot", plot.to_str().expect("text")];
    let json = passes(command, &[arguments, &own].concat()).parse().expect("an object");
    (json, std::fs::read_to_string(plot).expect("a plot"))
}

#[test]
fn conjugate_gradients_solve_without_a_gpu() {
    for arguments in [
        &["--device", "cpu"][..],
        &["--device", "cpu", "--value", "f32", "--tolerance", "1e-3"],
        &["--device", "cpu", "--generate", "stencil5:40"],
        &["--device", "simulated", "--generate", "stencil7:5"],
        &["--device", "simulated", "--generate", "stencil5:1"],
    ] {
        let (json, plot) = plotted("conjugate-gradients", arguments);
        let residuals: Vec<f64> =
            json["residuals"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
        assert_eq!(residuals.len() as u64, json["steps"].as_u64().unwrap() + 1);
        assert!(residuals[0] >= 1.0 && residuals[residuals.len() - 1] < 1e-3, "{residuals:?}");
        assert!(plot.contains("stroke=\"#0072B2\" stroke-width=\"2\" points=\""), "{plot}");
    }
}

#[test]
fn too_few_steps_give_a_wrong_solution() {
    let output = run("conjugate-gradients", &["--device", "cpu", "--steps", "3"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("FAIL"));
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
