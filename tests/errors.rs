//! Output of errors that a program returns from `main`, which uses `Debug`.

use std::fs;
use std::path::Path;

use evenpath::error::{DeviceError, MatrixError, OpError};
use evenpath::io::parse_matrix_market;
use evenpath::spmv::SpmvMethod;
use evenpath::{Csr, Device};

/// Calls `visit` for the text of every Rust source in a folder.
fn visit_sources(folder: &Path, visit: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            visit_sources(&path, visit);
        } else if path.extension().is_some_and(|end| end == "rs") {
            visit(&path, &fs::read_to_string(&path).expect("a text"));
        }
    }
}

/// No error derives `Debug`: each prints its message and those of its causes, by `debug_as_message`.
#[test]
fn no_error_prints_its_fields() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
    let (mut derived, mut found) = (Vec::new(), 0);
    for folder in ["simt/src", "evenpath/src", "distributed/src"] {
        visit_sources(&root.join(folder), &mut |path, text| {
            for derive in text.split("#[derive(").skip(1).filter_map(|rest| rest.split(")]").next()) {
                let traits: Vec<&str> = derive.split(',').map(str::trim).collect();
                if traits.iter().any(|name| name.ends_with("Error")) {
                    found += 1;
                    if traits.contains(&"Debug") {
                        derived.push(path.to_owned());
                    }
                }
            }
        });
    }
    assert!(found >= 15, "{found} errors");
    assert!(derived.is_empty(), "{derived:?}");
}

#[test]
fn debug_is_the_message_with_its_causes() {
    let bad = parse_matrix_market::<f64, u32>(b"no matrix").unwrap_err();
    let expected = "line 1: not a Matrix Market file: expected `%%MatrixMarket`, found `no`";
    assert_eq!(format!("{bad:?}"), expected);
    assert_eq!(format!("{:?}", bad.kind()), expected["line 1: ".len()..]);
    assert_eq!(format!("{:?}", evenpath::Error::from(bad)), expected);

    let source = std::io::Error::other("the disk is on fire");
    let read = DeviceError::ReadPtx { path: "a.ptx".into(), source };
    assert_eq!(format!("{:?}", evenpath::Error::from(read)), "a.ptx: the disk is on fire");

    let refused = Csr::<f64>::try_new(1, 1, vec![0, 1], vec![7], vec![5.0]).unwrap_err();
    let message = refused.to_string();
    assert_eq!(format!("{refused:?}"), message);
    assert_eq!(format!("{:?}", OpError::from(MatrixError::from(refused))), message);
    let name = "by magic".parse::<SpmvMethod>().unwrap_err();
    assert_eq!(format!("{name:?}"), name.to_string());
    let values = Device::cpu().zeros::<f64>(3).unwrap();
    let dense = evenpath::DeviceDense::try_new(values, 2, 2, evenpath::Layout::RowMajor).unwrap_err();
    assert_eq!(format!("{dense:?}"), dense.to_string());
    let failed = evenpath_distributed::Error::from(MatrixError::NoSliceHeight);
    assert_eq!(format!("{failed:?}"), "the slice height is 0");
    let missing = evenpath_distributed::Error::NoSuchRank { rank: 3, size: 2 };
    assert_eq!(format!("{missing:?}"), "rank 3 does not exist: the cluster has 2 ranks");
}

/// A cause that is not part of the message follows it; one that is does not.
#[test]
fn causes_follow_their_effects_once() {
    struct Outer(&'static str, std::num::ParseIntError);

    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }
    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.1)
        }
    }
    evenpath_simt::debug_as_message!(Outer);

    let cause = "x".parse::<i32>().unwrap_err();
    let text = |message| format!("{:?}", Outer(message, cause.clone()));
    assert_eq!(text("the size is bad"), "the size is bad: invalid digit found in string");
    assert_eq!(text("bad: invalid digit found in string"), "bad: invalid digit found in string");
}
