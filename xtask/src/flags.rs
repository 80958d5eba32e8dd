//! The flags that both compilers of the kernels get. `nvvm/build.rs` takes this file as it is.

/// For every target.
///
/// * `JumpThreading` would duplicate a barrier into both arms of a branch.
/// * An array stays in registers only if the loops over it are unrolled.
/// * One unit of code generation, so that everything can be inlined.
pub const SHARED: [&str; 3] =
    ["-Zmir-enable-passes=-JumpThreading", "-Cllvm-args=-unroll-threshold=2000", "-Ccodegen-units=1"];

/// For a target by its number, such as 90 for `sm_90`.
pub fn of_target(number: u32) -> Vec<&'static str> {
    let mut flags = SHARED.to_vec();
    if number >= 80 {
        // It has instructions that copy from global to shared memory while the thread goes on.
        flags.push("--cfg=evenpath_async_copy");
    }
    flags
}
