//! The measuring program of evenpath. All code is in the library, so that it is compiled once.

use std::process::ExitCode;

fn main() -> ExitCode {
    evenpath_bench::main()
}
