//! The measuring program of evenpath.

mod matrix_market;
mod measure;

use std::process::ExitCode;

/// Anything that ends the program with a message.
type Failure = Box<dyn std::error::Error>;

const USAGE: &str = "\
usage: evenpath-bench SUITE [OPTION]...

suites:
  matrix-market  how fast Matrix Market files are read

evenpath-bench SUITE --help lists a suite's options.
";

fn main() -> ExitCode {
    match run(lexopt::Parser::from_env()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("evenpath-bench: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: lexopt::Parser) -> Result<(), Failure> {
    use lexopt::Arg::{Long, Short, Value};
    match arguments.next()? {
        Some(Value(suite)) if suite == "matrix-market" => matrix_market::run(arguments),
        Some(Long("help") | Short('h')) => {
            print!("{USAGE}");
            Ok(())
        }
        Some(other) => Err(other.unexpected().into()),
        None => Err(USAGE.into()),
    }
}
