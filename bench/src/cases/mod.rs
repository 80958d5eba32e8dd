//! Measures every operation in the same way: a matrix in, a [`Row`] out.

mod hisparse;
mod spadd;
mod spgemm;
mod spmm;
mod spmv;

pub(crate) use spmm::CaseValue;

use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use evenpath::{Csr, Device};
use serde::{Deserialize, Serialize};

use crate::measure::Repetitions;
use crate::peers::PeerValue;
use crate::results::{Figures, Key, Row, Shape};
use crate::operations::spmv::Peers;

/// An operation.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, clap::ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Op {
    /// y = Ax.
    Spmv,
    /// y = Aᵀx.
    SpmvTransposed,
    /// C = AB, B dense.
    Spmm,
    /// C = 1.5 A - 0.5 B of sparse matrices.
    Spadd,
    /// `C = AA`, or `AAᵀ` if A is not square.
    Spgemm,
    /// HiSparse: products, sums and conversion.
    Hisparse,
}

impl Op {
    /// All operations.
    pub(crate) const ALL: [Self; 6] =
        [Self::Spmv, Self::SpmvTransposed, Self::Spmm, Self::Spadd, Self::Spgemm, Self::Hisparse];

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Spmv => "spmv",
            Self::SpmvTransposed => "spmv-transposed",
            Self::Spmm => "spmm",
            Self::Spadd => "spadd",
            Self::Spgemm => "spgemm",
            Self::Hisparse => "hisparse",
        }
    }

    /// Its cases.
    pub(crate) fn variants(self) -> &'static [&'static str] {
        match self {
            Self::Spmv | Self::SpmvTransposed | Self::Spgemm | Self::Hisparse => &[""],
            Self::Spmm => spmm::VARIANTS,
            Self::Spadd => spadd::VARIANTS,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where and how to measure.
pub(crate) struct Bench<'b> {
    /// The device.
    pub(crate) device: &'b Device,
    /// The copy rate of the device, in GB/s.
    pub(crate) copy_gbps: f64,
    /// The libraries to compare with.
    pub(crate) peers: &'b Peers,
    /// How many runs to time.
    pub(crate) repetitions: Repetitions,
    /// The maximum number of products; larger sparse products are skipped.
    pub(crate) most_products: u64,
}

/// A canonical matrix with its names for rows.
pub(crate) struct Named<'m, V: PeerValue> {
    /// The suite.
    pub(crate) suite: &'m str,
    /// Its name.
    pub(crate) name: &'m str,
    /// Whether it is generated.
    pub(crate) is_generated: bool,
    /// The matrix.
    pub(crate) matrix: &'m Csr<V>,
}

/// The result of a case: figures, or why there are none.
type Measured = Result<Figures, Box<dyn Error>>;

impl Bench<'_> {
    /// Measures a case of an operation. A failure, by an error or a panic, gives a row too.
    pub(crate) fn measure<V: CaseValue>(&self, op: Op, variant: &str, named: &Named<'_, V>) -> Row {
        let key = Key {
            op,
            variant: variant.into(),
            suite: named.suite.into(),
            matrix: named.name.into(),
            value: V::NAME.into(),
        };
        let matrix = named.matrix;
        let shape = Some(Shape { rows: matrix.rows(), cols: matrix.cols(), nnz: matrix.nnz() });
        // Unwind safe: the measuring functions keep no state that a panic could corrupt.
        let measured = catch_unwind(AssertUnwindSafe(|| match op {
            Op::Spmv => spmv::measure(self, named, crate::peers::Operation::Direct),
            Op::SpmvTransposed => spmv::measure(self, named, crate::peers::Operation::Transposed),
            Op::Spmm => spmm::measure(self, variant, named),
            Op::Spadd => spadd::measure(self, variant, named),
            Op::Spgemm => spgemm::measure(self, named),
            Op::Hisparse => hisparse::measure(self, named),
        }));
        match measured {
            Ok(Ok(figures)) => Row::measured(key, shape, figures),
            Ok(Err(error)) => Row::failed(key, shape, error.to_string()),
            Err(panic) => Row::failed(key, shape, format!("panic: {}", panic_text(panic.as_ref()))),
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::{Kind, generate};

    use super::*;

    fn rows(device: &Device, kind: &str, most_products: u64) -> Vec<Row> {
        let mut matrix: Csr<f64> = generate(kind.parse::<Kind>().unwrap(), 1).unwrap();
        matrix.canonicalize();
        let bench =
            Bench { device, copy_gbps: 1.0, peers: &Peers::default(), repetitions: 1.into(), most_products };
        let named = Named { suite: "-", name: kind, is_generated: true, matrix: &matrix };
        let cases = Op::ALL.into_iter().flat_map(|op| op.variants().iter().map(move |variant| (op, variant)));
        cases.map(|(op, variant)| bench.measure(op, variant, &named)).collect()
    }

    #[test]
    fn every_operation_gives_a_right_row_on_every_device() {
        let simulated = Device::simulated(SimulatedOptions::default());
        for device in [Device::cpu(), simulated] {
            for kind in ["stencil5:8", "dense:3x40"] {
                let rows = rows(&device, kind, u64::MAX);
                assert_eq!(rows.len(), 8);
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
    fn products_that_are_too_many_are_not_tried() {
        let rows = rows(&Device::cpu(), "dense:10x10", 999);
        let failures: Vec<_> = rows.iter().filter_map(|row| Some((row.key.op, row.failure()?))).collect();
        assert_eq!(failures, [(Op::Spgemm, "1000 products are more than 999".to_owned())]);
    }

    #[test]
    fn names_are_those_of_the_command_line_and_of_the_files() {
        for op in Op::ALL {
            let value = <Op as clap::ValueEnum>::to_possible_value(&op).unwrap();
            assert_eq!((value.get_name(), serde_json::to_value(op).unwrap()), (op.name(), op.name().into()));
        }
    }
}
