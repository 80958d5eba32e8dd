//! The command line of the program.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use super::{
    csrmv, distributed, first_use, graphs, hisparse_tree, launch_cost, matrix_market, operations, pagerank,
    primitives, report, row_sorting, scale, solve, study,
};
use crate::program;

/// Measures evenpath.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Assembly of matrices of trilinear hexahedra, from elements and from triplets: plans, and new values.
    Assembly(operations::Assembly),
    /// y = αAx + βy by merge path with and without a plan, by the default plan and in HYB, beside cuSPARSE or MKL: one line of CSV per
    /// matrix.
    Csrmv(csrmv::Arguments),
    /// Products over ranks of this machine: strong and weak scaling.
    Distributed(distributed::Arguments),
    /// The first call of each operation on a new device: how long its kernels take to compile.
    FirstUse(first_use::Arguments),
    /// One matrix in every format: bytes, padding, and the time of y = Ax.
    Formats(operations::Formats),
    /// Searches, shortest paths, components, triangles, core numbers and ranks: whole calls, over generated matrices, suites or a
    /// folder.
    Graphs(graphs::Arguments),
    /// HiSparse beside CSR and cuSPARSE, over suites of matrices: bytes, products, sums, conversion.
    Hisparse(operations::Hisparse),
    /// The HiSparse tree of one matrix: nodes and bytes by level, products and sums, and a picture.
    HisparseTree(hisparse_tree::Arguments),
    /// Time that one call of each operation takes the host, and the part of that in the driver; the same in a graph.
    LaunchCost(launch_cost::Arguments),
    /// Products at the entries of a mask, beside the whole product: L ∘ (LL) for the entries below the diagonals of graphs.
    Masked(operations::Masked),
    /// The speed of reading Matrix Market files: bytes of text per second, on one thread and on all.
    MatrixMarket(matrix_market::Arguments),
    /// PageRank by the power method: steps, time per step, and a plot of how it converges.
    Pagerank(pagerank::Arguments),
    /// Scans, radix sorts, merges and set operations by size and type, beside other libraries' measurements.
    Primitives(primitives::Arguments),
    /// A page of tables and plots, generated from files of results.
    Report(report::Arguments),
    /// Sorting rows by length on one matrix: one thread per row with and without it, and the longest row of each warp.
    RowSorting(row_sorting::Arguments),
    /// Elements that y = Ax moves on 1 to 4096 ranks, and the time that a model predicts, without running it.
    Scale(scale::Arguments),
    /// Products of dense matrices at the nonzeros of a sparse one, beside cuSPARSE, over generated matrices, suites or a folder.
    Sddmm(operations::Sddmm),
    /// Solutions of Ax = b by preconditioners and methods: times of set-ups, of new values and of steps, true residuals, and a plot.
    Solve(solve::Arguments),
    /// Sums of sparse matrices, beside cuSPARSE, over suites of matrices: A + A, A + Aᵀ, A + a shifted A.
    Spadd(operations::Spadd),
    /// Sparse matrix times sparse matrix, beside cuSPARSE, over generated matrices, suites or a folder.
    Spgemm(operations::Spgemm),
    /// Sparse matrix times dense matrix, beside cuSPARSE, over generated matrices, columns, layouts and types.
    Spmm(operations::Spmm),
    /// Sparse matrix times dense vector, over generated matrices or a folder of Matrix Market files.
    Spmv(operations::Spmv),
    /// The experiments of publications, with evenpath's figures beside the published ones.
    Study(study::Arguments),
    /// Every operation over suites of matrices, written to a file of results; an interrupted run can be resumed.
    Suite(operations::Suite),
    /// Incomplete factorizations without fill, and solves with their factors, beside cuSPARSE: analyses and runs, over generated
    /// matrices, suites or a folder.
    Triangular(operations::Triangles),
}

/// Runs the program: parses the command line, measures, and returns the exit code.
pub fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::HisparseTree(arguments) => return program::finish(hisparse_tree::run(&arguments)),
        Command::Pagerank(arguments) => return program::finish(pagerank::run(&arguments)),
        Command::RowSorting(arguments) => return program::finish(row_sorting::run(&arguments)),
        Command::Solve(arguments) => return program::finish(solve::run(&arguments)),
        Command::Csrmv(arguments) => csrmv::run(&arguments),
        Command::Distributed(arguments) => distributed::run(&arguments),
        Command::FirstUse(arguments) => first_use::run(&arguments),
        Command::Assembly(arguments) => operations::run(&arguments),
        Command::Formats(arguments) => operations::run(&arguments),
        Command::Graphs(arguments) => graphs::run(&arguments),
        Command::LaunchCost(arguments) => launch_cost::run(&arguments),
        Command::Hisparse(arguments) => operations::run(&arguments),
        Command::Masked(arguments) => operations::run(&arguments),
        Command::MatrixMarket(arguments) => matrix_market::run(&arguments),
        Command::Primitives(arguments) => primitives::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Scale(arguments) => scale::run(&arguments),
        Command::Sddmm(arguments) => operations::run(&arguments),
        Command::Spadd(arguments) => operations::run(&arguments),
        Command::Spgemm(arguments) => operations::run(&arguments),
        Command::Spmm(arguments) => operations::run(&arguments),
        Command::Spmv(arguments) => operations::run(&arguments),
        Command::Study(arguments) => study::run(&arguments),
        Command::Suite(arguments) => operations::run(&arguments),
        Command::Triangular(arguments) => operations::run(&arguments),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
