//! The measuring program of evenpath.

mod command;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures evenpath.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// HiSparse beside CSR and cuSPARSE, over suites of matrices: bytes, products, sums, conversion.
    Hisparse(command::hisparse::Arguments),
    /// How fast Matrix Market files are read: bytes of text a second, on one thread and on all.
    MatrixMarket(command::matrix_market::Arguments),
    /// Scans, radix sorts, merges and set operations by size and type, beside other libraries' measurements.
    Primitives(command::primitives::Arguments),
    /// A page of tables and plots, made of files of results.
    Report(command::report::Arguments),
    /// Sums of sparse matrices, beside cuSPARSE, over suites of matrices: A + A, A + Aᵀ, A + a shifted A.
    Spadd(command::spadd::Arguments),
    /// Sparse matrix times sparse matrix, beside cuSPARSE, over generated matrices, suites or a folder.
    Spgemm(command::spgemm::Arguments),
    /// Sparse matrix times dense matrix, beside cuSPARSE, over generated matrices, columns, layouts and types.
    Spmm(command::spmm::Arguments),
    /// Sparse matrix times dense vector, over generated matrices or a folder of Matrix Market files.
    Spmv(command::spmv::Arguments),
    /// The sources' experiments, with evenpath's figures beside the published ones.
    Study(command::study::Arguments),
    /// Every operation over suites of matrices, into a file of results that an interrupted run goes on with.
    Suite(command::suite::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Hisparse(arguments) => command::hisparse::run(&arguments),
        Command::MatrixMarket(arguments) => command::matrix_market::run(&arguments),
        Command::Primitives(arguments) => command::primitives::run(&arguments),
        Command::Report(arguments) => command::report::run(&arguments),
        Command::Spadd(arguments) => command::spadd::run(&arguments),
        Command::Spgemm(arguments) => command::spgemm::run(&arguments),
        Command::Spmm(arguments) => command::spmm::run(&arguments),
        Command::Spmv(arguments) => command::spmv::run(&arguments),
        Command::Study(arguments) => command::study::run(&arguments),
        Command::Suite(arguments) => command::suite::run(&arguments),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
