//! Compiles the kernels to one PTX text per target.

use std::env;
use std::path::Path;

use cuda_builder::{CudaBuilder, NvvmArch};

#[path = "../xtask/src/flags.rs"]
mod flags;

fn main() {
    for sources in
        ["../kernels/src", "../simt/src", "../xtask/src/flags.rs", "kernels/Cargo.toml", "simt/Cargo.toml"]
    {
        println!("cargo::rerun-if-changed={sources}");
    }
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    for (target, arch) in [(75, NvvmArch::Compute75), (90, NvvmArch::Compute90)] {
        // `cuda_builder` sets the compiler's flags itself and so hides `RUSTFLAGS`; a profile's come on top.
        let flags = format!("profile.release.rustflags={:?}", flags::of_target(target));
        CudaBuilder::new("kernels")
            .arch(arch)
            // Kernels say `fma` where they mean it, as under the other compiler.
            .fma_contraction(false)
            .build_args(&["-Zprofile-rustflags", "--config", flags.as_str()])
            .copy_to(Path::new(&out).join(format!("sm_{target}.ptx")))
            .build()
            .unwrap_or_else(|error| panic!("building the kernels for sm_{target}: {error}"));
    }
}
