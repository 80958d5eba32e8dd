//! Compiles the kernels to one PTX text a target.

use std::env;
use std::path::Path;

use cuda_builder::{CudaBuilder, NvvmArch};

/// `cuda_builder` sets the compiler's flags itself and so hides `RUSTFLAGS`; a profile's come on top.
/// `JumpThreading` would duplicate a barrier into both arms of a branch.
const WITHOUT_JUMP_THREADING: [&str; 3] = [
    "-Zprofile-rustflags",
    "--config",
    r#"profile.release.rustflags=["-Zmir-enable-passes=-JumpThreading"]"#,
];

fn main() {
    for sources in ["../kernels/src", "../simt/src", "kernels/Cargo.toml", "simt/Cargo.toml"] {
        println!("cargo::rerun-if-changed={sources}");
    }
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    for (target, arch) in [("sm_75", NvvmArch::Compute75), ("sm_90", NvvmArch::Compute90)] {
        CudaBuilder::new("kernels")
            .arch(arch)
            // Kernels say `fma` where they mean it, as under the other compiler.
            .fma_contraction(false)
            .build_args(&WITHOUT_JUMP_THREADING)
            .copy_to(Path::new(&out).join(format!("{target}.ptx")))
            .build()
            .unwrap_or_else(|error| panic!("building the kernels for {target}: {error}"));
    }
}
