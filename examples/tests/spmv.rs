//! The main example.

use std::ffi::OsStr;
use std::process::{Command, Output};

use serde_json::Value;

use super::{File, SYMMETRIC, program};

fn spmv<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    Command::new(program("spmv"))
        .args(arguments)
        .env("RUST_BACKTRACE", "1")
        .output()
        .expect("the program starts")
}

/// Output if the exit code is 0 and stderr is empty.
fn spmv_passes(arguments: &[&str]) -> String {
    let output = spmv(arguments);
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The JSON object that it prints with `--json`.
fn spmv_json(arguments: &[&str]) -> Value {
    let output = spmv_passes(&[arguments, &["--json"]].concat());
    serde_json::from_str(&output).unwrap_or_else(|error| panic!("{error}: {output}"))
}

/// The line on stderr if the exit code is 2 and stdout is empty.
fn spmv_refuses<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> String {
    let output = spmv(arguments);
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{stderr}");
    assert!(stderr.starts_with("error: ") && stderr.ends_with('\n'), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr
}

const COMPLEX: &str = "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 0.5 7\n";

#[test]
fn without_arguments_it_runs_on_the_best_device() {
    let text = spmv_passes(&[]);
    assert!(text.starts_with("matrix  stencil5:"), "{text}");
    assert!(text.ends_with("\nPASS\n") && text.lines().count() <= 12, "{text}");
    for part in [
        "\nsize    ",
        " nonzeros: ",
        "\ndevice  ",
        "\nplan    ",
        "\ntime    ",
        " GFLOP/s; ",
        " ms to the first result",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn details_are_printed_on_request() {
    let text = spmv_passes(&["--details", "--generate", "stencil5:200"]);
    for part in [
        "\t num_nonzeros: ",
        "\tDegree 1e0: ",
        "\ndevice  ",
        "\nplan    ",
        "\ntime    ",
        " GFLOP/s, ",
        " effective GB/s, counted as by merge-spmv",
        " of the device's copy rate",
        " ms to the first result",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn without_a_matrix_it_generates_one_that_suits_the_device() {
    let cpu = spmv_json(&["--device", "cpu"]);
    assert_eq!(cpu["device"], "CPU");
    assert_eq!(cpu["statistics"]["rows"], 1_000_000);
    assert_eq!(cpu["plan"]["tile"], Value::Null);
    let simulated = spmv_json(&["--device", "simulated"]);
    assert_eq!(simulated["device"], "simulated GPU");
    assert_eq!(simulated["statistics"]["rows"], 3600);
    assert!(simulated["plan"]["tile"]["block_size"].as_u64() > Some(0), "{simulated}");
}

#[test]
fn every_type_runs_without_a_gpu() {
    for device in ["cpu", "simulated"] {
        for (value, offset, bytes) in
            [("f32", "u32", 8 + 4), ("f32", "u64", 8 + 8), ("f64", "u32", 12 + 4), ("f64", "u64", 12 + 8)]
        {
            let types = ["--value", value, "--offset", offset];
            let json = spmv_json(&[&["--device", device, "--generate", "diagonal:500"], &types[..]].concat());
            assert_eq!((&json["value"], &json["offset"]), (&value.into(), &offset.into()));
            let vectors = if value == "f32" { 8 } else { 16 };
            let last_offset = if offset == "u32" { 4 } else { 8 };
            assert_eq!(json["bytes"], 500 * (bytes + vectors) + last_offset);
        }
    }
}

#[test]
fn json_has_everything() {
    let json =
        spmv_json(&["--device", "cpu", "--generate", "uniform:2000", "--iterations", "3", "--seed", "5"]);
    assert_eq!(json["matrix"], "uniform:2000, generated from seed 5");
    assert_eq!(json["iterations"], 3);
    assert_eq!(json["pass"], true);
    assert_eq!(json["difference"], Value::Null);
    assert_eq!(json["statistics"]["nnz"], 32_000);
    assert_eq!(json["statistics"]["degree_histogram"], serde_json::json!([0, 2000]));
    for field in
        ["ms", "gflops", "effective_gbps", "gbps", "copy_gbps", "copy_share", "open_ms", "first_result_ms"]
    {
        assert!(json[field].as_f64() > Some(0.0), "{field} in {json}");
    }
    let [shortest, median, longest] = ["shortest_ms", "ms", "longest_ms"].map(|field| json[field].as_f64());
    assert!(shortest <= median && median <= longest, "{json}");
    assert!(json["first_result_ms"].as_f64() > json["open_ms"].as_f64(), "{json}");
    for field in ["method", "reason", "tiles", "workspace_bytes", "analysis_ms"] {
        assert!(!json["plan"][field].is_null(), "{field} in {json}");
    }
    assert!(json["remarks"].is_array() && json.get("fits_l2").is_some(), "{json}");
}

#[test]
fn methods_are_chosen_by_name() {
    let kind = evenpath::device::DeviceKind::Simulated;
    let methods = evenpath::spmv::SpmvMethod::ALL.into_iter().filter(|method| method.runs_on(kind));
    for method in methods.map(|method| method.to_string()) {
        let json = spmv_json(&["--device", "simulated", "--generate", "empty-rows:200", "--method", &method]);
        let expected = if method == "auto" { "vector" } else { &method };
        assert_eq!((&json["plan"]["method"], &json["pass"]), (&expected.into(), &true.into()));
    }
}

#[test]
fn files_are_read() {
    let file = File::new(SYMMETRIC);
    for device in ["cpu", "simulated"] {
        let json = spmv_json(&["--device", device, "--matrix", file.path()]);
        assert_eq!(json["matrix"], file.path());
        assert_eq!((&json["statistics"]["rows"], &json["statistics"]["nnz"]), (&3.into(), &4.into()));
        assert_eq!(json["statistics"]["empty_rows"], 1);
    }
}

#[test]
fn complex_files_need_a_word() {
    let file = File::new(COMPLEX);
    let message = spmv_refuses(["--device", "cpu", "--matrix", file.path()]);
    assert!(message.contains("complex") && message.contains("--real-part"), "{message}");
    let json = spmv_json(&["--device", "cpu", "--matrix", file.path(), "--real-part"]);
    assert_eq!(json["statistics"]["nnz"], 1);
}

#[test]
fn matrices_are_named_with_and_without_an_option() {
    let file = File::new(SYMMETRIC);
    for (option, matrix) in [("--matrix", file.path()), ("--generate", "stencil5:9")] {
        let json = spmv_json(&["--device", "cpu", option, matrix]);
        let bare = spmv_json(&[matrix, "--device", "cpu"]);
        assert_eq!((&json["matrix"], &json["statistics"]), (&bare["matrix"], &bare["statistics"]));
    }
}

#[test]
fn bad_files_are_named() {
    let message = spmv_refuses(["--matrix", "no/such/file.mtx"]);
    assert!(message.contains("no/such/file.mtx"), "{message}");
    let file = File::new(&SYMMETRIC.replace("3 1 -0.5", "3 one -0.5"));
    for json in [None, Some("--json")] {
        let message = spmv_refuses(["--matrix", file.path()].into_iter().chain(json));
        assert!(message.contains(&format!("{}:4: ", file.path())) && message.contains("`one`"), "{message}");
    }
}

#[test]
fn bad_arguments_are_named() {
    let cases: [(&[&str], &str); 11] = [
        (&["--generate", "stencil7"], "`stencil7`"),
        (&["--generate", "uniform:many"], "`many`"),
        (&["--generate", "dense:1000000"], "1000000000000"),
        (&["--device", "gpu"], "`gpu`"),
        (&["--device", "cuda:999"], "cuda:999"),
        (&["--value", "f16"], "'f16'"),
        (&["--method", "fastest"], "`fastest`; known names are auto, scalar"),
        (
            &["--device", "cpu", "--method", "light"],
            "does not support SpMV by `light`; it supports auto, merge-path",
        ),
        (&["--iterations", "0"], "'0'"),
        (&["--matrix", "a.mtx", "--generate", "uniform"], "cannot be used with"),
        (&["--no-such-thing"], "'--no-such-thing'"),
    ];
    for (arguments, part) in cases {
        let message = spmv_refuses(arguments);
        assert!(message.contains(part), "{arguments:?}: {message}");
    }
}

#[test]
fn help_is_not_an_error() {
    let text = spmv_passes(&["--help"]);
    assert!(text.contains("--generate <KIND>") && text.contains("power-law"), "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_reported() {
    let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    let output = Command::new(program("spmv"))
        .args(["--device", "cpu", "--generate", "diagonal:3"])
        .stdout(full)
        .output()
        .expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.starts_with("error: cannot write: ") && stderr.lines().count() == 1, "{stderr}");
}
