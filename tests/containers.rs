//! Uploads and downloads in every format, on every device.

use std::fmt::Debug;

use evenpath::coo::Coo;
use evenpath::device::Upload;
use evenpath::ell::{EllR, SlicedEllOptions};
use evenpath::error::OpError;
use evenpath::hisparse::{self, HiSparse};
use evenpath::hyb::HybOptions;
use evenpath::{Csr, Device, DeviceCsr, DeviceDense, Layout};
use evenpath_tests::{UNLIMITED, devices, hyb_widths, odd_row_lengths, with_row_lengths};

/// Uploads a matrix, copies it back, and compares.
macro_rules! assert_returns {
    ($device:expr, $uploaded:expr, $expected:expr) => {
        assert_eq!(
            $device.upload($uploaded).expect("upload").download().expect("download"),
            $expected,
            "{}",
            $device
        )
    };
}

#[test]
fn matrices_round_trip() {
    for under_test in devices() {
        let device = &under_test.device;
        for (cols, lengths) in odd_row_lengths() {
            let a: Csr<f64> = with_row_lengths(cols, &lengths);
            assert_returns!(device, &a, a);
            let coo = a.to_coo().expect("memory");
            assert_returns!(device, &coo, coo);
            let ell = a.to_ell(UNLIMITED).expect("ELL");
            assert_returns!(device, &ell, ell);
            assert_returns!(device, &EllR(&ell), ell);
            for (slice_height, scope) in [(1, 1), (32, 1), (7, 100)] {
                let options = SlicedEllOptions::default()
                    .with_slice_height(slice_height)
                    .with_sorting_scope(scope)
                    .with_limit(UNLIMITED);
                let sliced = a.to_sliced_ell(options).expect("sliced ELL");
                assert_returns!(device, &sliced, sliced);
            }
            for block_size in [1, 3, 16] {
                let bsr = a.to_bsr(block_size).expect("BSR");
                assert_returns!(device, &bsr, bsr);
            }
            for width in hyb_widths() {
                let options = HybOptions::default().with_width(width).with_limit(UNLIMITED);
                let hyb = a.to_hyb(options).expect("HYB");
                assert_returns!(device, &hyb, hyb);
            }
            let (_, order) = a.sort_rows_by_length();
            assert_returns!(device, &order, order);
        }
    }
}

#[test]
fn coordinates_round_trip_sorted_by_row() {
    let coo: Coo<f32> =
        Coo::from_triplets(3, 3, [(2, 0, 1.0), (0, 2, 2.0), (2, 1, 3.0), (0, 0, 4.0)]).expect("inside");
    let mut sorted = coo.clone();
    sorted.sort_by_row();
    for under_test in devices() {
        assert_returns!(under_test.device, &coo, sorted);
    }
}

#[test]
fn trees_round_trip_with_transposition_and_scale() {
    let a: Csr<f64> =
        Csr::from_triplets(2, 300, [(0, 0, 1.0), (0, 299, 2.0), (1, 299, 3.0)]).expect("inside");
    let tree: HiSparse<f64> = a.to_hisparse(hisparse::Options::default()).expect("a tree");
    let tree = tree.transpose().scaled(-2.0);
    for under_test in devices() {
        let returned = under_test.device.upload(&tree).expect("upload").download().expect("download");
        assert_eq!((returned.is_transposed(), returned.scale()), (true, -2.0));
        assert_eq!(returned.pool(), tree.pool());
    }
}

/// Slices, arrays and vectors of numbers; dense matrices with gaps.
#[test]
fn vectors_round_trip() {
    fn check<T: Upload + Debug + ?Sized>(device: &Device, values: &T) -> T::OnDevice {
        device.upload(values).unwrap_or_else(|error| panic!("{values:?}: {error}"))
    }
    for under_test in devices() {
        let device = &under_test.device;
        let numbers = vec![1.5_f32, -2.0, 0.0];
        assert_eq!(check(device, &numbers).download().expect("download"), numbers);
        assert_eq!(check(device, &numbers[..2]).download().expect("download"), numbers[..2]);
        assert_eq!(check(device, &[7_u64; 5]).download().expect("download"), [7; 5]);
        assert!(check(device, &[0_u8; 0]).download().expect("download").is_empty());

        let gaps = device.upload(&[1.0, 2.0, 9.0, 3.0, 4.0]).expect("upload");
        let dense =
            DeviceDense::try_with_leading_dimension(gaps, 2, 2, Layout::RowMajor, 3).expect("a matrix");
        assert_eq!(dense.download().expect("download"), [1.0, 2.0, 9.0, 3.0, 4.0]);
    }
}

/// User types can be uploaded too.
#[test]
fn own_types_can_be_uploaded() {
    struct Range(u32);

    impl Upload for Range {
        type OnDevice = evenpath::DeviceVec<u32>;

        fn upload_to(&self, device: &Device) -> Result<Self::OnDevice, evenpath::error::DeviceError> {
            device.upload(&(0..self.0).collect::<Vec<_>>())
        }
    }
    for under_test in devices() {
        assert_eq!(
            under_test.device.upload(&Range(3)).expect("upload").download().expect("download"),
            [0, 1, 2]
        );
    }
}

#[test]
fn matrices_are_made_of_arrays_on_a_device() {
    for device in devices() {
        let device = device.device;
        let try_new = |rows, cols, offsets: &[u32], columns: &[u32], values: &[f64]| {
            let (offsets, columns) = (device.upload(offsets).unwrap(), device.upload(columns).unwrap());
            DeviceCsr::try_new(rows, cols, offsets, columns, device.upload(values).unwrap())
        };
        let a = try_new(3, 4, &[0, 2, 2, 3], &[3, 1, 0], &[1.0, 2.0, 3.0]).unwrap();
        let expected = Csr::try_new(3, 4, vec![0_u32, 2, 2, 3], vec![3, 1, 0], vec![1.0, 2.0, 3.0]).unwrap();
        assert_eq!(a.download().unwrap(), expected, "{device}");
        // Shared arrays are copied, unshared ones are not.
        let other = a.clone();
        let (offsets, columns, values) = a.into_parts().unwrap();
        assert_eq!(other.download().unwrap(), expected);
        let address = columns.raw_address();
        let a = DeviceCsr::try_new(3, 4, offsets, columns, values).unwrap();
        let (offsets, columns, values) = a.into_parts().unwrap();
        assert_eq!((offsets.len(), columns.raw_address()), (4, address));
        assert_eq!(values.download().unwrap(), [1.0, 2.0, 3.0]);
        assert_eq!(try_new(0, 0, &[0], &[], &[]).unwrap().nnz(), 0);
        assert_eq!(try_new(2, 0, &[0, 0, 0], &[], &[]).unwrap().nrows(), 2);
        let refused = |result: Result<DeviceCsr<f64>, OpError>, text: &str| {
            let error = result.expect_err(text).to_string();
            assert!(error.contains(text), "{error} on {device}");
        };
        refused(try_new(3, 4, &[0, 2, 3], &[3, 1, 0], &[1.0; 3]), "row_offsets has length 3");
        refused(try_new(0, 4, &[], &[], &[]), "row_offsets has length 0");
        refused(try_new(2, 4, &[0, 2, 3], &[3, 1, 0], &[1.0; 2]), "values has length 2");
        refused(try_new(2, 4, &[1, 2, 3], &[3, 1, 0], &[1.0; 3]), "starts with 1");
        refused(try_new(2, 4, &[0, 4, 3], &[3, 1, 0], &[1.0; 3]), "decreases from 4 to 3");
        refused(try_new(2, 4, &[0, 2, 2], &[3, 1, 0], &[1.0; 3]), "ends with 2");
        refused(try_new(2, 3, &[0, 2, 3], &[2, 3, 0], &[1.0; 3]), "column 3");
        refused(try_new(2, 0, &[0, 0, 1], &[0], &[1.0]), "column 0");
        let (many, ones): (Vec<u32>, _) = ((0..10_000).collect(), vec![1.0; 10_000]);
        assert_eq!(try_new(1, 10_000, &[0, 10_000], &many, &ones).unwrap().nnz(), 10_000);
        refused(try_new(1, 9_999, &[0, 10_000], &many, &ones), "column 9999");
    }
}
