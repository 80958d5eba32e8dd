//! The program's commands.

mod first_use;
mod hisparse;
mod matrix_market;
mod primitives;
mod report;
mod selection;
mod spadd;
mod spgemm;
mod spmm;
mod spmv;
mod study;
mod suite;

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
    /// The first call of each operation on a new device: how long its kernels take to compile.
    FirstUse(first_use::Arguments),
    /// HiSparse beside CSR and cuSPARSE, over suites of matrices: bytes, products, sums, conversion.
    Hisparse(hisparse::Arguments),
    /// How fast Matrix Market files are read: bytes of text a second, on one thread and on all.
    MatrixMarket(matrix_market::Arguments),
    /// Scans, radix sorts, merges and set operations by size and type, beside other libraries' measurements.
    Primitives(primitives::Arguments),
    /// A page of tables and plots, made of files of results.
    Report(report::Arguments),
    /// Sums of sparse matrices, beside cuSPARSE, over suites of matrices: A + A, A + Aᵀ, A + a shifted A.
    Spadd(spadd::Arguments),
    /// Sparse matrix times sparse matrix, beside cuSPARSE, over generated matrices, suites or a folder.
    Spgemm(spgemm::Arguments),
    /// Sparse matrix times dense matrix, beside cuSPARSE, over generated matrices, columns, layouts and types.
    Spmm(spmm::Arguments),
    /// Sparse matrix times dense vector, over generated matrices or a folder of Matrix Market files.
    Spmv(spmv::Arguments),
    /// The sources' experiments, with evenpath's figures beside the published ones.
    Study(study::Arguments),
    /// Every operation over suites of matrices, into a file of results that an interrupted run goes on with.
    Suite(suite::Arguments),
}

/// Runs the program: reads the command line, measures, and gives the exit code.
pub fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::FirstUse(arguments) => first_use::run(&arguments),
        Command::Hisparse(arguments) => hisparse::run(&arguments),
        Command::MatrixMarket(arguments) => matrix_market::run(&arguments),
        Command::Primitives(arguments) => primitives::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Spadd(arguments) => spadd::run(&arguments),
        Command::Spgemm(arguments) => spgemm::run(&arguments),
        Command::Spmm(arguments) => spmm::run(&arguments),
        Command::Spmv(arguments) => spmv::run(&arguments),
        Command::Study(arguments) => study::run(&arguments),
        Command::Suite(arguments) => suite::run(&arguments),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
