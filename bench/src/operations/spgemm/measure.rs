//! Measures C = AB by every method, and by every algorithm of the peers.

use std::collections::BTreeMap;

use evenpath::device::DeviceKind;
use evenpath::error::{DeviceError, OpError};
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::{Csr, DeviceCsr, Storage};
use evenpath_lab::{SpgemmPhases, two_level_sort_phases};

use super::check::Check;
use crate::measure::{median, single_times_ms};
use crate::operations::bench::{Bench, Measured, contender};
use crate::peers::{PeerScalar, PeerValue};
use crate::results::{Contender, Figures, OWN_NAME};

/// Name of the milliseconds of a method's phase among further figures.
pub(crate) fn phase(method: SpgemmMethod, name: &str) -> String {
    format!("{method} ms, {name}")
}

/// The number of products in C = AB, of two operations each.
pub(crate) fn products<V: Storage>(a: &Csr<V>, b: &Csr<V>) -> u64 {
    let lengths: Vec<u64> = b.row_offsets().windows(2).map(|pair| u64::from(pair[1] - pair[0])).collect();
    a.column_indices().iter().map(|&column| lengths[column as usize]).sum()
}

/// Measures all methods and peers. The limit is one on the bytes of a product; by default it is the memory of the device.
///
/// # Errors
///
/// If there are more products than the bench allows, not enough device memory for the operands, or the device was lost.
pub(crate) fn measure<V: PeerValue>(
    bench: &Bench<'_>,
    (a, b): (&Csr<V>, &Csr<V>),
    methods: &[SpgemmMethod],
    memory_limit: Option<u64>,
) -> Measured {
    measure_by(bench, (a, b), (methods, memory_limit), Some(two_level_sort_phases))
}

/// Measures values of any type, real or complex, without the phases of methods.
///
/// # Errors
///
/// Those of [`measure`].
pub(crate) fn measure_whole<V: PeerScalar>(
    bench: &Bench<'_>,
    (a, b): (&Csr<V>, &Csr<V>),
    methods: &[SpgemmMethod],
    memory_limit: Option<u64>,
) -> Measured {
    measure_by(bench, (a, b), (methods, memory_limit), None)
}

/// Runs a product, and returns the milliseconds of its phases.
type Phases<V> = fn(&DeviceCsr<V>, &DeviceCsr<V>, SpgemmOptions) -> Result<SpgemmPhases, OpError>;

fn measure_by<V: PeerScalar>(
    bench: &Bench<'_>,
    (a, b): (&Csr<V>, &Csr<V>),
    (methods, memory_limit): (&[SpgemmMethod], Option<u64>),
    phases: Option<Phases<V>>,
) -> Measured {
    let products = products(a, b);
    if products > bench.most_products {
        return Err(format!("{products} products are more than {}", bench.most_products).into());
    }
    let check = Check::new(a, b);
    let mut peers = Vec::new();
    bench.peers.spgemm(a, b, bench.repetitions, |run| {
        peers.push(contender(run, |c| check.check(&c.row_offsets, &c.column_indices, &c.values)));
    });
    let (device_a, device_b) = (bench.device.upload(a)?, bench.device.upload(b)?);
    let problem = Problem { bench, a: device_a, b: device_b, check: &check, memory_limit, phases };
    let (mut ours, mut more) = (Vec::new(), BTreeMap::new());
    let mut nonzeros = 0;
    for &method in methods {
        let own = match problem.measure(method) {
            Err(error @ OpError::Device(DeviceError::KernelFault { .. })) => return Err(error.into()),
            Err(error) => Contender::refused(OWN_NAME, method.to_string(), &error),
            Ok((own, found)) => {
                nonzeros = found;
                own
            }
        };
        if let (SpgemmMethod::TwoLevelSort | SpgemmMethod::ColumnSort, Some(ms)) = (method, own.right_ms()) {
            more.extend(problem.phases(method, bench.repetitions.samples(ms))?);
        }
        ours.push(own);
    }
    more.insert("nonzeros of C".into(), nonzeros as f64);
    let entry = size_of::<V>() + size_of::<u32>();
    let offsets = (2 * a.nrows() + b.nrows() + 3) * size_of::<u32>();
    let bytes = ((a.nnz() + b.nnz() + nonzeros) * entry + offsets) as u64;
    let operations = if V::IS_COMPLEX { 8 * products } else { 2 * products };
    Ok(Figures::new((products, operations, bytes), ours, peers, more))
}

/// Operands on the device.
struct Problem<'c, V: PeerScalar> {
    bench: &'c Bench<'c>,
    a: DeviceCsr<V>,
    b: DeviceCsr<V>,
    check: &'c Check,
    memory_limit: Option<u64>,
    phases: Option<Phases<V>>,
}

impl<V: PeerScalar> Problem<'_, V> {
    fn options(&self, method: SpgemmMethod) -> SpgemmOptions {
        SpgemmOptions::default().with_method(method).with_memory_limit(self.memory_limit)
    }

    /// A contender, and the nonzeros of its C. Its bytes are the peak besides the operands, including C.
    fn measure(&self, method: SpgemmMethod) -> Result<(Contender, usize), OpError> {
        let Bench { device, repetitions, .. } = *self.bench;
        let options = self.options(method);
        let before = device.memory()?.in_use;
        device.reset_peak_memory();
        let c = self.a.spgemm(&self.b, options)?.download()?;
        let bytes = device.memory()?.peak - before;
        let checked = self.check.check(c.row_offsets(), c.column_indices(), c.values());
        let nonzeros = c.nnz();
        drop(c);
        let whole = || self.a.spgemm(&self.b, options).map(drop);
        let times = single_times_ms(device, repetitions, whole)?;
        let plan = self.a.plan_spgemm(&self.b, options)?;
        // The second run may compute data that later runs reuse.
        plan.run()?;
        plan.run()?;
        let values = single_times_ms(device, repetitions, || plan.run().map(drop))?;
        let own = Contender {
            values_ms: Some(median(&values)),
            bytes: Some(bytes),
            ..Contender::ran(OWN_NAME, method.to_string(), &times, checked)
        };
        Ok((own, nonzeros))
    }

    /// The milliseconds of the phases of the fastest of `count` products; none on the CPU, or of complex values. The rest is allocation, and what runs
    /// between the phases.
    fn phases(&self, method: SpgemmMethod, count: usize) -> Result<Vec<(String, f64)>, OpError> {
        let device = self.bench.device;
        let Some(run) = self.phases.filter(|_| device.kind() != DeviceKind::Cpu) else {
            return Ok(Vec::new());
        };
        let mut best: Option<(f64, Vec<(&str, f64)>)> = None;
        for _ in 0..count {
            device.synchronize()?;
            let start = device.record()?;
            let phases = run(&self.a, &self.b, self.options(method))?;
            let whole_ms = device.record()?.elapsed_since(&start)?;
            if best.as_ref().is_none_or(|best| whole_ms < best.0) {
                let named = vec![
                    ("setup", phases.setup),
                    ("block sort", phases.block_sort),
                    ("global sort", phases.global_sort),
                    ("placement", phases.placement),
                    ("product compute", phases.product_compute),
                    ("reduce by key", phases.reduce_by_key),
                    ("other", whole_ms - phases.total()),
                ];
                best = Some((whole_ms, named));
            }
        }
        let phases = best.map_or_else(Vec::new, |(_, phases)| phases);
        Ok(phases.into_iter().map(|(name, ms)| (phase(method, name), ms)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_rows() {
        let a: Csr<f64> = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)]).unwrap();
        let b = a.transpose().unwrap();
        assert_eq!((products(&a, &b), products(&b, &a)), (3, 2 + 1 + 2));
    }
}
