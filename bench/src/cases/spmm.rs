use std::collections::BTreeMap;

use evenpath::error::OpError;
use evenpath::spmm::SpmmPlanInfo;
use evenpath::{Csr, Layout};

use super::{Bench, Measured, Named};
use crate::input::random_vector;
use crate::measure::{Measurement, Timing, median};
use crate::peers::PeerValue;
use crate::peers::cusparse::{self, Cusparse};
use crate::results::{Contender, Figures, OWN_NAME};
use crate::operations::spmm;

/// Columns of B and C.
pub(super) const VARIANTS: &[&str] = &["4 columns", "32 columns"];

const LAYOUTS: [(Layout, cusparse::Layout); 2] =
    [(Layout::RowMajor, cusparse::Layout::RowMajor), (Layout::ColumnMajor, cusparse::Layout::ColumnMajor)];

/// A value type of the suite. Its method keeps the bounds of SpMM out of generic functions.
pub(crate) trait CaseValue: PeerValue {
    /// Measures C = AB: times, the plan, and C.
    ///
    /// # Errors
    ///
    /// As for [`spmm::measure`].
    fn spmm(
        bench: &Bench<'_>,
        a: &Csr<Self>,
        b: &[Self],
        columns: usize,
        layout: Layout,
    ) -> Result<(Measurement, SpmmPlanInfo, Vec<Self>), OpError>;
}

macro_rules! case_value {
    ($($type:ident)*) => {$(
        impl CaseValue for $type {
            fn spmm(
                bench: &Bench<'_>,
                a: &Csr<Self>,
                b: &[Self],
                columns: usize,
                layout: Layout,
            ) -> Result<(Measurement, SpmmPlanInfo, Vec<Self>), OpError> {
                spmm::measure(bench.device, a, b, columns, layout, bench.repetitions)
            }
        }
    )*};
}
case_value!(f32 f64);

/// C = AB in both layouts; the faster one counts, for peers too.
pub(super) fn measure<V: CaseValue>(bench: &Bench<'_>, variant: &str, named: &Named<'_, V>) -> Measured {
    let columns: usize = variant.split(' ').next().unwrap_or_default().parse()?;
    let a = named.matrix;
    let b: Vec<V> = random_vector(a.cols() * columns, 1);
    let work = spmm::work::<V, V, u32>(a, columns);
    let mut ours = Vec::new();
    for (layout, _) in LAYOUTS {
        let (measured, plan, c) = V::spmm(bench, a, &b, columns, layout)?;
        let difference = spmm::check(a, &b, &c, columns, layout).err();
        ours.push(
            Contender::ran(
                OWN_NAME,
                layout.to_string(),
                measured.ms,
                Some(plan.workspace_bytes),
                difference.as_deref(),
            )
            .with_timing(measured.timing),
        );
    }
    let peers = bench.peers.cusparse().map_or_else(Vec::new, |library| peers(bench, library, a, &b, columns));
    let operands = (a.nnz() * columns) as u64;
    Ok(Figures::new((operands, work.operations, work.bytes), ours, peers, BTreeMap::new()))
}

fn peers<V: PeerValue>(
    bench: &Bench<'_>,
    library: &Cusparse,
    a: &Csr<V>,
    b: &[V],
    columns: usize,
) -> Vec<Contender> {
    const NAME: &str = "cusparse";
    let mut contenders = Vec::new();
    for (layout, peer_layout) in LAYOUTS {
        let problem = match library.spmm_problem(a, b, columns, peer_layout) {
            Ok(problem) => problem,
            Err(error) => {
                contenders.push(Contender::refused(NAME, layout.to_string(), &error.to_string()));
                continue;
            }
        };
        problem.measure(bench.repetitions, |run| {
            let name = format!("{}, {layout}", run.algorithm);
            let contender = match run.outcome {
                Err(error) => Contender::refused(NAME, name, &error.to_string()),
                Ok(times) => {
                    let difference = spmm::check(a, b, &times.result, columns, layout).err();
                    let bytes = Some(times.workspace_bytes as u64);
                    Contender::ran(NAME, name, median(&times.times_ms), bytes, difference.as_deref())
                        .with_timing(Timing::new(&times.times_ms))
                }
            };
            contenders.push(contender.of_version(run.version.as_deref()));
        });
    }
    contenders
}
