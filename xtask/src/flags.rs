//! The flags for both compilers of the kernels. `nvvm/build.rs` includes this file.

/// Flags for every target.
///
/// * `JumpThreading` is off because it would duplicate a barrier into both arms of a branch.
/// * One codegen unit, so that everything can be inlined.
///
/// No `-Cllvm-args`: `rustc_codegen_nvvm` parses them as options of libNVVM, and panics at those of LLVM.
pub const SHARED: [&str; 2] = ["-Zmir-enable-passes=-JumpThreading", "-Ccodegen-units=1"];

/// The flags for one target, given its number, such as 90 for `sm_90`.
pub fn of_target(number: u32) -> Vec<&'static str> {
    let mut flags = SHARED.to_vec();
    if number >= 80 {
        // The target has instructions for asynchronous copies from global to shared memory.
        flags.push("--cfg=evenpath_async_copy");
    }
    flags
}
