//! The examples `merge` and `set_ops` as programs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The program of an example. `cargo test` builds it beside the tests.
fn program(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("the path of this test");
    let profile = tests.parent().and_then(Path::parent).expect("<profile>/deps/<test>");
    profile.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

/// What it prints where the exit code is 0.
fn passes(name: &str, arguments: &[&str]) -> String {
    let output = Command::new(program(name)).args(arguments).output().expect("the program starts");
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(0), "{name} {arguments:?}: {text}");
    text
}

#[test]
fn they_pass_on_every_device_that_is_always_there() {
    for device in ["cpu", "simulated"] {
        for key in ["u32", "u64"] {
            for len in ["0", "1", "9000"] {
                for name in ["merge", "set_ops"] {
                    let arguments = ["--device", device, "--key", key, "--len", len, "--iterations", "1"];
                    let text = passes(name, &arguments);
                    assert!(text.ends_with("\nPASS\n") && text.contains("copy rate"), "{text}");
                }
            }
        }
    }
}

#[test]
fn json_has_everything() {
    let text = passes("set_ops", &["--device", "cpu", "--len", "5000", "--iterations", "2", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&text).expect("an object");
    assert_eq!((&json["pass"], &json["len"]), (&true.into(), &5000.into()));
    for operation in ["set_union", "set_intersection", "set_difference", "set_symmetric_difference"] {
        assert!(json[operation]["ms"].as_f64() > Some(0.0), "{operation} in {json}");
    }
}
