//! Loading of unsuitable PTX. The source of PTX is chosen once per process: each case starts one.

use std::path::Path;

use evenpath::device::{Device, DeviceError, DeviceKind};

use crate::support::{PTX_FOLDER_VARIABLE, STORE, cases, gpu, run_in_child, store};

cases! {
    a_missing_module_is_named,
    a_missing_entry_is_named,
    an_entry_with_other_parameters_is_refused,
    an_entry_with_another_block_size_is_refused,
    an_entry_that_fits_is_launched,
    a_broken_module_shows_the_compiler_s_log,
    a_module_too_new_for_the_driver_says_so,
    a_ptx_folder_for_newer_gpus_only_is_refused,
}

/// Runs a case of [`run_child`] in a process of its own, with PTX from a folder of these files.
fn in_child_with_ptx(name: &str, files: &[(&str, &str)]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("a new folder");
        std::fs::write(path, text).expect("a new file");
    }
    run_in_child(name, &[(PTX_FOLDER_VARIABLE, folder.path())]);
}

/// The cases run by [`in_child_with_ptx`].
pub(crate) fn run_child(name: &str) {
    let launch = || {
        let device = gpu();
        let mut data = device.upload(&[4_u32]).expect("a buffer");
        let error = store(&mut data, 0).expect_err("there is no such kernel");
        println!("{error}");
        assert_eq!(data.download().expect("the device is still usable"), [4]);
        error
    };
    match name {
        "missing module" => match launch() {
            DeviceError::ModuleNotFound { module, target: 75, origin } => {
                assert!(module == "testing" && origin.contains(PTX_FOLDER_VARIABLE), "{module} {origin}");
            }
            other => panic!("{other}"),
        },
        "missing entry" => match launch() {
            DeviceError::EntryNotFound { kernel: STORE, module: "testing", .. } => {}
            other => panic!("{other}"),
        },
        "other parameters" => check_mismatch(&launch(), "[8, 8, 4] bytes, 32 threads"),
        "other block" => check_mismatch(&launch(), "[8, 8] bytes, 64 threads"),
        "fits" => crate::support::assert_works(&gpu()),
        "broken module" => match launch() {
            DeviceError::Module { module, log, .. } => {
                assert!(module == "testing" && log.contains("ptx") && log.contains('4'), "{module} {log}");
            }
            other => panic!("{other}"),
        },
        "too new" => match launch() {
            DeviceError::DriverTooOld { module, ptx, driver, .. } => {
                assert_eq!((module.as_str(), ptx.major), ("testing", 99));
                assert!(driver.major >= 11);
            }
            other => panic!("{other}"),
        },
        "newer gpus only" => match Device::cuda(0).expect_err("no target fits") {
            DeviceError::UnsupportedGpu { oldest: 999, .. } => {
                assert_eq!(Device::best().expect("the CPU").kind(), DeviceKind::Cpu);
            }
            other => panic!("{other}"),
        },
        other => panic!("no child `{other}`"),
    }
}

fn a_missing_module_is_named() {
    in_child_with_ptx("missing module", &[("sm_75/other.ptx", "")]);
}

fn a_missing_entry_is_named() {
    let text = ".version 7.8\n.target sm_75\n.address_size 64\n";
    in_child_with_ptx("missing entry", &[("sm_75/testing.ptx", text)]);
}

/// Checks that the error names the file, the kernel, and the expected and found declarations.
fn check_mismatch(error: &DeviceError, found_end: &str) {
    match error {
        DeviceError::EntryMismatch { kernel, location, expected, found } => {
            assert!(location.contains("testing.ptx") && location.contains(PTX_FOLDER_VARIABLE), "{location}");
            assert_eq!(
                (*kernel, expected.as_str()),
                (STORE, "2 parameters of [8, 8] bytes, 32 threads a block")
            );
            assert!(found.contains(found_end), "{found}");
        }
        other => panic!("{other}"),
    }
}

/// The checked-in module with its kernel [`STORE`] changed.
fn with_store(change: impl FnOnce(&str) -> String) -> String {
    let text = include_str!("../../ptx/sm_75/testing.ptx");
    let start = text.find(&format!(".entry {STORE}")).expect("the kernel");
    let (before, kernel) = text.split_at(start);
    before.to_owned() + &change(kernel)
}

fn an_entry_with_other_parameters_is_refused() {
    let text = with_store(|kernel| kernel.replacen("\n)", ",\n\t.param .u32 more\n)", 1));
    in_child_with_ptx("other parameters", &[("sm_75/testing.ptx", &text)]);
}

fn an_entry_with_another_block_size_is_refused() {
    let text = with_store(|kernel| kernel.replacen(".maxntid 32", ".maxntid 64", 1));
    in_child_with_ptx("other block", &[("sm_75/testing.ptx", &text)]);
}

fn an_entry_that_fits_is_launched() {
    in_child_with_ptx("fits", &[("sm_75/testing.ptx", &with_store(str::to_owned))]);
}

fn a_broken_module_shows_the_compiler_s_log() {
    let text = ".version 7.8\n.target sm_75\n.address_size 64\nthis is not PTX;\n";
    in_child_with_ptx("broken module", &[("sm_75/testing.ptx", text)]);
}

fn a_module_too_new_for_the_driver_says_so() {
    let text = ".version 99.0\n.target sm_75\n.address_size 64\n";
    in_child_with_ptx("too new", &[("sm_75/testing.ptx", text)]);
}

fn a_ptx_folder_for_newer_gpus_only_is_refused() {
    in_child_with_ptx("newer gpus only", &[("sm_999/testing.ptx", "")]);
}
