//! `evenpath-bench row-sorting`: output and exit codes.

use serde_json::Value;

use super::{passes, run, stderr};

fn measured(arguments: &[&str]) -> Value {
    passes("row-sorting", &[arguments, &["--json"]].concat()).parse().expect("an object")
}

#[test]
fn too_much_padding_is_refused() {
    let output = run("row-sorting", &["--device", "cpu", "power-law:100000"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).starts_with("error: 100000 rows padded to up to "), "{}", stderr(&output));
}

#[test]
fn sorting_is_measured_and_right() {
    for device in ["cpu", "simulated"] {
        let json = measured(&["--device", device, "--order", "200"]);
        let warps = &json["longest_row_of_warp"];
        // Rows of 2 to 40: unsorted, the longest of 32 is nearly always near 40; sorted, it is little above the mean.
        assert!(warps["before"].as_f64() > Some(33.0) && warps["before"].as_f64() < Some(40.1), "{warps}");
        assert!(warps["ratio"].as_f64() > Some(0.45) && warps["ratio"].as_f64() < Some(0.8), "{warps}");
        for method in ["ELL", "ELL-R", "ELL-R sorted", "ELL-R, x in sequence", "ELL-R sorted, x in sequence"]
        {
            assert!(json[method]["ms"].as_f64() > Some(0.0), "{method} in {json}");
        }
        for method in ["ELL-R", "ELL-R, x in sequence"] {
            assert!(json[format!("{method}: sorted / unsorted")].as_f64() > Some(0.0), "{method} in {json}");
        }
        assert!(
            json["restore"]["ms"].as_f64() > Some(0.0) && json["sorting_ms"].as_f64() > Some(0.0),
            "{json}"
        );
    }
    measured(&["--device", "simulated", "--generate", "fem:100", "--value", "f64"]);
}
