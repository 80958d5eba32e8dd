//! SpMV with padded formats, COO and sorted rows, on every device.

use evenpath::ell::{Ell, EllR, SlicedEllOptions};
use evenpath::error::{DeviceError, OpError};
use evenpath::generate::{Kind, generate};
use evenpath::hyb::{Hyb, HybOptions};
use evenpath::row_order::RowOrder;
use evenpath::spmv::SpmvOptions;
use evenpath::{Coo, Csr, Device, DeviceVec, Offset, Value};
use evenpath_kernels::{coo, ell};
use evenpath_lab::{EllOptions, EllVariants, XInSequence, XLoads};
use evenpath_simt::kernel::Kernel;
use evenpath_tests::{
    DeviceUnderTest, UNLIMITED, devices, hyb_widths, spmv as oracle, tile_len, unlike_devices,
    with_row_lengths,
};
use proptest::prelude::*;

const PADDING: u32 = Ell::<f64>::PADDING;

/// A vector of numbers that are not round, determined by its length.
fn vector<V: Value>(len: usize) -> Vec<V> {
    (0..len).map(|i| V::from_f64(((i * 7919 + 13) % 1009) as f64 / 504.0 - 1.0)).collect()
}

fn sliced(slice_height: u32, sorting_scope: usize) -> SlicedEllOptions {
    SlicedEllOptions::default()
        .with_slice_height(slice_height)
        .with_sorting_scope(sorting_scope)
        .with_limit(UNLIMITED)
}

/// A product y = αAx + βy in one format.
type Product<'a, V> =
    (&'static str, Box<dyn Fn(V, &DeviceVec<V>, V, &mut DeviceVec<V>) -> Result<(), OpError> + 'a>);

/// Products in every format of a device, CSR with its plan's choice; first HYB and COO, which split sums.
fn products<'a, V: Value, O: Offset>(device: &Device, a: &Csr<V, O>) -> Vec<Product<'a, V>> {
    products_with(device, a, SpmvOptions::default())
}

/// Products in every format of a device, CSR with `options`.
fn products_with<'a, V: Value, O: Offset>(
    device: &Device,
    a: &Csr<V, O>,
    options: SpmvOptions,
) -> Vec<Product<'a, V>> {
    let coo = device.upload(&a.to_coo().expect("memory")).expect("upload");
    let mut products: Vec<Product<'a, V>> =
        vec![("COO", Box::new(move |alpha, x, beta, y| coo.spmv(alpha, x, beta, y)))];
    for width in hyb_widths() {
        let hyb = a.to_hyb(HybOptions::default().with_width(width).with_limit(UNLIMITED)).expect("HYB");
        let hyb = device.upload(&hyb).expect("upload");
        products.push(("HYB", Box::new(move |alpha, x, beta, y| hyb.spmv(alpha, x, beta, y))));
    }
    let ell = a.to_ell(UNLIMITED).expect("ELL");
    let (ell, ell_r) = (device.upload(&ell).expect("upload"), device.upload(&EllR(&ell)).expect("upload"));
    products.push(("ELL", Box::new(move |alpha, x, beta, y| ell.spmv(alpha, x, beta, y))));
    products.push(("ELL-R", Box::new(move |alpha, x, beta, y| ell_r.spmv(alpha, x, beta, y))));
    for options in [sliced(32, 1), sliced(32, 256), sliced(7, 3)] {
        let sliced = a.to_sliced_ell(options).expect("sliced ELL");
        let sliced = device.upload(&sliced).expect("upload");
        products.push(("sliced ELL", Box::new(move |alpha, x, beta, y| sliced.spmv(alpha, x, beta, y))));
    }
    let (sorted, order) = a.sort_rows_by_length();
    let order = device.upload(&order).expect("upload");
    let ell_r = device.upload(&EllR(&sorted.to_ell(UNLIMITED).expect("ELL"))).expect("upload");
    let ell_r = ell_r.with_row_order(&order).expect("as many rows");
    products.push(("sorted ELL-R", Box::new(move |alpha, x, beta, y| ell_r.spmv(alpha, x, beta, y))));
    let plan = device.upload(&sorted).expect("upload").plan_spmv(options).expect("plan");
    products.push((
        "sorted CSR",
        Box::new(move |alpha, x, beta, y| {
            let mut permuted = y.device().zeros(y.len())?;
            plan.run(alpha, x, V::ZERO, &mut permuted)?;
            order.restore(V::ONE, &permuted, beta, y)
        }),
    ));
    products
}

/// Runs y = αAx + βy in every format, with y filled with NaN if β is zero, and compares with the oracle.
fn check_products<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>, alpha: f64, beta: f64) {
    let (alpha, beta) = (V::from_f64(alpha), V::from_f64(beta));
    let x: Vec<V> = vector(a.ncols());
    let mut y: Vec<V> = vector(a.nrows());
    if beta == V::ZERO {
        y.fill(V::from_f64(f64::NAN));
    }
    let expected = oracle(a, alpha, &x, beta, &y);
    let x = device.upload(&x).expect("upload");
    for (format, product) in products(device, a) {
        let mut result = device.upload(&y).expect("upload");
        product(alpha, &x, beta, &mut result).expect("product");
        if let Err(difference) = expected.check(&result.download().expect("download")) {
            panic!("{device}, {a:?} in {format}, alpha {alpha}, beta {beta}: {difference}");
        }
    }
}

fn check_types(device: &Device, cols: usize, lengths: &[usize]) {
    for (alpha, beta) in [(1.0, 0.0), (-0.5, 1.0), (2.0, -0.25)] {
        check_products(device, &with_row_lengths::<f32, u32>(cols, lengths), alpha, beta);
        check_products(device, &with_row_lengths::<f64, u32>(cols, lengths), alpha, beta);
    }
    check_products(device, &with_row_lengths::<f64, u64>(cols, lengths), 0.0, 3.0);
}
#[test]
fn odd_shapes() {
    for DeviceUnderTest { device, .. } in devices() {
        for (cols, lengths) in evenpath_tests::odd_row_lengths() {
            check_types(&device, cols, &lengths);
        }
    }
}

/// Numbers of rows around those of a block, a warp and a slice; slots around the number that a thread loads
/// at once.
#[test]
fn rows_and_slots_around_edges() {
    let (padded, sliced) =
        (ell::Ell::<f64>::first().expect("f64"), ell::SlicedEll::<f64>::first().expect("f64"));
    let block = padded.block_size as usize;
    let items = [padded, sliced].map(|info| info.items_per_thread as usize);
    for DeviceUnderTest { device, .. } in devices() {
        for rows in [31, 32, 33, block - 1, block, block + 1, 2 * block + 1] {
            let lengths: Vec<usize> = (0..rows).map(|row| row % 5).collect();
            check_products(&device, &with_row_lengths::<f64, u32>(50, &lengths), 1.0, 0.0);
        }
        for width in
            items.iter().flat_map(|items| [1, items - 1, *items, items + 1, 2 * items, 2 * items + 1])
        {
            let lengths = [width, 0, width - 1, 1, width, width / 2, width.min(2)];
            check_products(&device, &with_row_lengths::<f64, u32>(50, &lengths), 1.0, 0.5);
            check_products(&device, &with_row_lengths::<f32, u32>(50, &lengths), 1.0, 0.5);
        }
    }
}

/// Entries around the number per lane, warp and interval; rows that end with these, or extend over many.
#[test]
fn coordinates_around_edges() {
    let step = tile_len::<coo::CooInterval<f64>>() / 8; // per warp
    let interval = evenpath_lab::COO_INTERVAL as usize;
    for DeviceUnderTest { device, fast } in devices() {
        let check = |a: &Csr<f64>| {
            let (alpha, x, y) = (1.5, vector(a.ncols()), vector(a.nrows()));
            let expected = oracle(a, alpha, &x, 0.5, &y);
            let coo = device.upload(&a.to_coo().expect("memory")).expect("upload");
            let (x, mut y) = (device.upload(&x).expect("upload"), device.upload(&y).expect("upload"));
            coo.spmv(alpha, &x, 0.5, &mut y).expect("product");
            if let Err(difference) = expected.check(&y.download().expect("download")) {
                panic!("{device}, {a:?}: {difference}");
            }
        };
        for edge in [4, 128, step, interval, 8 * interval, 256 * interval] {
            if edge > 8 * interval && !fast {
                continue;
            }
            for len in [edge - 1, edge, edge + 1] {
                check(&with_row_lengths(100, &[len]));
                check(&with_row_lengths(100, &[len, len, 0, 1]));
                check(&with_row_lengths(100, &[1, len, 2]));
                check(&with_row_lengths(100, &vec![1; len]));
                check(&with_row_lengths(100, &vec![2; len / 2]));
            }
        }
        // Runs of carries summed by one thread, and by its block.
        for intervals in [15, 16, 17, 18, 40] {
            let long = intervals * interval;
            check(&with_row_lengths(100, &[3, long, 2, long, 0]));
            check(&with_row_lengths(100, &[interval, long, interval, long]));
        }
        if fast {
            check(&with_row_lengths(1000, &[5, 3_000_000, 1]));
        }
    }
}

#[test]
fn generated_matrices() {
    for DeviceUnderTest { device, fast } in devices() {
        let kinds = if fast {
            // Rows for several tasks; the skewed ones are few, because ELL pads all to the longest.
            ["stencil5:200", "power-law:3000", "uniform:20000", "empty-rows:40000", "rmat:11", "fem:3000"]
        } else {
            ["stencil5:30", "power-law:600", "uniform:700", "empty-rows:2000", "rmat:7", "fem:200"]
        };
        for kind in kinds {
            let kind: Kind = kind.parse().expect("a kind");
            let a: Csr<f64> = generate(kind, 1).expect("a matrix");
            check_products(&device, &a, 1.0, 0.0);
            check_products(&device, &a.clone().into_values::<f32>(), -1.5, 2.0);
        }
    }
}

/// Results are the same in every run, and on all devices that run kernels. CSR has the options that the first of these chooses, since
/// a plan's choice depends on the device.
#[test]
fn results_are_bitwise_repeatable() {
    let a: Csr<f32> = generate("power-law:700".parse().expect("a kind"), 3).expect("a matrix");
    let (sorted, _) = a.sort_rows_by_length();
    let chosen_by = |device: &Device| {
        let plan = device.upload(&sorted).expect("upload").plan_spmv(SpmvOptions::default()).expect("plan");
        plan.info().expect("info").options()
    };
    let bits_on = |device: &Device, options: SpmvOptions| -> Vec<(&'static str, Vec<u32>)> {
        let x = device.upload(&vector::<f32>(a.ncols())).expect("upload");
        let run = |(format, product): Product<'_, f32>| {
            let mut runs = (0..3).map(|_| {
                let mut y = device.zeros(a.nrows()).expect("zeros");
                product(1.25, &x, 0.0, &mut y).expect("product");
                y.download().expect("download").into_iter().map(f32::to_bits).collect()
            });
            let first: Vec<u32> = runs.next().expect("a run");
            assert!(runs.all(|run| run == first), "{format} on {device}");
            (format, first)
        };
        products_with(device, &a, options).into_iter().map(run).collect()
    };
    let devices = unlike_devices();
    let Some(DeviceUnderTest { device: first, .. }) = devices.first() else { return };
    let options = chosen_by(first);
    let expected = bits_on(first, options);
    for DeviceUnderTest { device, .. } in &devices {
        for ((format, bits), (_, expected)) in bits_on(device, options).iter().zip(&expected) {
            assert!(bits == expected, "{format} differs between {first} and {device}, with {options:?}");
        }
    }
    let cpu = Device::cpu();
    bits_on(&cpu, chosen_by(&cpu));
}

/// Padding is not multiplied, not even by infinity. Stored zeros are.
#[test]
fn padding_is_not_multiplied_but_stored_zeros_are() {
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<f64> =
            Csr::try_new(3, 2, vec![0_u32, 3, 4, 5], vec![0, 0, 0, 0, 1], vec![1.0, 1.0, 1.0, 2.0, 0.0])
                .expect("a matrix");
        let x = device.upload(&[2.0, f64::INFINITY]).expect("upload");
        for (format, product) in products(&device, &a) {
            let mut y = device.upload(&[f64::NAN; 3]).expect("upload");
            product(1.0, &x, 0.0, &mut y).expect("product");
            let y = y.download().expect("download");
            assert_eq!(y[..2], [6.0, 4.0], "{format} on {device}");
            assert!(y[2].is_nan(), "{format} on {device}: 0 times infinity");
        }
    }
}

#[test]
fn refused_operands_leave_outputs_unchanged() {
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<f64> = with_row_lengths(5, &[3, 0, 5]);
        let x = device.upload(&[1.0; 5]).expect("upload");
        let short = device.upload(&[1.0; 4]).expect("upload");
        let other = Device::simulated(evenpath::device::SimulatedOptions::default());
        let elsewhere = other.upload(&[1.0; 5]).expect("upload");
        for (format, product) in products(&device, &a) {
            let mut y = device.upload(&[7.0; 3]).expect("upload");
            let error = product(1.0, &short, 0.0, &mut y).expect_err("x is short");
            assert!(
                matches!(error, OpError::Length { operand: "x", len: 4, needed: 5 }),
                "{format}: {error}"
            );
            let error = product(1.0, &elsewhere, 0.0, &mut y).expect_err("x is elsewhere");
            assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
            assert_eq!(y.download().expect("download"), [7.0; 3], "{format}");
            let mut long = device.upload(&[7.0; 4]).expect("upload");
            product(1.0, &x, 0.0, &mut long).expect_err("y is long");
            assert_eq!(long.download().expect("download"), [7.0; 4], "{format}");
        }
        let order = device.upload(&RowOrder::try_new(vec![1, 0]).expect("an order")).expect("upload");
        let ell_r = device.upload(&EllR(&a.to_ell(UNLIMITED).expect("ELL"))).expect("upload");
        let error = ell_r.with_row_order(&order).expect_err("2 rows instead of 3");
        assert_eq!(error.to_string(), "the row order has 2 rows, but the matrix has 3");
    }
}

/// Values of padding given by the caller are ignored, and both parts of a HYB may have entries at the same position.
#[test]
fn arrays_of_callers() {
    for DeviceUnderTest { device, .. } in devices() {
        let ell =
            Ell::try_new(2, 2, 2, vec![0, 1, 1, PADDING], vec![1.0, 2.0, 4.0, f64::NAN]).expect("valid");
        assert_eq!(ell.values(), [1.0, 2.0, 4.0, 0.0]);
        let entries = Coo::from_triplets(2, 2, [(1, 1, 16.0), (0, 1, 8.0)]).expect("valid");
        assert!(!entries.is_sorted_by_row());
        let hyb = Hyb::try_new(ell, entries).expect("one shape");
        let csr: Csr<f64> = hyb.to_csr().expect("few nonzeros");
        assert_eq!(
            (csr.column_indices(), csr.values()),
            (&[0, 1, 1, 1, 1][..], &[1.0, 4.0, 8.0, 2.0, 16.0][..])
        );
        let hyb = device.upload(&hyb).expect("upload");
        let x = device.upload(&[1.0, 100.0]).expect("upload");
        let mut y = device.upload(&[f64::NAN; 2]).expect("upload");
        hyb.spmv(1.0, &x, 0.0, &mut y).expect("product");
        assert_eq!(y.download().expect("download"), [1201.0, 1800.0], "{device}");
    }
}

/// y = Ax + y in ELL or ELL-R.
type EllRun<'a, V> = &'a dyn Fn(&DeviceVec<V>, &mut DeviceVec<V>) -> Result<(), OpError>;

/// The options for measurements: blocks of other sizes, and other loads of x. The number of rows leaves the
/// last block of each size partly full.
#[test]
fn ell_with_other_blocks_and_loads_gives_the_same_bits() {
    fn check<V: Value>(device: &Device, all: &[EllOptions]) {
        let lengths: Vec<usize> = (0..1000).map(|row| [3, 0, 9, 1, 8][row % 5]).collect();
        let a: Csr<V> = with_row_lengths(50, &lengths);
        let ell = a.to_ell(UNLIMITED).expect("ELL");
        let (ell, ell_r) =
            (device.upload(&ell).expect("upload"), device.upload(&EllR(&ell)).expect("upload"));
        let (x, mut y): (Vec<V>, Vec<V>) = (vector(a.ncols()), vector(a.nrows()));
        let expected = oracle(&a, V::ONE, &x, V::ONE, &y);
        let (x, old) = (device.upload(&x).expect("upload"), y.clone());
        let mut run = |with: EllRun<'_, V>| {
            let mut device_y = device.upload(&old).expect("upload");
            with(&x, &mut device_y).expect("run");
            y = device_y.download().expect("download");
            assert_eq!(expected.check(&y), Ok(()), "{device}");
            y.iter().map(|value| value.to_f64().to_bits()).collect::<Vec<_>>()
        };
        let plain = run(&|x, y| ell.spmv(V::ONE, x, V::ONE, y));
        let with_lengths = run(&|x, y| ell_r.spmv(V::ONE, x, V::ONE, y));
        for &options in all {
            assert_eq!(run(&|x, y| ell.spmv_with(options, V::ONE, x, V::ONE, y)), plain, "{options:?}");
            let own = run(&|x, y| ell_r.spmv_with(options, V::ONE, x, V::ONE, y));
            assert_eq!(own, with_lengths, "{options:?}");
        }
    }
    let blocks = |x_loads, sizes: &[u32]| {
        let with = move |&size| EllOptions::default().with_x_loads(x_loads).with_block_size(size);
        sizes.iter().map(with).collect::<Vec<_>>()
    };
    for DeviceUnderTest { device, .. } in devices() {
        let single = [blocks(XLoads::ReadOnly, &[32, 64, 128, 256, 512]), blocks(XLoads::Plain, &[32, 256])];
        check::<f32>(&device, &single.concat());
        check::<f64>(&device, &[EllOptions::default().with_x_loads(XLoads::Plain)]);
    }
}

#[test]
fn block_sizes_without_a_kernel_are_refused() {
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<f64> = with_row_lengths(5, &[3, 0, 5]);
        let ell = device.upload(&EllR(&a.to_ell(UNLIMITED).expect("ELL"))).expect("upload");
        let (x, old) = (device.zeros(5).expect("zeros"), [1.5, 2.5, 3.5]);
        let mut y = device.upload(&old).expect("upload");
        let refused = ell.spmv_with(EllOptions::default().with_block_size(64), 1.0, &x, 0.0, &mut y);
        let error = refused.expect_err("no such kernel");
        assert!(
            matches!(&error, OpError::BlockSize { name: "ELL-R", block_size: 64, supported } if *supported == [256]),
            "{error}"
        );
        assert!(error.to_string().ends_with("supported numbers are 256"), "{error}");
        assert_eq!(y.download().expect("download"), old, "nothing was written");
    }
}

/// The variant for measurements: x is read in sequence, regardless of the columns.
#[test]
fn x_in_sequence() {
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<f64> =
            Csr::from_triplets(3, 9, [(0, 8, 1.0), (2, 3, 10.0), (2, 5, 100.0), (2, 8, 1000.0)])
                .expect("a matrix");
        let ell_r = device.upload(&EllR(&a.to_ell(UNLIMITED).expect("ELL"))).expect("upload");
        let x: Vec<f64> = (1..10).map(f64::from).collect();
        let x = device.upload(&x).expect("upload");
        let mut y = device.zeros(3).expect("zeros");
        ell_r.spmv_with_x_in_sequence(1.0, &x, 0.0, &mut y).expect("run");
        assert_eq!(y.download().expect("download"), [1.0, 0.0, 3210.0], "{device}");
    }
}

/// Rows for more than one block of every size, of small integers, whose sums are exact.
#[test]
fn x_in_sequence_by_blocks() {
    for DeviceUnderTest { device, .. } in devices() {
        let lengths: Vec<usize> = (0..1100).map(|row| row * 7 % 20).collect();
        let mut a: Csr<f32> = with_row_lengths(40, &lengths);
        a.values_mut().iter_mut().enumerate().for_each(|(at, value)| *value = (at % 5) as f32 - 1.0);
        let ell_r = device.upload(&EllR(&a.to_ell(UNLIMITED).expect("ELL"))).expect("upload");
        let x: Vec<f32> = (0..40).map(|column| (column * 3 % 11) as f32).collect();
        let product = |(slot, (column, value)): (usize, (u32, f32))| value * x[slot.min(column as usize)];
        let expected: Vec<f32> = a.iter_rows().map(|row| row.iter().enumerate().map(product).sum()).collect();
        let x = device.upload(&x).expect("upload");
        for threads in [32, 64, 128, 256, 384, 512] {
            let mut y = device.upload(&vec![f32::NAN; a.nrows()]).expect("upload");
            ell_r.spmv_in_blocks_with_x_in_sequence(threads, 1.0, &x, 0.0, &mut y).expect("run");
            assert!(y.download().expect("download") == expected, "{device}, {threads} threads");
        }
        let mut y = device.zeros(a.nrows()).expect("zeros");
        let refused = ell_r.spmv_in_blocks_with_x_in_sequence(96, 1.0, &x, 0.0, &mut y);
        let supported = [32, 64, 128, 256, 384, 512];
        assert!(matches!(&refused, Err(OpError::BlockSize { supported: all, .. }) if *all == supported));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_rows(lengths in evenpath_tests::row_lengths(1500, 90), alpha in -2.0..2.0_f64, beta in prop_oneof![Just(0.0), -2.0..2.0_f64]) {
        for DeviceUnderTest { device, .. } in devices() {
            check_products(&device, &with_row_lengths::<f64, u32>(2000, &lengths), alpha, beta);
            check_products(&device, &with_row_lengths::<f32, u64>(2000, &lengths), alpha, beta);
        }
    }
}
