//! Tests of the program in `nvvm/`, which normal builds exclude, as far as possible without its compiler.

use std::fs;

use xtask::ptx::TARGETS;
use xtask::{flags, root, toolchain};

#[test]
fn both_compilers_get_the_shared_flags_of_every_target() {
    for target in TARGETS {
        let stock = toolchain::flags(target);
        for flag in flags::of_target(target.0) {
            assert!(stock.iter().any(|own| own == flag), "{flag} for {target}");
        }
    }
    let build = fs::read_to_string(root().join("nvvm/build.rs")).unwrap();
    assert!(
        build.contains("#[path = \"../xtask/src/flags.rs\"]"),
        "nvvm/build.rs does not include the shared flags"
    );
    assert!(build.contains("flags::of_target(target)"), "nvvm/build.rs does not use the shared flags");
    let targets = TARGETS.map(|target| format!("({0}, NvvmArch::Compute{0})", target.0)).join(", ");
    assert!(build.contains(&targets), "nvvm/build.rs does not build exactly {targets}");
}

/// `rustc_codegen_nvvm` parses `-Cllvm-args` as options of libNVVM, and panics at those of LLVM.
#[test]
fn options_of_llvm_are_for_the_stock_compiler_alone() {
    for target in TARGETS {
        let is_for_llvm = |flag: &str| flag.starts_with("-Cllvm-args");
        assert!(!flags::of_target(target.0).into_iter().any(is_for_llvm), "{target}");
        assert!(toolchain::flags(target).iter().any(|flag| is_for_llvm(flag)), "{target}");
    }
}

/// Cargo warns of an undeclared `cfg`, and each of these workspaces compiles the same sources.
#[test]
fn both_workspaces_declare_the_same_cfgs() {
    let declared = |manifest: &str| {
        let text = fs::read_to_string(root().join(manifest)).unwrap();
        let line = text.lines().find(|line| line.starts_with("unexpected_cfgs = ")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{manifest} declares no cfg"))
    };
    assert_eq!(declared("nvvm/Cargo.toml"), declared("Cargo.toml"));
    for crate_name in ["kernels", "simt"] {
        let text = fs::read_to_string(root().join(format!("nvvm/{crate_name}/Cargo.toml"))).unwrap();
        assert!(text.contains("[lints]\nworkspace = true"), "nvvm/{crate_name}/Cargo.toml");
    }
}

#[test]
fn kernels_copy_asynchronously_where_the_target_can() {
    let copies = |number| flags::of_target(number).contains(&"--cfg=evenpath_async_copy");
    assert!(!copies(75) && copies(80) && copies(90));
}

/// `cuda_std` accepts every glam from 0.22 on, but builds with only a few versions.
#[test]
fn the_lock_file_keeps_the_glam_that_cuda_std_builds_with() {
    let lock = fs::read_to_string(root().join("nvvm/Cargo.lock")).unwrap();
    let versions: Vec<_> =
        lock.split("[[package]]").filter(|package| package.contains("name = \"glam\"")).collect();
    assert_eq!(versions.len(), 1, "{versions:?}");
    assert!(versions[0].contains("version = \"0.30.9\""), "{versions:?}");
}
