//! Conversion from CSR on the device, by each method.

use std::error::Error;

use evenpath::Csr;
use evenpath::hisparse::{self, ConversionMethod};

use super::ways::{QUEUES, has_methods};
use crate::measure::times_ms;
use crate::operations::bench::Bench;
use crate::peers::PeerValue;
use crate::results::{Contender, OWN_NAME};

/// Measures the conversion of a canonical matrix, including allocation: by default and, where the device has them, by the queues of
/// the thesis (chapter 3). Adds the milliseconds by name. Returns the contenders whose result is wrong.
pub(super) fn conversions<V: PeerValue, const D: usize>(
    bench: &Bench<'_>,
    matrix: &Csr<V>,
    mut add: impl FnMut(String, Option<f64>),
) -> Result<Vec<Contender>, Box<dyn Error>> {
    let uploaded = bench.device.upload(matrix)?;
    let mut methods = vec![("conversion ms".to_owned(), ConversionMethod::Sorted)];
    if has_methods(bench.device) {
        methods.push((format!("conversion ms, {QUEUES}"), ConversionMethod::Queues));
    }
    let mut wrong = Vec::new();
    for (name, method) in methods {
        let options = hisparse::ConversionOptions::default().with_method(method);
        let convert = || uploaded.to_hisparse::<D>(options);
        let times = times_ms(bench.device, bench.repetitions, || convert().map(drop))?;
        let is_right = convert()?.to_csr()?.download()? == *matrix;
        let verdict = if is_right { Ok(()) } else { Err("not the matrix".to_owned()) };
        let own = Contender::ran(OWN_NAME, format!("conversion, {method}"), &times, verdict);
        add(name, own.ms);
        wrong.extend(own.is_wrong().then_some(Contender { ms: None, ..own }));
    }
    Ok(wrong)
}
