//! Measurement with a matrix: an operation with its options.

use std::any::Any;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};

use evenpath::spadd::SpaddMethod;
use evenpath::spgemm::SpgemmMethod;
use evenpath::spmv::{SpmvMethod, SpmvTransposedMethod};
use evenpath::{Csr, Layout, RealStorage, Storage};

use super::bench::{Bench, Measured};
use super::graphs::Algorithm;
use super::spadd::{self, Addend, SparseSum};
use super::spgemm::{self, Factors};
use super::spmv::{self, Product, Way};
use super::triangular::{self, Step, Triangular};
use super::{assembly, graphs, hisparse, masked, sddmm, spmm};
use crate::peers::{Operation, PeerScalar, PeerValue};
use crate::results::{Key, Op, Row, Shape};

/// An operation with its options.
#[derive(Debug, Clone)]
pub(crate) enum Case {
    /// y = αAx + βy, or with the transpose.
    Spmv(Product),
    /// C = AB with a dense B of this many columns.
    Spmm(usize),
    /// AB at the nonzeros of the matrix.
    Sddmm(SampledProduct),
    /// C = 1.5 A - 0.5 B.
    Spadd(SparseSum),
    /// C = AB of sparse matrices.
    Spgemm(SparseProduct),
    /// Products, sums and conversion with nodes of this many rows and columns: 32, 64, 128 or 256.
    Hisparse(usize),
    /// L ∘ (LL).
    Masked,
    /// An algorithm on a graph.
    Graphs(Algorithm),
    /// Assembly of finite elements.
    Assembly,
    /// An incomplete factorization, or a solve with a factor.
    Triangular(Triangular),
}

/// AB at the nonzeros of a matrix, for dense A and B.
#[derive(Debug, Clone)]
pub(crate) struct SampledProduct {
    /// Columns of A.
    pub(crate) columns: usize,
    /// The layouts of B; all by default.
    pub(crate) layouts: Vec<Layout>,
}

impl From<usize> for SampledProduct {
    fn from(columns: usize) -> Self {
        Self { columns, layouts: sddmm::LAYOUTS.into() }
    }
}

/// C = AB of sparse matrices.
#[derive(Debug, Clone)]
pub(crate) struct SparseProduct {
    /// A and B.
    pub(crate) factors: Factors,
    pub(crate) methods: Vec<SpgemmMethod>,
    /// Limit on the bytes of a product.
    pub(crate) memory_limit: Option<u64>,
}

/// The rows and columns of a node in the cases of the suite.
const NODE: usize = 128;

impl Case {
    /// The cases of an operation in the suite: what the library chooses.
    pub(crate) fn of_suite(op: Op) -> Vec<Self> {
        match op {
            Op::Spmv => vec![Self::Spmv(Product::direct(vec![Way::method(SpmvMethod::Auto)]))],
            Op::SpmvTransposed => {
                let modes = SpmvTransposedMethod::ALL.into_iter().map(Way::transposed);
                vec![Self::Spmv(Product::transposed(modes.collect()))]
            }
            Op::Spmm => vec![Self::Spmm(4), Self::Spmm(32)],
            Op::Sddmm => [32, 128].map(|columns| Self::Sddmm(columns.into())).into(),
            Op::Spadd => [Addend::Itself, Addend::Shifted].map(|addend| Self::Spadd(addend.into())).into(),
            Op::Spgemm => vec![Self::Spgemm(SparseProduct {
                factors: Factors::SquareOrOuter,
                methods: vec![SpgemmMethod::Auto],
                memory_limit: None,
            })],
            Op::Hisparse => vec![Self::Hisparse(NODE)],
            Op::Masked => vec![Self::Masked],
            Op::Graphs => Algorithm::ALL.map(Self::Graphs).into(),
            Op::Assembly => vec![Self::Assembly],
            Op::Triangular => Step::ALL.map(|step| Self::Triangular(step.into())).into(),
        }
    }

    /// The operation.
    pub(crate) fn op(&self) -> Op {
        match self {
            Self::Spmv(product) if product.operation == Operation::Transposed => Op::SpmvTransposed,
            Self::Spmv(_) => Op::Spmv,
            Self::Spmm(_) => Op::Spmm,
            Self::Sddmm(_) => Op::Sddmm,
            Self::Spadd(_) => Op::Spadd,
            Self::Spgemm(_) => Op::Spgemm,
            Self::Hisparse(_) => Op::Hisparse,
            Self::Masked => Op::Masked,
            Self::Graphs(_) => Op::Graphs,
            Self::Assembly => Op::Assembly,
            Self::Triangular(_) => Op::Triangular,
        }
    }

    /// Name that tells it from other cases of the operation; empty for the one of the suite, if that has only one.
    pub(crate) fn variant(&self) -> String {
        match self {
            Self::Spmv(product) => {
                let mut parts = self.ways();
                if Self::of_suite(self.op()).iter().any(|usual| usual.ways() == parts) {
                    parts.clear();
                }
                if product.factors != (1.0, 0.0) {
                    parts.push(format!("alpha {}, beta {}", product.factors.0, product.factors.1));
                }
                parts.join(", ")
            }
            Self::Spmm(columns) => format!("{columns} columns"),
            Self::Sddmm(SampledProduct { columns, layouts }) => match layouts[..] {
                [layout] => format!("{columns} columns, B {layout}"),
                _ => format!("{columns} columns"),
            },
            Self::Spadd(SparseSum { addend, coo }) => {
                let methods = coo.iter().map(SpaddMethod::to_string);
                iter::once(addend.name().to_owned()).chain(methods).collect::<Vec<_>>().join(", ")
            }
            Self::Spgemm(SparseProduct { factors, methods, memory_limit }) => {
                let mut parts = vec![factors.name().to_owned()];
                if methods[..] != [SpgemmMethod::Auto] {
                    parts.extend(methods.iter().map(SpgemmMethod::to_string));
                }
                parts.extend(memory_limit.map(|bytes| format!("at most {bytes} bytes")));
                parts.retain(|part| !part.is_empty());
                parts.join(", ")
            }
            Self::Hisparse(NODE) | Self::Masked | Self::Assembly => String::new(),
            Self::Graphs(algorithm) => algorithm.name().to_owned(),
            Self::Triangular(what) => what.name(),
            Self::Hisparse(node) => format!("nodes of {node}"),
        }
    }

    /// The names of the ways of a product with a vector.
    fn ways(&self) -> Vec<String> {
        match self {
            Self::Spmv(product) => product.ways.iter().map(|way| way.name().to_owned()).collect(),
            _ => Vec::new(),
        }
    }

    /// Its key for a matrix of this suite and name, and this value type.
    pub(crate) fn key(&self, suite: &str, matrix: &str, value: &str) -> Key {
        let (op, variant) = (self.op(), self.variant());
        Key { op, variant, suite: suite.into(), matrix: matrix.into(), value: value.into() }
    }

    /// Measures a canonical matrix. A failure, by an error or a panic, gives a row too.
    pub(crate) fn measure<V: PeerValue>(&self, bench: &Bench<'_>, key: Key, matrix: &Csr<V>) -> Row {
        row(key, matrix, || match self {
            Self::Spmv(product) => spmv::measure(bench, matrix, product),
            Self::Spmm(columns) => spmm::measure(bench, matrix, *columns),
            Self::Sddmm(product) => sddmm::measure(bench, matrix, product.columns, &product.layouts),
            Self::Spadd(SparseSum { addend, coo }) => {
                let b = addend.of(matrix).ok_or("the matrix is not square")?;
                spadd::measure(bench, (V::from_f64(1.5), matrix), (V::from_f64(-0.5), &b), coo)
            }
            Self::Spgemm(SparseProduct { factors, methods, memory_limit }) => {
                let (a, b) = factors.of(matrix)?;
                spgemm::measure(bench, (&a, &b), methods, *memory_limit)
            }
            Self::Hisparse(32) => hisparse::measure::<V, 32>(bench, matrix),
            Self::Hisparse(64) => hisparse::measure::<V, 64>(bench, matrix),
            Self::Hisparse(256) => hisparse::measure::<V, 256>(bench, matrix),
            Self::Hisparse(_) => hisparse::measure::<V, NODE>(bench, matrix),
            Self::Masked => masked::measure(bench, matrix),
            Self::Graphs(algorithm) => graphs::measure(bench, matrix, *algorithm),
            Self::Assembly => assembly::measure(bench, matrix),
            Self::Triangular(what) => triangular::measure(bench, matrix, what),
        })
    }

    /// Measures complex values, which only products with vectors and of sparse matrices have.
    pub(crate) fn measure_complex<V: PeerScalar>(&self, bench: &Bench<'_>, key: Key, matrix: &Csr<V>) -> Row {
        row(key, matrix, || match self {
            Self::Spmv(product) => spmv::measure_csr(bench, matrix, product),
            Self::Spgemm(SparseProduct { factors, methods, memory_limit }) => {
                let (a, b) = factors.of(matrix)?;
                spgemm::measure_whole(bench, (&a, &b), methods, *memory_limit)
            }
            _ => Err(format!("{} takes no values of {}", self.op(), V::NAME).into()),
        })
    }

    /// Measures types that only products with dense matrices have, and that peers do not have.
    pub(crate) fn measure_half<S: RealStorage>(&self, bench: &Bench<'_>, key: Key, matrix: &Csr<S>) -> Row {
        row(key, matrix, || match self {
            Self::Spmm(columns) => spmm::measure_own(bench, matrix, *columns),
            _ => Err(format!("{} takes no values of {}", self.op(), S::NAME).into()),
        })
    }
}

/// The row of what is measured, or of why it cannot be.
pub(crate) fn row<S: Storage>(key: Key, matrix: &Csr<S>, measure: impl FnOnce() -> Measured) -> Row {
    let shape = Some(Shape { rows: matrix.nrows(), cols: matrix.ncols(), nnz: matrix.nnz() });
    // Unwind safe: the measuring functions keep no state that a panic could corrupt.
    match catch_unwind(AssertUnwindSafe(measure)) {
        Ok(Ok(figures)) => Row::measured(key, shape, figures),
        Ok(Err(error)) => Row::failed(key, shape, error.to_string()),
        Err(panic) => Row::failed(key, shape, format!("panic: {}", panic_text(panic.as_ref()))),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::{Kind, generate};

    use super::*;
    use crate::peers::Peers;

    fn rows(device: &Device, kind: &str, most_products: u64) -> Vec<Row> {
        let mut matrix: Csr<f64> = generate(kind.parse::<Kind>().unwrap(), 1).unwrap();
        matrix.canonicalize();
        let peers = Peers::default();
        let bench = Bench { most_products, ..Bench::unlimited(device, &peers, 1) };
        let cases = Op::OF_SUITE.into_iter().flat_map(Case::of_suite);
        cases.map(|case| case.measure(&bench, case.key("-", kind, "f64"), &matrix)).collect()
    }

    #[test]
    fn every_operation_gives_a_right_row_on_every_device() {
        let simulated = Device::simulated(SimulatedOptions::default());
        for device in [Device::cpu(), simulated] {
            for kind in ["stencil5:8", "dense:3x40"] {
                let rows = rows(&device, kind, u64::MAX);
                assert_eq!(rows.len(), 10);
                for row in rows {
                    let figures = row.figures().unwrap_or_else(|| panic!("{row:?}"));
                    assert!(
                        figures.verified == Some(true) && figures.ms.is_some_and(|ms| ms > 0.0),
                        "{row:?}"
                    );
                    assert!(figures.work > 0 && figures.operations > 0 && figures.bytes > 0, "{row:?}");
                }
            }
        }
    }

    #[test]
    fn operations_on_graphs_and_grids_give_right_rows_on_every_device() {
        let simulated = Device::simulated(SimulatedOptions::default());
        for device in [Device::cpu(), simulated] {
            let mut matrix: Csr<f64> = generate("stencil27:5".parse::<Kind>().unwrap(), 1).unwrap();
            matrix.canonicalize();
            let peers = Peers::default();
            let bench = Bench::unlimited(&device, &peers, 1);
            for case in
                [Op::Masked, Op::Graphs, Op::Assembly, Op::Triangular].into_iter().flat_map(Case::of_suite)
            {
                let row = case.measure(&bench, case.key("-", "stencil27:5", "f64"), &matrix);
                assert!(row.figures().is_some_and(|figures| figures.verified == Some(true)), "{row:?}");
            }
        }
    }

    #[test]
    fn products_that_are_too_many_are_not_tried() {
        let rows = rows(&Device::cpu(), "dense:10x10", 999);
        let failures: Vec<_> = rows.iter().filter_map(|row| Some((row.key.op, row.failure()?))).collect();
        assert_eq!(failures, [(Op::Spgemm, "1000 products are more than 999".to_owned())]);
    }

    #[test]
    fn cases_of_the_suite_are_told_apart_and_others_from_them() {
        let variants = |op| Case::of_suite(op).iter().map(Case::variant).collect::<Vec<_>>();
        assert_eq!(variants(Op::Spmv), [""]);
        assert_eq!(variants(Op::SpmvTransposed), [""]);
        assert_eq!(variants(Op::Spmm), ["4 columns", "32 columns"]);
        assert_eq!(variants(Op::Sddmm), ["32 columns", "128 columns"]);
        let by_rows = SampledProduct { columns: 4, layouts: vec![Layout::RowMajor] };
        assert_eq!(Case::Sddmm(by_rows).variant(), "4 columns, B row-major");
        assert_eq!(
            (variants(Op::Spgemm), variants(Op::Hisparse)),
            (vec![String::new()], vec![String::new()])
        );
        let flat = Case::Spmv(Product::direct(vec![Way::method(SpmvMethod::Flat)]));
        assert_eq!((flat.variant().as_str(), Case::Hisparse(32).variant().as_str()), ("flat", "nodes of 32"));
    }
}
