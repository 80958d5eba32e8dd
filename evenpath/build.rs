//! Shows the linker the empty `libcuda.a`, for `cust`'s `-lcuda` where no CUDA is installed: the driver's functions are
//! defined by `src/device/cuda/symbols.rs`.

fn main() {
    println!("cargo:rerun-if-changed=cuda-stub");
    if std::env::var_os("CARGO_FEATURE_CUDA").is_some() {
        println!("cargo:rustc-link-search=native={}/cuda-stub/lib64", env!("CARGO_MANIFEST_DIR"));
    }
}
