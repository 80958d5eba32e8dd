//! `evenpath-bench hisparse-tree`: its output and picture.

use serde_json::Value;

use super::passes;

#[test]
fn trees_are_described_and_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let picture = folder.path().join("tree.svg");
    for (node, value, kind, device) in [
        ("32", "f32", "stencil5:30", "best"),
        ("64", "f64", "stencil5:12", "simulated"),
        ("128", "f64", "lp:8", "cpu"),
        ("256", "f32", "dense:300x300", "cpu"),
    ] {
        let file = picture.to_str().expect("text");
        let options = ["--node", node, "--value", value, "--device", device, "--repetitions", "1", "--share"];
        let own = ["--generate", kind, "--picture", file, "--json"];
        let stdout = passes("hisparse-tree", &[&options[..], &own].concat());
        let json: Value = serde_json::from_str(&stdout).expect("an object");
        assert!(json["spmv"]["ms"].as_f64() > Some(0.0), "{json}");
        assert!(json["spmv_transposed"]["ms"].as_f64() > Some(0.0), "{json}");
        assert_eq!(json["spadd_transposed"].is_null(), kind.starts_with("lp"), "{json}");
        assert!(json["level_1"]["sparse"].as_u64().is_some(), "{json}");
        assert!(json["bytes_per_nonzero"]["hisparse"].as_f64() > Some(0.0), "{json}");
        let svg = std::fs::read_to_string(&picture).expect("a picture");
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("class=\"leaf\""));
    }
}
