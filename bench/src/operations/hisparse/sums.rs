//! Sums of a matrix with itself and with its transpose, in both formats and by the peers.

use std::error::Error;

use evenpath::Csr;
use evenpath::hisparse::{self, DeviceHiSparse};

use super::ways::{QUEUES, has_methods};
use crate::measure::times_ms;
use crate::operations::bench::{Bench, contender};
use crate::operations::spadd::{Addend, check};
use crate::peers::PeerValue;
use crate::results::{Contender, OWN_NAME};

/// Measures A + A and, for square matrices, A + Aᵀ: by levels and, where the device has them, by the queues of the thesis
/// (chapter 6). Adds the milliseconds by name; of the peers, those of the fastest sum, and of computing the transpose. Returns the
/// contenders whose result is wrong.
pub(super) fn sums<V: PeerValue, const D: usize>(
    bench: &Bench<'_>,
    (matrix, tree): (&Csr<V>, &DeviceHiSparse<V, D>),
    mut add: impl FnMut(String, Option<f64>),
) -> Result<Vec<Contender>, Box<dyn Error>> {
    let mut wrong = Vec::new();
    for (op, addend) in [("add", Addend::Itself), ("add_transposed", Addend::Transpose)] {
        let Some(other) = addend.of(matrix) else { continue };
        let other_tree = if addend == Addend::Transpose { tree.transpose() } else { tree.clone() };
        let (a, b) = ((V::ONE, matrix), (V::ONE, &other));
        let sum = |name: &str, method| -> Result<Contender, Box<dyn Error>> {
            let options = hisparse::SpaddOptions::default().with_method(method);
            let sum = || tree.spadd(&other_tree, options);
            let times = times_ms(bench.device, bench.repetitions, || sum().map(drop))?;
            let result = sum()?.to_csr()?.download()?;
            Ok(Contender::ran(OWN_NAME, name, &times, check(a, b, &result)))
        };
        let mut ours = vec![(format!("{op} ms"), sum(op, hisparse::SpaddMethod::Levels)?)];
        if has_methods(bench.device) {
            let queued = sum(&format!("{op}, {QUEUES}"), hisparse::SpaddMethod::Queues)?;
            ours.push((format!("{op} ms, {QUEUES}"), queued));
        }
        for (name, own) in ours {
            add(name, own.ms);
            wrong.extend(own.is_wrong().then_some(Contender { ms: None, ..own }));
        }
        let (device_a, device_b) = (bench.device.upload(matrix)?, bench.device.upload(&other)?);
        let in_csr = || device_a.spadd(V::ONE, &device_b, V::ONE).map(drop);
        let csr =
            Contender::ran(OWN_NAME, "csr", &times_ms(bench.device, bench.repetitions, in_csr)?, Ok(()));
        add(format!("{op} ms, csr"), csr.ms);
        let mut peers = Vec::new();
        bench.peers.spadd(a, b, bench.repetitions, |run| peers.push(contender(run, |c| check(a, b, c))));
        each_library(&peers, |library, ms| add(format!("{op} ms, {library}"), Some(ms)));
        if addend == Addend::Transpose {
            let mut peers = Vec::new();
            bench.peers.transpose(matrix, bench.repetitions, |run| {
                let is_it =
                    |found: &Csr<V>| if *found == other { Ok(()) } else { Err("no transpose".into()) };
                peers.push(contender(run, is_it));
            });
            each_library(&peers, |library, ms| add(format!("{op} ms, {library}'s transpose"), Some(ms)));
        }
    }
    Ok(wrong)
}

/// The shortest time of each library with a correct result.
fn each_library(peers: &[Contender], mut take: impl FnMut(&str, f64)) {
    let mut libraries: Vec<&str> = peers.iter().map(|peer| peer.library.as_str()).collect();
    libraries.dedup();
    for library in libraries {
        let of_library = peers.iter().filter(|peer| peer.library == library);
        if let Some(ms) = of_library.filter_map(Contender::right_ms).min_by(f64::total_cmp) {
            take(library, ms);
        }
    }
}
