//! Runs a program from command line to exit code.

use std::error::Error;
use std::io::{self, Write, stderr, stdout};
use std::process::ExitCode;

use clap::Parser;

use crate::report::Report;

/// Exit code for a wrong result.
const FAIL: u8 = 1;
/// Exit code if there is no result, because of bad input or a missing device.
const NO_RESULT: u8 = 2;

/// Parses the command line, runs the program, and prints its report. The exit code is 0 if the result is correct, 1 if
/// it is wrong, and 2 if there is none; then one line on stderr explains why.
pub fn run<A: Parser>(program: impl FnOnce(&A) -> Result<Report, Box<dyn Error>>) -> ExitCode {
    let arguments = match A::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => return no_result(&first_paragraph(&error.to_string())),
        Err(help) => return written(help.print()),
    };
    finish(program(&arguments))
}

/// Prints the report of a program, or its error. Returns the exit code as [`run`] does.
pub fn finish(result: Result<Report, Box<dyn Error>>) -> ExitCode {
    conclude(result, &mut stdout())
}

fn conclude(result: Result<Report, Box<dyn Error>>, out: &mut impl Write) -> ExitCode {
    match result {
        Ok(report) => match (writeln!(out, "{report}"), report.passed()) {
            (Ok(()), false) => ExitCode::from(FAIL),
            (result, _) => written(result),
        },
        Err(error) => no_result(&format!("error: {error}")),
    }
}

fn written(result: io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => no_result(&format!("error: cannot write: {error}")),
    }
}

fn no_result(message: &str) -> ExitCode {
    // If stderr is closed, the error cannot be reported.
    let _ = writeln!(stderr(), "{message}");
    ExitCode::from(NO_RESULT)
}

/// The text up to the first empty line, as one line.
fn first_paragraph(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    lines.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_follows_the_verdict() {
        let mut out = Vec::new();
        assert_eq!(conclude(Ok(Report::new(false, Ok(()))), &mut out), ExitCode::from(0));
        assert_eq!(conclude(Ok(Report::new(false, Err("wrong".into()))), &mut out), ExitCode::from(1));
        assert_eq!(conclude(Err("no input".into()), &mut out), ExitCode::from(2));
        assert_eq!(out, b"PASS\nFAIL: wrong\n");
    }

    #[test]
    fn first_paragraph_is_one_line() {
        assert_eq!(
            first_paragraph("error: no\n  [there is: yes]\n\nUsage: ..."),
            "error: no [there is: yes]"
        );
    }
}
