//! Softmax of the rows of a matrix, on every device.

use evenpath::error::OpError;
use evenpath::generate::generate;
use evenpath::spmv::SpmvOptions;
use evenpath::{Csr, Device, Offset, Value};
use evenpath_kernels::softmax::SoftmaxStep;
use evenpath_tests::{
    DeviceUnderTest, device_of_each_kind, devices, odd_row_lengths, row_lengths, tile_len, with_row_lengths,
};
use proptest::prelude::*;

/// The softmax of a row in f64, with a bound for `V`: differences are rounded, exponentials are within two units in the last place,
/// and so is the sum of n of them within n.
fn oracle<V: Value>(row: &[V]) -> Vec<(f64, f64)> {
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let values: Vec<f64> = row.iter().map(|value| value.to_f64()).collect();
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = values.iter().map(|value| (value - greatest).exp()).sum();
    let range = values.iter().fold(0.0_f64, |range, value| range.max((value - greatest).abs()));
    let error = (row.len() as f64 + 2.0 * range + 8.0) * epsilon;
    values.iter().map(|value| (value - greatest).exp() / sum).map(|weight| (weight, weight * error)).collect()
}

fn check<V: Value, O: Offset>(device: &Device, host: &Csr<V, O>) -> Vec<V> {
    let a = device.upload(host).unwrap();
    a.softmax_rows().unwrap();
    let found = a.download().unwrap();
    assert_eq!((found.row_offsets(), found.column_indices()), (host.row_offsets(), host.column_indices()));
    for (at, (row, weights)) in host.iter_rows().zip(found.iter_rows()).enumerate() {
        for ((expected, bound), weight) in oracle(row.values()).into_iter().zip(weights.values()) {
            let difference = (weight.to_f64() - expected).abs();
            assert!(difference <= bound, "{device}, row {at}: {weight}, not {expected} within {bound}");
        }
    }
    found.values().to_vec()
}

#[test]
fn odd_shapes() {
    for DeviceUnderTest { device, .. } in devices() {
        for (cols, lengths) in odd_row_lengths() {
            check::<f64, u32>(&device, &with_row_lengths(cols, &lengths));
            check::<f32, u64>(&device, &with_row_lengths(cols, &lengths));
        }
    }
}

/// Rows around the length of a tile, with exponentials that would overflow.
#[test]
fn large_values_and_long_rows() {
    let tile = tile_len::<SoftmaxStep<f64, u32>>();
    for DeviceUnderTest { device, .. } in devices() {
        for lengths in [vec![tile - 1, 1, tile], vec![2 * tile + 3], vec![1; tile + 1]] {
            let mut host: Csr<f64> = with_row_lengths(3 * tile, &lengths);
            host.map_values(|value| value * 30.0 + 900.0);
            check(&device, &host);
            host.map_values(|value| value - 2000.0);
            check(&device, &host.into_values::<f32>());
        }
    }
}

/// Infinity and NaN, as PyTorch has them.
#[test]
fn infinite_values() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let rows: [(&[f64], &[f64]); 7] = [
        (&[0.0, -inf, 0.0], &[0.5, 0.0, 0.5]),
        (&[-inf], &[nan]),
        (&[-inf, -inf], &[nan, nan]),
        (&[inf, 1.0], &[nan, nan]),
        (&[nan, 1.0, inf], &[nan, nan, nan]),
        (&[], &[]),
        (&[-1e308, 1e308], &[0.0, 1.0]),
    ];
    let offsets = rows.iter().scan(0, |end, row| {
        *end += row.0.len() as u32;
        Some(*end)
    });
    let offsets: Vec<u32> = [0].into_iter().chain(offsets).collect();
    let columns = rows.iter().flat_map(|row| 0..row.0.len() as u32).collect();
    let values = rows.iter().flat_map(|row| row.0.iter().copied()).collect();
    let host = Csr::try_new(rows.len(), 3, offsets, columns, values).unwrap();
    let bits = |value: f64| if value.is_nan() { u64::MAX } else { value.to_bits() };
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&host).unwrap();
        a.softmax_rows().unwrap();
        let found = a.values().download().unwrap().into_iter().map(bits);
        assert!(found.eq(rows.iter().flat_map(|row| row.1).map(|&value| bits(value))), "{device}");
    }
}

#[test]
fn results_are_bitwise_repeatable() {
    for DeviceUnderTest { device, fast } in devices() {
        let kind = if fast { "rmat:12" } else { "rmat:8" };
        let host: Csr<f32> = generate(kind.parse().unwrap(), 3).unwrap();
        let run = || check(&device, &host).into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let first = run();
        assert!((0..3).all(|_| run() == first), "{device}");
    }
}

/// Plans and graphs have the changed values; borrowed ones are not changed.
#[test]
fn plans_and_graphs_follow() {
    for device in device_of_each_kind() {
        let host: Csr<f64> = with_row_lengths(40, &[3, 0, 40, 7, 1]);
        let a = device.upload(&host).unwrap();
        let plan = a.plan_spmv(SpmvOptions::default()).unwrap();
        let (ones, mut sums) = (device.upload(&[1.0; 40]).unwrap(), device.zeros(5).unwrap());
        let borrowed = a.values();
        assert!(matches!(a.softmax_rows(), Err(OpError::ValuesBorrowed)));
        assert_eq!(borrowed.download().unwrap(), host.values());
        drop(borrowed);
        let mut graph = device
            .capture((), |()| {
                a.softmax_rows()?;
                plan.run(1.0, &ones, 0.0, &mut sums)
            })
            .unwrap();
        for _ in 0..2 {
            let values = a.download().unwrap();
            graph.launch().unwrap();
            let found = a.values().download().unwrap();
            let expected = values.iter_rows().flat_map(|row| oracle(row.values()));
            for ((expected, bound), weight) in expected.zip(found) {
                assert!((weight - expected).abs() <= bound, "{weight}, not {expected}, on {device}");
            }
        }
        drop(graph);
        let sums = sums.download().unwrap();
        for (sum, row) in sums.into_iter().zip(host.iter_rows()) {
            let expected = if row.values().is_empty() { 0.0 } else { 1.0 };
            assert!((sum - expected).abs() < 1e-12, "{sum} on {device}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn any_structure(lengths in row_lengths(600, 30), scale in 0.0..200.0_f64) {
        let mut host: Csr<f64> = with_row_lengths(600, &lengths);
        host.map_values(|value| value * scale);
        for DeviceUnderTest { device, .. } in devices() {
            check(&device, &host);
        }
    }
}
