//! Coordinates of complex values, on every device.

use evenpath::coo::DeviceCoo;
use evenpath::device::SimulatedOptions;
use evenpath::error::{DeviceError, OpError};
use evenpath::{Complex, Coo, Csr, Device, DeviceCsr, Factor, Offset};
use evenpath_kernels::coo::CooInterval;
use evenpath_tests::{
    ComplexValue, DeviceUnderTest, complex, complex_rows, complex_spmv as oracle, complex_vector, devices,
    odd_row_lengths, tile_len, unlike_devices,
};

type C32 = Complex<f32>;
type C64 = Complex<f64>;

fn upload<V: ComplexValue, O: Offset>(device: &Device, a: &Csr<V, O>) -> DeviceCoo<V> {
    device.upload(&a.to_coo().expect("memory")).expect("upload")
}

/// Multiplies with y filled with NaN if β is zero, and compares with the oracle.
fn check<V: ComplexValue>(device: &Device, a: &Csr<V>, (alpha, beta): (V, V)) {
    let x: Vec<V> = complex_vector(a.ncols(), 1);
    let mut y: Vec<V> = complex_vector(a.nrows(), 2);
    let expected = oracle(a, (alpha, &x), (beta, &y));
    if beta == V::ZERO {
        y.fill(complex(f64::NAN, f64::NAN));
    }
    let matrix = upload(device, a);
    let (x, mut y) = (device.upload(&x).expect("upload"), device.upload(&y).expect("upload"));
    matrix.spmv(alpha, &x, beta, &mut y).expect("a product");
    if let Err(difference) = expected.check(&y.download().expect("download")) {
        panic!("{device}, {a:?}, {alpha}, {beta}: {difference}");
    }
}

fn check_lengths<V: ComplexValue>(device: &Device, cols: usize, lengths: &[usize]) {
    let a = complex_rows::<V, u32>(cols, lengths);
    for (alpha, beta) in [((1.0, 0.0), (0.0, 0.0)), ((-0.5, 2.0), (1.0, 0.0)), ((0.0, 1.0), (3.0, -1.0))] {
        check(device, &a, (complex(alpha.0, alpha.1), complex(beta.0, beta.1)));
    }
}

#[test]
fn products() {
    for DeviceUnderTest { device, .. } in devices() {
        for (cols, lengths) in odd_row_lengths() {
            check_lengths::<C32>(&device, cols, &lengths);
            check_lengths::<C64>(&device, cols, &lengths);
        }
    }
}

/// Entries around the number per lane, step and interval; rows that end with these, or extend over many.
#[test]
fn products_around_edges() {
    let steps = [tile_len::<CooInterval<C32>>() / 8, tile_len::<CooInterval<C64>>() / 8]; // per warp
    let interval = evenpath_lab::COO_INTERVAL as usize;
    for DeviceUnderTest { device, .. } in devices() {
        for edge in [4, 128, steps[0], steps[1], interval, 8 * interval] {
            for len in [edge - 1, edge, edge + 1] {
                check(
                    &device,
                    &complex_rows::<C32, u32>(len, &[len, 3]),
                    (complex(1.5, 1.0), complex(0.5, 0.0)),
                );
                check(
                    &device,
                    &complex_rows::<C64, u32>(len, &[2, len, 0, 1]),
                    (complex(1.0, 0.0), C64::ZERO),
                );
            }
        }
    }
}

#[test]
fn conversions() {
    fn back_and_forth<V: ComplexValue, O: Offset>(device: &Device, a: &Csr<V, O>) {
        let matrix = device.upload(a).expect("upload");
        let coordinates = matrix.to_coo().expect("coordinates");
        assert_eq!((coordinates.shape(), coordinates.nnz()), (a.shape(), a.nnz()), "{device}");
        let downloaded = coordinates.download().expect("download");
        assert_eq!(downloaded, a.to_coo().expect("memory"), "{device}");
        let csr: DeviceCsr<V, O> = coordinates.to_csr_with_offsets().expect("CSR");
        assert_eq!(&csr.download().expect("download"), a, "{device}");
    }
    let unsorted = Coo::try_new(3, 2, vec![2, 0, 2, 0], vec![1, 1, 0, 1], complex_vector::<C64>(4, 3));
    let unsorted = unsorted.expect("valid");
    for DeviceUnderTest { device, .. } in devices() {
        for (cols, lengths) in odd_row_lengths() {
            back_and_forth(&device, &complex_rows::<C32, u64>(cols, &lengths));
            back_and_forth(&device, &complex_rows::<C64, u32>(cols, &lengths));
        }
        // Sorted by row; duplicates stay, in their order.
        let uploaded = device.upload(&unsorted).expect("upload");
        assert_eq!(uploaded.download().expect("download").row_indices(), [0, 0, 2, 2], "{device}");
        let values = unsorted.values();
        let (offsets, columns, values) =
            (vec![0_u32, 2, 2, 4], vec![1, 1, 1, 0], vec![values[1], values[3], values[0], values[2]]);
        let expected = Csr::try_new(3, 2, offsets, columns, values).expect("valid");
        let found = uploaded.to_csr().expect("CSR").download().expect("download");
        assert_eq!(found, expected, "{device}");
    }
}

/// Factors in device memory, new factors in a graph, and vectors that begin anywhere.
#[test]
fn factors_graphs_and_parts_of_vectors() {
    let a: Csr<C32> = complex_rows(900, &[vec![3, 0, 900, 17], vec![2; 700]].concat());
    let (x, old) = (complex_vector::<C32>(a.ncols(), 1), complex_vector::<C32>(a.nrows(), 2));
    let (alpha, beta) = (C32::new(2.0, -1.0), C32::new(0.5, 0.25));
    let expected = oracle(&a, (alpha, &x), (beta, &old));
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = upload(&device, &a);
        let factors = device.upload(&[alpha, beta]).expect("upload");
        let (first, second) = (factors.slice(..1).expect("inside"), factors.slice(1..).expect("inside"));
        let on_device = device.upload(&x).expect("upload");
        let mut y = device.upload(&old).expect("upload");
        matrix.spmv(Factor::from(&first), &on_device, Factor::from(&second), &mut y).expect("a product");
        assert_eq!(expected.check(&y.download().expect("download")), Ok(()), "{device}");

        let state = (device.upload(&x).expect("upload"), device.upload(&old).expect("upload"));
        let graph = device.capture(state, |(x, y)| matrix.spmv(alpha, x, beta, y));
        let mut graph = graph.expect("a graph");
        graph.launch().expect("a launch");
        let found = graph.state().1.download().expect("download");
        assert_eq!(expected.check(&found), Ok(()), "{device}");

        let around =
            |values: &[C32]| device.upload(&[&[C32::new(7.0, 8.0)], values].concat()).expect("upload");
        let (x, mut y) = (around(&x), around(&old));
        let mut part = y.slice_mut(1..).expect("inside");
        matrix.spmv(alpha, &x.slice(1..).expect("inside"), beta, &mut part).expect("a product");
        drop(part);
        let parts = y.download().expect("download");
        assert_eq!((parts[0], &parts[1..]), (C32::new(7.0, 8.0), found.as_slice()), "{device}");
    }
}

#[test]
fn same_bits_on_all_gpus() {
    let a: Csr<C64> = complex_rows(2000, &[vec![3, 0, 2000, 17], vec![2; 700]].concat());
    let bits: Vec<Vec<[u64; 2]>> = unlike_devices()
        .into_iter()
        .map(|DeviceUnderTest { device, .. }| {
            let (matrix, x) = (upload(&device, &a), complex_vector::<C64>(a.ncols(), 3));
            let x = device.upload(&x).expect("upload");
            let run = || {
                let mut y = device.zeros(a.nrows()).expect("zeros");
                matrix.spmv(C64::new(1.25, 0.5), &x, C64::ZERO, &mut y).expect("a product");
                let bits = |y: C64| [y.re.to_bits(), y.im.to_bits()];
                y.download().expect("download").into_iter().map(bits).collect::<Vec<_>>()
            };
            let first = run();
            assert_eq!(run(), first, "{device}");
            first
        })
        .collect();
    assert!(bits.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn refused_operands_leave_outputs_unchanged() {
    let one = C64::new(1.0, 0.0);
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = upload(&device, &complex_rows::<C64, u32>(5, &[3, 0, 5]));
        let (x, mut y) =
            (device.upload(&[one; 4]).expect("upload"), device.upload(&[one; 3]).expect("upload"));
        let error = matrix.spmv(one, &x, C64::ZERO, &mut y).expect_err("x is short");
        assert!(matches!(error, OpError::Length { operand: "x", len: 4, needed: 5 }), "{error}");
        let elsewhere = Device::simulated(SimulatedOptions::default()).upload(&[one; 5]).expect("upload");
        let error = matrix.spmv(one, &elsewhere, C64::ZERO, &mut y).expect_err("elsewhere");
        assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
        assert_eq!(y.download().expect("download"), [one; 3]);
    }
}
