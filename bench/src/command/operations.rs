//! The commands that measure operations over matrices.

use std::collections::BTreeSet;
use std::error::Error;
use std::process::ExitCode;

use evenpath::Layout;
use evenpath::device::DeviceKind;
use evenpath::ell::PaddingLimit;
use evenpath::spadd::SpaddMethod;
use evenpath::spgemm::SpgemmMethod;
use evenpath::spmv::{SpmvMethod, SpmvTransposedMethod};
use evenpath::triangular::TriangularMethod;

use super::options::Options;
use crate::operations::spadd::{Addend, SparseSum};
use crate::operations::spgemm::Factors;
use crate::operations::spmv::{Product, Way};
use crate::operations::triangular::{Step, Triangular};
use crate::operations::{Case, SampledProduct, SparseProduct};
use crate::peers::Operation;
use crate::results::Op;

/// Matrices for products with dense matrices: every structure that matters for speed.
const FOR_SPMM: [&str; 7] = [
    "stencil5:1000",
    "stencil27:80",
    "block-fem:30000x3",
    "uniform:500000",
    "power-law:500000",
    "rmat:17",
    "lp:2000",
];

/// Matrices for sparse products: every structure that matters for speed, small enough.
const FOR_SPGEMM: [&str; 8] = [
    "stencil5:1000",
    "stencil27:80",
    "block-fem:10000x3",
    "fem:60000",
    "uniform:250000",
    "power-law:200000",
    "rmat:16",
    "lp:1000",
];

/// Graphs: every structure that matters for speed.
pub(super) const GRAPHS: [&str; 4] = ["power-law:200000", "rmat:16", "uniform:1000000", "fem:60000"];

/// Grids of nodes.
const FOR_ASSEMBLY: [&str; 2] = ["stencil27:50", "stencil27:100"];

/// Matrices of systems: many levels and few, rows of equal and of very different lengths.
const FOR_TRIANGULAR: [&str; 8] = [
    "stencil5:1000",
    "stencil27:80",
    "block-fem:30000x3",
    "fem:60000",
    "uniform:250000",
    "power-law:200000",
    "rmat:16",
    "empty-rows:1000000",
];

/// Cases that are measured over matrices.
pub(crate) trait Cases {
    /// The kinds of the matrices if none are given; those of the suite `generated` if empty.
    const KINDS: &[&str] = &[];

    /// The options that all commands have.
    fn options(&self) -> &Options;

    /// The cases of a device.
    ///
    /// # Errors
    ///
    /// If one does not exist, as text.
    fn cases(&self, device: DeviceKind) -> Result<Vec<Case>, String>;
}

/// Measures all cases.
pub(crate) fn run<C: Cases>(arguments: &C) -> Result<ExitCode, Box<dyn Error>> {
    arguments.options().run(C::KINDS, |device| arguments.cases(device))
}

/// Implements [`Cases`] by an expression for the cases.
macro_rules! cases {
    ($arguments:ident $(over $kinds:ident)?, |$this:ident, $device:pat_param| $cases:expr) => {
        impl Cases for $arguments {
            $(const KINDS: &[&str] = &$kinds;)?

            fn options(&self) -> &Options {
                &self.options
            }

            fn cases(&self, $device: DeviceKind) -> Result<Vec<Case>, String> {
                let $this = self;
                $cases
            }
        }
    };
}

#[derive(clap::Args)]
pub(crate) struct Formats {
    /// Limit on padding: a padded format may take this many times the memory of the nonzeros.
    #[arg(long, value_name = "TIMES", default_value_t = 3)]
    padding: u32,
    #[command(flatten)]
    options: Options,
}

cases!(Formats, |this, _| {
    let ways = Way::formats(PaddingLimit::Times(this.padding));
    Ok(vec![Case::Spmv(Product::direct(ways))])
});

#[derive(clap::Args)]
pub(crate) struct Hisparse {
    /// Rows and columns of a node: 32, 64, 128 or 256.
    #[arg(long, value_delimiter = ',', value_name = "D", default_values = ["128"], value_parser = ["32", "64", "128", "256"])]
    node: Vec<String>,
    #[command(flatten)]
    options: Options,
}

cases!(Hisparse, |this, _| {
    Ok(this.node.iter().filter_map(|node| node.parse().ok()).map(Case::Hisparse).collect())
});

#[derive(clap::Args)]
pub(crate) struct Spadd {
    /// Matrix added to each matrix.
    #[arg(long, value_delimiter = ',', default_values = Addend::ALL.map(Addend::name))]
    addend: Vec<Addend>,
    /// Methods of adding the matrices in COO, by name, to measure beside the sum of CSR.
    #[arg(long, value_delimiter = ',', value_name = "METHOD")]
    coo: Vec<SpaddMethod>,
    #[command(flatten)]
    options: Options,
}

cases!(Spadd, |this, _| {
    let sum = |&addend: &Addend| Case::Spadd(SparseSum { addend, coo: this.coo.clone() });
    Ok(this.addend.iter().map(sum).collect())
});

#[derive(clap::Args)]
pub(crate) struct Spmm {
    /// Columns of B and C.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 8, 16, 32, 64, 128, 256, 512])]
    columns: Vec<usize>,
    #[command(flatten)]
    options: Options,
}

cases!(Spmm over FOR_SPMM, |this, _| Ok(this.columns.iter().copied().map(Case::Spmm).collect()));

#[derive(clap::Args)]
pub(crate) struct Sddmm {
    /// Columns of A and rows of B.
    #[arg(long, value_delimiter = ',', default_values_t = [32, 128])]
    columns: Vec<usize>,
    /// Layouts of B.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["columns", "rows"])]
    layout: Vec<LayoutName>,
    #[command(flatten)]
    options: Options,
}

/// A layout of a dense matrix.
#[derive(Clone, Copy, clap::ValueEnum)]
enum LayoutName {
    /// Row after row.
    Rows,
    /// Column after column.
    Columns,
}

cases!(Sddmm over FOR_SPMM, |this, _| {
    let layouts = this.layout.iter().map(|layout| match layout {
        LayoutName::Rows => Layout::RowMajor,
        LayoutName::Columns => Layout::ColumnMajor,
    });
    let layouts: Vec<Layout> = layouts.collect();
    let case = |&columns: &usize| Case::Sddmm(SampledProduct { columns, layouts: layouts.clone() });
    Ok(this.columns.iter().map(case).collect())
});

#[derive(clap::Args)]
pub(crate) struct Masked {
    #[command(flatten)]
    options: Options,
}

cases!(Masked over GRAPHS, |_this, _| Ok(vec![Case::Masked]));

#[derive(clap::Args)]
pub(crate) struct Assembly {
    #[command(flatten)]
    options: Options,
}

cases!(Assembly over FOR_ASSEMBLY, |_this, _| Ok(vec![Case::Assembly]));

#[derive(clap::Args)]
pub(crate) struct Triangles {
    /// Steps to measure.
    #[arg(long, value_enum, value_delimiter = ',', default_values = Step::ALL.map(Step::name))]
    step: Vec<Step>,
    /// Methods of solves, by name.
    #[arg(long, value_delimiter = ',', default_values_t = [TriangularMethod::Auto])]
    method: Vec<TriangularMethod>,
    #[command(flatten)]
    options: Options,
}

cases!(Triangles over FOR_TRIANGULAR, |this, _| {
    let case = |&step: &Step| Case::Triangular(Triangular { step, methods: this.method.clone() });
    Ok(this.step.iter().map(case).collect())
});

/// Exit code: 0 if everything was measured, including recorded failures; 1 if a result is wrong, or nothing could be
/// measured; 3 if cases are left, which the same command then resumes from its file.
#[derive(clap::Args)]
pub(crate) struct Suite {
    /// The operations to measure.
    #[arg(long, value_delimiter = ',', default_values = Op::OF_SUITE.map(Op::name))]
    op: Vec<Op>,
    #[command(flatten)]
    options: Options,
}

cases!(Suite, |this, _| {
    let ops = Op::ALL.into_iter().filter(|op| this.op.contains(op));
    Ok(ops.flat_map(Case::of_suite).collect())
});

#[derive(clap::Args)]
pub(crate) struct Spgemm {
    /// Methods, by name.
    #[arg(long, value_delimiter = ',', default_values_t = SpgemmMethod::ALL.into_iter())]
    method: Vec<SpgemmMethod>,
    /// Which product. [default: square, or outer if the matrix is not square]
    #[arg(long, value_enum)]
    product: Option<ProductKind>,
    /// Limit on the device memory of a product, in bytes. [default: nine tenths of the free memory]
    #[arg(long, value_name = "BYTES")]
    memory_limit: Option<u64>,
    #[command(flatten)]
    options: Options,
}

/// Factors of the product.
#[derive(Clone, Copy, clap::ValueEnum)]
enum ProductKind {
    /// A·A.
    Square,
    /// A·Aᵀ.
    Outer,
    /// Aᵀ·A.
    Inner,
    /// A·P and Pᵀ·(A·P), the coarse matrix of algebraic multigrid; P has aggregates of four neighboring unknowns.
    Galerkin,
}

cases!(Spgemm over FOR_SPGEMM, |this, _| {
    let factors: &[Factors] = match this.product {
        None => &[Factors::SquareOrOuter],
        Some(ProductKind::Square) => &[Factors::Square],
        Some(ProductKind::Outer) => &[Factors::Outer],
        Some(ProductKind::Inner) => &[Factors::Inner],
        Some(ProductKind::Galerkin) => &[Factors::Prolonged, Factors::Coarse],
    };
    let case = |&factors: &Factors| {
        let (methods, memory_limit) = (this.method.clone(), this.memory_limit);
        Case::Spgemm(SparseProduct { factors, methods, memory_limit })
    };
    Ok(factors.iter().map(case).collect())
});

#[derive(clap::Args)]
pub(crate) struct Spmv {
    /// Methods by name, or `all` of the device, and then the choice is judged beside them; `may-copy`, the choice among those that may
    /// copy; `direct`, a product without a plan;
    /// `bsr`, BSR with the block size that takes the fewest bytes, `bsr-3` with blocks of 3 x 3; a
    /// name with `+plan`, planning for each product; with the transpose, modes.
    /// [default: auto; all modes]
    #[arg(long, value_delimiter = ',')]
    method: Vec<String>,
    /// Multiply with the transposed matrices: evenpath in its modes, the peers without forming the transpose.
    #[arg(long)]
    transposed: bool,
    #[command(flatten)]
    options: Options,
}

cases!(Spmv, |this, device| {
    let operation = if this.transposed { Operation::Transposed } else { Operation::Direct };
    let mut ways = Vec::new();
    for name in &this.method {
        match name.as_str() {
            "all" if this.transposed => ways.extend(SpmvTransposedMethod::ALL.map(Way::transposed)),
            "all" => {
                let methods = SpmvMethod::ALL.iter().copied();
                ways.extend(methods.filter(|method| method.runs_on(device)).map(Way::method));
            }
            name => ways.push(Way::by_name(name, operation)?),
        }
    }
    let mut names = BTreeSet::new();
    ways.retain(|way| names.insert(way.name().to_owned()));
    if ways.is_empty() && this.transposed {
        ways.extend(SpmvTransposedMethod::ALL.map(Way::transposed));
    } else if ways.is_empty() {
        ways.push(Way::method(SpmvMethod::Auto));
    }
    Ok(vec![Case::Spmv(Product { operation, ..Product::direct(ways) })])
});
