//! Sparse matrix times sparse matrix, on every device.

use std::collections::BTreeMap;

use approx::abs_diff_eq;
use evenpath::device::{BlockOrder, DeviceKind, SimulatedOptions};
use evenpath::error::OpError;
use evenpath::generate::generate;
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::{Csr, Device, DeviceCsr, Offset, Value};
use evenpath_kernels::spgemm::{HASH_CLASSES, WINDOW_COLUMNS};
use evenpath_tests::{devices, kernel_devices};
use proptest::prelude::*;

/// For each entry of A·B, by definition: its sum in f64, the sum of the magnitudes of its products, and their
/// number.
pub(super) fn oracle<V: Value, O: Offset>(
    a: &Csr<V, O>,
    b: &Csr<V, O>,
) -> BTreeMap<(usize, usize), (f64, f64, u64)> {
    let mut c = BTreeMap::new();
    for (row, k, left) in a.iter() {
        for (column, right) in b.row(k).expect("a row of B").iter() {
            let product = left.to_f64() * right.to_f64();
            let entry = c.entry((row, column as usize)).or_insert((0.0, 0.0, 0));
            *entry = (entry.0 + product, entry.1 + product.abs(), entry.2 + 1);
        }
    }
    c
}

/// Returns whether a value equals that of the oracle within rounding.
pub(super) fn is_close<V: Value>(value: V, (sum, magnitude, count): (f64, f64, u64)) -> bool {
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    abs_diff_eq!(value.to_f64(), sum, epsilon = 2.0 * (count + 1) as f64 * epsilon * magnitude)
}

pub(crate) fn check_product<V: Value, O: Offset, C: Offset>(
    what: &dyn std::fmt::Display,
    a: &Csr<V, O>,
    b: &Csr<V, O>,
    c: &Csr<V, C>,
) {
    assert_eq!(c.shape(), (a.nrows(), b.ncols()), "{what}");
    c.check_canonical().expect("rows are sorted");
    let expected = oracle(a, b);
    assert_eq!(c.nnz(), expected.len(), "{what}: nonzeros of {a:?} times {b:?}");
    for ((row, column, value), (place, entry)) in c.iter().zip(expected) {
        assert_eq!((row, column), place, "{what}: {a:?} times {b:?}");
        assert!(
            is_close(value, entry),
            "{what}: {a:?} times {b:?}: ({row}, {column}) is {value}, not {entry:?}"
        );
    }
}

/// Multiplies row-wise on a device, checks the result and returns it.
fn check<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>, b: &Csr<V, O>) -> DeviceCsr<V, O> {
    let (left, right) = (device.upload(a).expect("upload"), device.upload(b).expect("upload"));
    let options = SpgemmOptions::default().with_method(SpgemmMethod::RowWise);
    let c = left.spgemm(&right, options).expect("a product");
    check_product(device, a, b, &c.download().expect("download"));
    c
}

/// A canonical matrix: entry j of a row is in column `(start(row) + j * step) % cols`, sorted.
pub(crate) fn banded<V: Value, O: Offset>(cols: usize, lengths: &[usize], step: usize) -> Csr<V, O> {
    let entries = lengths.iter().enumerate().flat_map(|(row, &len)| {
        (0..len).map(move |j| {
            let value = ((row * 31 + j * 17) % 101) as f64 / 50.0 - 1.0;
            (row, (row * 7 + j * step) % cols, V::from_f64(value))
        })
    });
    Csr::from_triplets(lengths.len(), cols, entries)
        .expect("a valid matrix")
        .try_into_offsets()
        .expect("few entries")
}

/// The same matrix with other values.
pub(crate) fn changed<V: Value, O: Offset>(matrix: &Csr<V, O>) -> Csr<V, O> {
    let mut changed = matrix.clone();
    for (at, value) in changed.values_mut().iter_mut().enumerate() {
        *value = V::from_f64(((at * 29 + 5) % 97) as f64 / 31.0 - value.to_f64());
    }
    changed
}

/// Any matrix whose rows have such lengths, at most `cols`: entries are at equal distances, and wrap around.
pub(crate) fn matrix_of_lengths(
    rows: usize,
    cols: usize,
    length: impl Strategy<Value = usize>,
) -> impl Strategy<Value = Csr<f64>> {
    prop::collection::vec((length, 0..cols, 1..4_usize), rows).prop_map(move |shapes| {
        let entries = shapes.into_iter().enumerate().flat_map(|(row, (len, start, step))| {
            (0..len.min(cols / step))
                .map(move |j| (row, (start + j * step) % cols, ((row + 3 * j) % 19) as f64 / 7.0 - 1.1))
        });
        Csr::from_triplets(rows, cols, entries).expect("a valid matrix")
    })
}

#[test]
fn shapes_without_products() {
    fn all<V: Value, O: Offset>() {
        for under_test in devices() {
            let device = &under_test.device;
            for (rows, inner, cols) in [(0, 0, 0), (0, 3, 2), (4, 0, 5), (3, 7, 0), (300, 5, 2), (1, 1, 1)] {
                let a = Csr::<V, O>::empty(rows, inner).unwrap();
                let b = Csr::empty(inner, cols).unwrap();
                assert_eq!(check(device, &a, &b).nnz(), 0);
            }
            // Entries of A that select empty rows of B, and rows of B that no entry selects.
            let a = Csr::from_triplets(3, 4, [(0, 1, V::ONE), (2, 3, V::ONE)]).unwrap();
            let a: Csr<V, O> = a.try_into_offsets().unwrap();
            let b = Csr::from_triplets(4, 9, [(0, 8, V::ONE), (2, 0, V::ONE)])
                .unwrap()
                .try_into_offsets()
                .unwrap();
            assert_eq!(check(device, &a, &b).nnz(), 0);
        }
    }
    all::<f32, u32>();
    all::<f64, u64>();
}

/// Rows with numbers of products and entries around the maximum of each class.
#[test]
fn rows_around_the_edges_of_classes() {
    for under_test in devices() {
        for limit in HASH_CLASSES {
            for size in [limit - 1, limit, limit + 1] {
                let size = size as usize;
                // One long row of B, and as many rows with one entry each.
                let a: Csr<f64> = banded(size + 1, &[1, size, 0, 2], 1);
                let mut lengths = vec![1; size + 1];
                lengths[0] = size;
                check(&under_test.device, &a, &banded(5000, &lengths, 3));
                // The same entries many times.
                check(&under_test.device, &a, &banded(3, &vec![1; size + 1], 1));
            }
        }
    }
}

/// Windows whose columns end around the edge of a packet, and rows of B with lengths around the number of lanes.
#[test]
fn rows_around_the_edges_of_windows() {
    for under_test in devices() {
        for cols in [WINDOW_COLUMNS - 1, WINDOW_COLUMNS, WINDOW_COLUMNS + 1, 32 * WINDOW_COLUMNS + 1] {
            let cols = cols as usize;
            for len in [31, 32, 33, cols.min(300)] {
                let a: Csr<f32> = banded(40, &[40, 1, 33, 12], 1);
                check(&under_test.device, &a, &banded(cols, &vec![len; 40], 11));
            }
        }
    }
}

/// Rows of every class in one product, so that rows are listed.
#[test]
fn rows_of_all_sizes() {
    fn all<V: Value, O: Offset>() {
        for under_test in devices() {
            let longest = if under_test.fast { 3000 } else { 400 };
            let lengths: Vec<usize> = (0..200).map(|row| [0, 1, 3, 8, 40, 7, 1, 0][row % 8]).collect();
            let mut b_lengths = vec![5; 300];
            b_lengths[14] = longest;
            b_lengths[15] = 70;
            let b: Csr<V, O> = banded(9001, &b_lengths, 13);
            let mut lengths = lengths;
            lengths[77] = 300;
            check(&under_test.device, &banded(300, &lengths, 7), &b);
        }
    }
    all::<f32, u32>();
    all::<f32, u64>();
    all::<f64, u32>();
    all::<f64, u64>();
}

/// Spans of columns that need several windows, because of limited shared memory or their width.
#[test]
fn rows_of_several_windows() {
    let options = SimulatedOptions::default().with_max_shared_bytes(56 << 10);
    let mut devices: Vec<Device> = devices().into_iter().map(|under_test| under_test.device).collect();
    devices.push(Device::simulated(options));
    for device in devices {
        let a: Csr<f64> = banded(90, &[90, 4, 60], 1);
        for cols in [40_000, 5_000_000, u32::MAX as usize - 1] {
            let step = cols / 97;
            let entries =
                (0..90).flat_map(|row| (0..9).map(move |j| (row, (row * 5 + j * step) % cols, 0.5)));
            let b = Csr::from_triplets(90, cols, entries).unwrap();
            check(&device, &a, &b);
        }
        // Many entries in each window.
        check(&device, &a, &banded(30_000, &vec![400; 90], 71));
    }
}

#[test]
fn one_huge_row_and_column() {
    for under_test in devices() {
        let len = if under_test.fast { 100_000 } else { 3000 };
        let row: Csr<f64> = banded(len, &[len], 1);
        let column = banded(1, &vec![1; len], 1);
        assert_eq!(check(&under_test.device, &row, &column).nnz(), 1);
        let short = if under_test.fast { 300 } else { 40 };
        let column: Csr<f64> = banded(1, &vec![1; short], 1);
        check(&under_test.device, &column, &banded(700, &[700], 1));
    }
}

/// Rows of A whose products are counted by all warps, among shorter ones, and more of them than a warp has lanes; B has rows of all
/// lengths, including 0.
#[test]
fn rows_of_a_with_very_many_entries() {
    let lengths = [1025, 0, 3, 1024, 2500, 1024 + 128, 1, 1024 + 129, 60];
    let a: Csr<f64> = banded(2600, &lengths, 1);
    let b: Csr<f64> = banded(500, &(0..2600).map(|row| row % 7 * (row % 3)).collect::<Vec<_>>(), 3);
    let many_lengths: Vec<usize> = (0..70).map(|row| row % 2 * (1025 + row * 3)).collect();
    let many: Csr<f64> = banded(1300, &many_lengths, 1);
    let short: Csr<f64> = banded(40, &(0..1300).map(|row| row % 2).collect::<Vec<_>>(), 1);
    for under_test in devices() {
        check(&under_test.device, &a, &b);
        check(&under_test.device, &many, &short);
        let (wide_a, wide_b) = (a.clone().try_into_offsets::<u64>(), b.clone().try_into_offsets::<u64>());
        check(&under_test.device, &wide_a.unwrap(), &wide_b.unwrap());
    }
}

/// Row-wise, a row of A that selects many rows of B would add them one after the other; then all products are
/// sorted instead.
#[test]
fn the_automatic_choice_depends_on_rows_and_memory() {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let method = |a: &Csr<f64>, b: &Csr<f64>| {
            let (a, b) = (device.upload(a).unwrap(), device.upload(b).unwrap());
            let plan = a.plan_spgemm(&b, SpgemmOptions::default()).unwrap();
            let c = a.spgemm(&b, SpgemmOptions::default()).unwrap().download().unwrap();
            check_product(device, &a.download().unwrap(), &b.download().unwrap(), &c);
            plan.info().unwrap().method
        };
        let short: Csr<f64> = banded(50, &[5; 50], 3);
        assert_eq!(method(&short, &short), SpgemmMethod::RowWise);
        let row = banded(2000, &[2000], 1);
        let two = banded(500, &vec![2; 2000], 1);
        assert_eq!(method(&row, &two), SpgemmMethod::TwoLevelSort);
        // Not if memory is short.
        let (a, b) = (device.upload(&row).unwrap(), device.upload(&two).unwrap());
        let plan = a.plan_spgemm(&b, SpgemmOptions::default().with_memory_limit(50_000)).unwrap();
        assert_eq!(plan.info().unwrap().method, SpgemmMethod::RowWise);
    }
}

#[test]
fn cancelled_sums_stay_stored() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> = Csr::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, 1.0)]).unwrap();
        let b = Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 0, -1.0), (1, 1, 3.0)]).unwrap();
        let c = check(device, &a, &b).download().unwrap();
        assert_eq!((c.column_indices(), c.values()), (&[0, 1][..], &[0.0, 5.0][..]));
    }
}

/// A chain of rectangular products: Pᵀ·A·P, as in algebraic multigrid, and A·Aᵀ, Aᵀ·A.
#[test]
fn products_of_products() {
    for under_test in devices() {
        let device = &under_test.device;
        let side = if under_test.fast { 60 } else { 12 };
        let a: Csr<f64> = generate(format!("stencil5:{side}").parse().unwrap(), 3).unwrap();
        let n = a.nrows();
        let aggregates = n.div_ceil(4);
        let p: Csr<f64> =
            Csr::from_triplets(n, aggregates, (0..n).map(|row| (row, row / 4, 1.0 + (row % 3) as f64)))
                .unwrap();
        let (device_a, device_p) = (device.upload(&a).unwrap(), device.upload(&p).unwrap());
        let ap = device_a.spgemm(&device_p, SpgemmOptions::default()).unwrap();
        let ap_host = ap.download().unwrap();
        check_product(device, &a, &p, &ap_host);
        let coarse = device_p.transpose().unwrap().spgemm(&ap, SpgemmOptions::default()).unwrap();
        check_product(device, &p.transpose().unwrap(), &ap_host, &coarse.download().unwrap());

        let wide: Csr<f64> = generate("lp:12".parse().unwrap(), 5).unwrap();
        let wide = if under_test.fast { wide } else { banded(500, &[40, 0, 3, 200], 9) };
        let device_wide = device.upload(&wide).unwrap();
        let transposed = wide.transpose().unwrap();
        let options = SpgemmOptions::default();
        let outer = device_wide.spgemm(&device_wide.transpose().unwrap(), options).unwrap();
        check_product(device, &wide, &transposed, &outer.download().unwrap());
        if wide.ncols() < 5000 {
            let inner = device_wide.transpose().unwrap().spgemm(&device_wide, options).unwrap();
            check_product(device, &transposed, &wide, &inner.download().unwrap());
        }
    }
}

fn bits<V: Value>(values: &[V]) -> Vec<u64> {
    values.iter().map(|value| value.to_f64().to_bits()).collect()
}

/// Runs of a plan use the current values, equal products without a plan, and share one pattern.
#[test]
fn plans() {
    for under_test in devices() {
        let device = &under_test.device;
        let scale = if under_test.fast { 10 } else { 6 };
        let host: Csr<f32> = generate(format!("rmat:{scale}").parse().unwrap(), 3).unwrap();
        let a = device.upload(&host).unwrap();
        let plan = a.plan_spgemm(&a, SpgemmOptions::default()).unwrap();
        let first = plan.run().unwrap().download().unwrap();
        check_product(device, &host, &host, &first);
        assert_eq!(bits(plan.run().unwrap().download().unwrap().values()), bits(first.values()), "{device}");
        let values: Vec<f32> = host.values().iter().map(|value| 0.5 - value * value).collect();
        a.set_values(&values).unwrap();
        let mut changed = host.clone();
        changed.values_mut().copy_from_slice(&values);
        let again = plan.run().unwrap().download().unwrap();
        check_product(device, &changed, &changed, &again);
        let alone = a.spgemm(&a, SpgemmOptions::default()).unwrap().download().unwrap();
        assert_eq!(bits(again.values()), bits(alone.values()), "{device}");
        let wide = a.spgemm_with_offsets::<u64>(&a, SpgemmOptions::default()).unwrap().download().unwrap();
        assert_eq!(bits(wide.values()), bits(alone.values()), "{device}");
        let info = plan.info().unwrap();
        assert_eq!(info.nnz, first.nnz() as u64);
        let lengths = |k: usize| host.row(k).unwrap().len() as u64;
        assert_eq!(info.products, host.iter().map(|(_, k, _)| lengths(k)).sum::<u64>());
    }
}

#[test]
fn invalid_operands_are_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let a = device.upload(&banded::<f64, u32>(5, &[2, 3], 1)).unwrap();
        let refused = a.spgemm(&a, SpgemmOptions::default()).unwrap_err();
        assert!(matches!(
            refused,
            OpError::Shape { operand: "B", rows: 2, cols: 5, needed_rows: 5, needed_cols: 5 }
        ));
        assert_eq!(refused.to_string(), "B is 2 x 5, but must be 5 x 5");

        let unsorted =
            Csr::try_new(4, 5, vec![0_u32, 2, 2, 4, 5], vec![0, 1, 3, 3, 2], vec![1.0; 5]).unwrap();
        let unsorted = device.upload(&unsorted).unwrap();
        let square = device.upload(&banded::<f64, u32>(4, &[1; 5], 1)).unwrap();
        let refused = unsorted.spgemm(&square, SpgemmOptions::default()).unwrap_err();
        assert!(matches!(refused, OpError::NotCanonical { operand: "A", row: 2, .. }), "{refused}");
        let refused = square.spgemm(&unsorted, SpgemmOptions::default()).unwrap_err();
        assert!(matches!(refused, OpError::NotCanonical { operand: "B", row: 2, .. }), "{refused}");

        let elsewhere = Device::simulated(SimulatedOptions::default());
        let other = elsewhere.upload(&banded::<f64, u32>(5, &[1; 5], 1)).unwrap();
        assert!(matches!(a.spgemm(&other, SpgemmOptions::default()), Err(OpError::Device(_))));
    }
}

/// A descent between rows is not mistaken for an unsorted row.
#[test]
fn unsorted_rows_are_found_among_empty_ones() {
    for under_test in devices() {
        let device = &under_test.device;
        for bad in [0_usize, 255, 256, 600] {
            let rows = 601;
            let (mut offsets, mut columns) = (vec![0_u64], Vec::new());
            for row in 0..rows {
                let own: &[u32] = if row == bad { &[3, 1] } else { [&[][..], &[0, 2], &[4]][row % 3] };
                columns.extend(own);
                offsets.push(columns.len() as u64);
            }
            let values = vec![1.0_f32; columns.len()];
            let a = device.upload(&Csr::try_new(rows, 5, offsets, columns, values).unwrap()).unwrap();
            let b = device.upload(&banded(2, &[1; 5], 1)).unwrap();
            let refused = a.spgemm(&b, SpgemmOptions::default()).unwrap_err();
            assert!(
                matches!(refused, OpError::NotCanonical { operand: "A", row, .. } if row == bad),
                "{refused}"
            );
        }
    }
}

/// Workspace and result never exceed the limit, or the size named in the error.
#[test]
fn memory_limits() {
    for under_test in devices() {
        let device = &under_test.device;
        let host: Csr<f64> = banded(300, &[30; 300], 7);
        let a = device.upload(&host).unwrap();
        let before = device.memory().unwrap().in_use;
        let nonzeros = oracle(&host, &host).len() as u64;
        let result_bytes = nonzeros * 12 + 301 * 4;
        for method in [SpgemmMethod::Auto, SpgemmMethod::RowWise] {
            let options = SpgemmOptions::default().with_method(method);
            let refused = a.spgemm(&a, options.with_memory_limit(result_bytes - 1)).unwrap_err();
            let OpError::ProductMemory { needed, limit, .. } = refused else { panic!("{refused}") };
            assert!(needed > limit && limit == result_bytes - 1, "{refused}");
            // The size in the error suffices, even if workspace and result are requested one after the other.
            let mut limit = needed;
            let c = loop {
                match a.spgemm(&a, options.with_memory_limit(limit)) {
                    Ok(c) => break c,
                    Err(OpError::ProductMemory { needed, .. }) if needed > limit => limit = needed,
                    Err(error) => panic!("{error}"),
                }
            };
            assert!(limit < result_bytes + 200 * 300 + (1 << 16), "{device}: {limit}");
            assert_eq!(c.nnz() as u64, nonzeros);
            drop(c);
            if device.kind() != DeviceKind::Cpu {
                device.set_memory_limit(Some(before + limit));
                let c = a.spgemm(&a, options.with_memory_limit(limit)).expect("the limit is kept");
                device.set_memory_limit(None);
                drop(c);
            }
            assert_eq!(device.memory().unwrap().in_use, before, "{device}");
        }
    }
}

/// Blocks and threads in any order give bitwise identical results.
#[test]
fn results_do_not_depend_on_the_order_of_blocks() {
    let a: Csr<f32> = generate("rmat:7".parse().unwrap(), 11).unwrap();
    let mut results = kernel_devices().into_iter().filter(|device| !device.fast).map(|under_test| {
        let a = under_test.device.upload(&a).unwrap();
        bits(a.spgemm(&a, SpgemmOptions::default()).unwrap().download().unwrap().values())
    });
    let first = results.next().expect("a simulated GPU");
    assert!(results.all(|other| other == first));
    let seeded = SimulatedOptions::default().with_block_order(BlockOrder::Seeded(99));
    let device = Device::simulated(seeded);
    let a = device.upload(&a).unwrap();
    assert_eq!(bits(a.spgemm(&a, SpgemmOptions::default()).unwrap().download().unwrap().values()), first);
}

/// Matrices of the kinds in the bench, large enough to fill a GPU.
#[test]
fn generated_matrices() {
    for under_test in devices() {
        let (large, small) = (
            ["stencil5:150", "stencil27:20", "block-fem:700x3", "uniform:9000", "power-law:3000", "rmat:11"],
            ["stencil5:12", "stencil27:4", "block-fem:25x3", "uniform:90", "power-law:60", "rmat:6"],
        );
        for kind in if under_test.fast { large } else { small } {
            let a: Csr<f64> = generate(kind.parse().unwrap(), 5).unwrap();
            check(&under_test.device, &a, &a);
        }
    }
}

/// Triplets of a matrix of the given shape, some of them repeated often.
fn triplets(rows: usize, cols: usize, most: usize) -> impl Strategy<Value = Vec<(usize, usize, f64)>> {
    prop::collection::vec((0..rows, 0..cols, -2.0..2.0), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_products(
        (a, b) in (1..40_usize, 1..60_usize, prop_oneof![1..8_usize, 60..400_usize, Just(300_000)])
            .prop_flat_map(|(rows, inner, cols)| {
                let a = triplets(rows, inner, 400)
                    .prop_map(move |entries| Csr::<f64>::from_triplets(rows, inner, entries).unwrap());
                let b = triplets(inner, cols, 900)
                    .prop_map(move |entries| Csr::<f64>::from_triplets(inner, cols, entries).unwrap());
                (a, b)
            })
    ) {
        for under_test in devices() {
            check(&under_test.device, &a, &b);
        }
    }
}
