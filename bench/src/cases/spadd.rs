use std::collections::BTreeMap;

use clap::ValueEnum;

use super::{Bench, Measured, Named};
use crate::measure::median;
use crate::peers::PeerValue;
use crate::peers::cusparse::SpaddRun;
use crate::results::{Contender, Figures, OWN_NAME};
use crate::operations::spadd::{self, Addend};

/// What is added to each matrix.
pub(super) const VARIANTS: &[&str] = &["itself", "shifted"];

/// 1.5 A - 0.5 B, including the pattern.
pub(super) fn measure<V: PeerValue>(bench: &Bench<'_>, variant: &str, named: &Named<'_, V>) -> Measured {
    let a = named.matrix;
    let addend = Addend::from_str(variant, false)?;
    let b = addend.of(a).ok_or("there is no such sum")?;
    let (a, b) = ((V::from_f64(1.5), a), (V::from_f64(-0.5), &b));
    let measured = spadd::measure(bench.device, a, b, bench.repetitions)?;
    let difference = spadd::check(a, b, &measured.result).err();
    let bytes = Some(measured.workspace_bytes);
    let ours = Contender::ran(OWN_NAME, "merge path", measured.whole.ms, bytes, difference.as_deref());
    let mut more = BTreeMap::from([
        ("nonzeros of C".to_owned(), measured.result.nnz() as f64),
        ("values ms".to_owned(), measured.values.ms),
    ]);
    let work = spadd::work(a.1, b.1, measured.result.nnz());
    drop(measured);
    let mut peers = Vec::new();
    if let Some(library) = bench.peers.cusparse() {
        library.measure_spadd(a, b, bench.repetitions, |SpaddRun { version, algorithm, outcome }| {
            let contender = match outcome {
                Err(error) => Contender::refused("cusparse", algorithm, &error.to_string()),
                Ok(sum) => {
                    let difference = spadd::check(a, b, &sum.result).err();
                    if difference.is_none() {
                        let fastest = more.entry("values ms, cusparse".into()).or_insert(f64::INFINITY);
                        *fastest = fastest.min(median(&sum.values_ms));
                    }
                    let (ms, bytes) = (median(&sum.whole_ms), Some(sum.workspace_bytes as u64));
                    Contender::ran("cusparse", algorithm, ms, bytes, difference.as_deref())
                }
            };
            peers.push(contender.of_version(Some(&version)));
        });
    }
    let nonzeros = (a.1.nnz() + b.1.nnz()) as u64;
    Ok(Figures::new((nonzeros, work.operations, work.bytes), vec![ours], peers, more))
}
