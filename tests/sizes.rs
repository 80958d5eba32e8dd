//! Sizes beyond 32 bits or beyond any memory, wherever one can be given: the error names the size.

use std::process::Command;

use evenpath::coo::Duplicates;
use evenpath::csr::CsrView;
use evenpath::device::SimulatedOptions;
use evenpath::ell::{Ell, PaddingLimit, SlicedEll, SlicedEllOptions};
use evenpath::error::{DeviceError, MatrixError, OpError};
use evenpath::generate::{Kind, generate};
use evenpath::io::{MatrixMarketReader, ReadOptions};
use evenpath::operator::Operator;
use evenpath::scan::{self, ScanOptions};
use evenpath::sets::{self, SetOperation};
use evenpath::sort::{self, SortOptions};
use evenpath::spmm::SpmmOptions;
use evenpath::{Coo, Csr, Device, DeviceDense, HiSparse, Layout, hisparse, merge, reduce};

/// One more than the largest 32-bit number.
const BEYOND: usize = 1 << 32;
/// The maximum number of rows and columns of a matrix.
const MOST: usize = BEYOND - 1;

fn devices() -> [Device; 2] {
    [Device::cpu(), Device::simulated(SimulatedOptions::default().with_memory_bytes(1 << 20))]
}

/// Asserts that the operation fails with an error that names the size.
fn names<T>(size: &str, result: Result<T, impl std::fmt::Display>) {
    match result {
        Ok(_) => panic!("{size} is not refused"),
        Err(error) => assert!(error.to_string().contains(size), "no `{size}` in: {error}"),
    }
}

#[test]
fn shapes_of_host_formats() {
    for (rows, cols) in [(BEYOND, 1), (1, BEYOND), (usize::MAX, 0), (0, usize::MAX)] {
        let size = &format!("{} {}", rows.max(cols), if rows > cols { "rows" } else { "columns" });
        names(size, Csr::<f64>::empty(rows, cols));
        names(size, Csr::<f64>::try_new(rows, cols, vec![0, 0], vec![], vec![]));
        names(size, CsrView::<f64, u64>::try_new(rows, cols, &[0, 0], &[], &[]));
        names(size, Csr::<f64>::from_triplets(rows, cols, []));
        names(size, Coo::<f64>::from_triplets(rows, cols, []));
        names(size, Coo::<f64>::try_new(rows, cols, vec![], vec![], vec![]));
        names(size, Ell::<f64>::try_new(rows, cols, 0, vec![], vec![]));
        names(size, SlicedEll::<f64>::try_new(rows, cols, u32::MAX, vec![0, 0], vec![], vec![], None));
        names(size, HiSparse::<f64, 32>::try_from_pool(rows, cols, &[0; 16], 0));
    }
    // The largest possible row and column, and the next ones.
    let last = [(MOST - 1, MOST - 1, 1.0)];
    assert_eq!(Coo::from_triplets(MOST, MOST, last).expect("in the matrix").nnz(), 1);
    names("row 4294967295", Coo::from_triplets(MOST, MOST, [(MOST, 0, 1.0)]));
    names("column 4294967296", Coo::from_triplets(MOST, MOST, [(0, BEYOND, 1.0)]));
}

#[test]
fn slots_of_padded_formats() {
    names("2 rows of 18446744073709551615 slots", Ell::<f64>::try_new(2, 1, usize::MAX, vec![], vec![]));
    names("18446744073709551615", Ell::<f64>::try_new(0, 1, usize::MAX, vec![], vec![]));
    let ends = vec![0, u64::MAX];
    names("18446744073709551615", SlicedEll::<f64>::try_new(1, 1, 1, ends, vec![], vec![], None));
    // A slice of 2³² - 1 rows, 1000 slots wide.
    let a: Csr<f64> = Csr::from_triplets(2, 1000, (0..1000).map(|col| (1, col, 1.0))).expect("a matrix");
    let one_slice = |limit| {
        a.to_sliced_ell(
            SlicedEllOptions::default()
                .with_slice_height(u32::MAX)
                .with_sorting_scope(usize::MAX)
                .with_limit(limit),
        )
    };
    names("51539607540000 bytes", one_slice(PaddingLimit::default()));
    names("51539607540000 bytes", one_slice(PaddingLimit::Bytes(1 << 40)));
}

#[test]
fn sizes_of_generated_matrices() {
    for (kind, size) in [
        ("stencil5:65536", "4294967296 rows"),
        ("stencil5:18446744073709551615", "18446744073709551615 rows"),
        ("stencil27:1626", "4298942376 rows"),
        ("stencil27:18446744073709551615", "18446744073709551615 rows"),
        ("fem:4294967296", "4294967296 rows"),
        ("block-fem:2147483648x2", "4294967296 rows"),
        ("block-fem:18446744073709551615x6", "18446744073709551615 rows"),
        ("uniform:4294967296", "4294967296 rows"),
        ("power-law:4294967296", "4294967296 rows"),
        ("lp:16843010", "4294967550 columns"),
        ("lp:18446744073709551615", "18446744073709551615 rows"),
        ("empty-rows:4294967296", "4294967296 rows"),
        ("rmat:32", "4294967296 rows"),
        ("rmat:64", "18446744073709551615 rows"),
        ("rmat:4294967295", "18446744073709551615 rows"),
        ("dense:4294967296x1", "4294967296 rows"),
        ("dense:1x4294967296", "4294967296 columns"),
        ("diagonal:18446744073709551615", "18446744073709551615 rows"),
        ("dense:65536", "4294967296 nonzeros"),
        ("block-fem:1x4294967295", "18446744065119617025 nonzeros"),
        ("block-fem:2x65536", "8589934592 nonzeros"),
    ] {
        let kind: Kind = kind.parse().unwrap_or_else(|error| panic!("{error}"));
        names(size, generate::<f64, u32>(kind, 1));
    }
    for size in ["18446744073709551616", "-1", "99999999999999999999999999999999999999999"] {
        names(size, format!("uniform:{size}").parse::<Kind>());
    }
}

#[test]
fn shapes_of_dense_matrices() {
    for device in devices() {
        for layout in [Layout::RowMajor, Layout::ColumnMajor] {
            for (rows, cols) in [(BEYOND, BEYOND), (usize::MAX, 2), (2, usize::MAX), (1 << 60, 8)] {
                names("exceeds the address space", device.zeros_dense::<f64>(rows, cols, layout));
                let vec = || device.zeros::<f32>(6).expect("24 bytes");
                names(&format!("{rows} x {cols}"), DeviceDense::try_new(vec(), rows, cols, layout));
            }
            let vec = || device.zeros::<f32>(6).expect("24 bytes");
            let far = DeviceDense::try_with_leading_dimension(vec(), 2, 2, layout, usize::MAX);
            names("leading dimension 18446744073709551615", far);
            let far = DeviceDense::try_with_leading_dimension(vec(), 2, 2, layout, BEYOND);
            names("leading dimension 4294967296", far);
        }
    }
}

#[test]
fn lengths_of_buffers() {
    for device in devices() {
        for len in [usize::MAX, usize::MAX / 8 + 1, isize::MAX as usize / 8 + 1] {
            let size = &format!("{len} elements of 8 bytes");
            names(size, device.zeros::<f64>(len));
            names(size, device.uninitialized::<u64>(len));
        }
        names("9223372036854775800 bytes", device.zeros::<f64>(isize::MAX as usize / 8));
        assert_eq!(device.memory().expect("memory").in_use, 0, "{device}");
        // Sums with a limit do not overflow.
        let some = device.zeros::<u8>(1000).expect("1000 bytes");
        device.set_memory_limit(Some(u64::MAX - 1));
        names("9223372036854775807 bytes", device.zeros::<u8>(isize::MAX as usize));
        drop(some);
    }
}

#[test]
fn columns_and_strides_of_dense_operands() {
    for device in devices() {
        let a: Csr<f64> = Csr::from_triplets(3, 3, (0..3).map(|at| (at, at, 2.0))).expect("diagonal");
        let on_device = device.upload(&a).expect("memory");
        let is_cpu = device.kind() == evenpath::device::DeviceKind::Cpu;
        for columns in [usize::MAX, usize::MAX / 2, 1 << 61] {
            let options = SpmmOptions::default().with_columns(columns).with_layout(Layout::ColumnMajor);
            let plan = on_device.plan_spmm(options);
            // The CPU needs no workspace. Other devices copy B, in passes of as many columns as a launch
            // supports.
            assert_eq!(plan.is_ok(), is_cpu);
            if let Err(error) = plan {
                let about_memory = matches!(
                    error,
                    OpError::Device(DeviceError::TooLarge { .. } | DeviceError::OutOfMemory { .. })
                );
                assert!(about_memory, "{error}");
            }
        }
        // One row or column; the next would be out of the address space.
        for far in [BEYOND, 1 << 62, usize::MAX] {
            let line = |values: &[f64], rows, cols, layout| {
                let vec = device.upload(values).expect("memory");
                DeviceDense::try_with_leading_dimension(vec, rows, cols, layout, far).expect("one line")
            };
            let one_column: Csr<f64> = Csr::from_triplets(1, 1, [(0, 0, 2.0)]).expect("one entry");
            let one_column = device.upload(&one_column).expect("memory");
            let plan = one_column.plan_spmm(SpmmOptions::default().with_columns(2)).expect("a plan");
            let b = line(&[1.0, 2.0], 1, 2, Layout::RowMajor);
            let mut c = line(&[0.0, 0.0], 1, 2, Layout::RowMajor);
            match plan.run(1.0, &b, 0.0, &mut c) {
                Ok(()) => assert_eq!(c.as_vec().download().expect("memory"), [2.0, 4.0], "{device}"),
                refused => names(&far.to_string(), refused),
            }
            let tree = one_column.to_hisparse::<32>(hisparse::Options::default()).expect("a tree");
            for mode in [hisparse::SpmvMethod::Leaves, hisparse::SpmvMethod::Copied] {
                let plan =
                    tree.plan_spmm(hisparse::SpmmOptions::default().with_method(mode)).expect("a plan");
                match plan.run(1.0, &b, 0.0, &mut c) {
                    Ok(()) => assert_eq!(c.as_vec().download().expect("memory"), [2.0, 4.0], "{device}"),
                    refused => names(&far.to_string(), refused),
                }
            }
            let plan = on_device.plan_spmm(SpmmOptions::default().with_columns(1)).expect("a plan");
            let b = line(&[1.0, 2.0, 3.0], 3, 1, Layout::ColumnMajor);
            let mut c = line(&[0.0; 3], 3, 1, Layout::ColumnMajor);
            match plan.run(1.0, &b, 0.0, &mut c) {
                Ok(()) => assert_eq!(c.as_vec().download().expect("memory"), [2.0, 4.0, 6.0], "{device}"),
                refused => names(&far.to_string(), refused),
            }
        }
        let tree = a.to_hisparse::<32>(hisparse::Options::default()).expect("a tree");
        names("18446744073709551615", tree.spmm(usize::MAX, 1.0, &[0.0; 3], 0.0, &mut [0.0; 3]));
    }
}

/// Memory estimates for absurd lengths are absurdly large; they neither panic nor wrap around.
#[test]
fn temporary_memory_of_sequences() {
    let options = SortOptions::default();
    let sums = ScanOptions::exclusive(Operator::Sum);
    for len in [BEYOND, usize::MAX / 16, usize::MAX] {
        for bytes in [
            scan::values_temporary_bytes(len, sums),
            scan::values_temporary_bytes(len, sums.with_initial(1.0)),
            scan::by_flags_temporary_bytes::<f64>(len),
            scan::by_keys_temporary_bytes::<u32, f64>(len),
            scan::by_offsets_temporary_bytes::<f64>(len, len),
            reduce::by_keys_temporary_bytes::<u32, f64>(len),
            reduce::by_flags_temporary_bytes::<f64>(len),
            reduce::by_offsets_temporary_bytes::<f64>(len, len),
            merge::keys_temporary_bytes::<u32>(len, len),
            merge::pairs_temporary_bytes::<u32, f64>(len, len),
            sets::keys_temporary_bytes::<u32>(len, len),
            sets::pairs_temporary_bytes::<u32, f64>(len, len),
            sets::count_temporary_bytes::<u32>(len, len),
            sort::keys_temporary_bytes::<u64>(len, options).expect("all bits"),
            sort::pairs_temporary_bytes::<u64, f64>(len, options).expect("all bits"),
            sort::keys_by_offsets_temporary_bytes::<u64>(1, len, options).expect("all bits"),
            sort::pairs_by_offsets_temporary_bytes::<u64, f64>(1, len, options).expect("all bits"),
        ] {
            assert!(bytes >= len as u64 / 4096, "{len}: {bytes}");
        }
        for operation in SetOperation::ALL {
            assert!(operation.largest_result(len, len) >= len, "{operation} of {len}");
        }
    }
    let keys = Device::cpu().upload(&[1_u32]).expect("memory");
    names("4294967295", sort::keys(&keys, SortOptions::default().with_bits(0..u32::MAX)));
    assert_eq!(
        scan::values(&keys, ScanOptions::inclusive(Operator::Sum))
            .expect("a sum")
            .download()
            .expect("memory"),
        [1]
    );
}

/// A failed allocation is an error and does not abort the process. The test runs itself in a child process that is limited
/// to a few gigabytes.
#[cfg(target_os = "linux")]
#[test]
fn refused_allocations_are_errors() {
    const IN_CHILD: &str = "EVENPATH_TEST_LITTLE_MEMORY";
    if std::env::var_os(IN_CHILD).is_some() {
        ask_for_too_much();
        return;
    }
    let child = Command::new("sh")
        .args(["-c", "ulimit -v 3000000 && exec \"$0\" --exact sizes::refused_allocations_are_errors"])
        .arg(std::env::current_exe().expect("a test"))
        .envs([(IN_CHILD, "1"), ("RAYON_NUM_THREADS", "2")])
        .output()
        .expect("a shell");
    let output = [child.stdout, child.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(child.status.success() && output[0].contains("1 passed"), "{}\n{}", output[0], output[1]);
}

fn ask_for_too_much() {
    let rows = &format!("{MOST} rows");
    names(rows, Csr::<f64, u64>::empty(MOST, 1));
    for entries in [vec![], vec![(0, 0, 1.0), (MOST - 1, 0, 2.0)], vec![(9, 0, 1.0), (0, 0, 2.0)]] {
        let tall = Coo::from_triplets(MOST, 1, entries).expect("few entries");
        for duplicates in [Duplicates::Sum, Duplicates::Keep, Duplicates::Refuse] {
            names(rows, tall.to_csr_with_offsets::<u64>(duplicates));
        }
        let mut sorted = tall.clone();
        sorted.sort_by_row();
        assert!(sorted.is_sorted_by_row() && sorted.nnz() == tall.nnz());
    }
    let header = b"%%MatrixMarket matrix coordinate real general\n4294967295 1 1\n7 1 1\n";
    let reader = MatrixMarketReader::from_bytes(header, ReadOptions::default().with_row_limit(MOST))
        .expect("a header");
    names(rows, reader.read_csr::<f64, u64>());
    for kind in [
        "diagonal:4294967295",
        "empty-rows:4294967295",
        "rmat:31",
        "dense:1000000x1000000",
        "block-fem:1x1000000000",
    ] {
        match generate::<f64, u64>(kind.parse().expect("a kind"), 1) {
            Err(MatrixError::OutOfMemory { .. }) => {}
            other => panic!("{kind}: {other:?}"),
        }
    }

    let wide: Csr<f64> = Csr::from_triplets(1, MOST, [(0, MOST - 1, 1.0), (0, 3, 2.0)]).expect("few entries");
    names("1 x 4294967295", wide.to_dense());
    names(rows, wide.transpose());
    let slices =
        SlicedEllOptions::default().with_slice_height(u32::MAX).with_limit(PaddingLimit::Times(u32::MAX));
    names("1 rows with 2 nonzeros", wide.to_sliced_ell(slices));
    let tall = wide.to_hisparse::<256>(hisparse::Options::default()).expect("few nodes").transpose();
    names(rows, tall.to_csr());
    names(rows, tall.to_coo());
    shared_leaves();
    let simulated = Device::simulated(SimulatedOptions::default().with_memory_bytes(1 << 40));
    for device in [Device::cpu(), simulated] {
        names("34359738368 bytes", device.zeros::<f64>(BEYOND));
        let transposed = device.upload(&wide).expect("few entries").transpose();
        match transposed {
            Err(
                OpError::Matrix(MatrixError::OutOfMemory { rows: MOST, .. })
                | OpError::Device(DeviceError::OutOfMemory { .. }),
            ) => {}
            other => panic!("{other:?}"),
        }
        let entries = Coo::from_triplets(MOST, 1, [(9, 0, 1.0), (0, 0, 2.0)]).expect("few entries");
        let entries = device.upload(&entries).expect("few entries");
        assert!(entries.to_csr().is_err());
    }
}

/// Four levels of full nodes, whose children are all the next node: 2³⁰ leaves, too many to list in memory.
fn shared_leaves() {
    let slots = [257_u32 << 2, 513 << 2, 769 << 2, 1.0_f32.to_bits()];
    let nodes = slots.into_iter().flat_map(|slot| std::iter::repeat_n(slot, 1024));
    let pool: Vec<u8> = [0; 4].into_iter().chain(nodes).flat_map(u32::to_le_bytes).collect();
    let side = 1 << 20;
    let tree = HiSparse::<f32, 32>::try_from_pool_with_limit(side, side, &pool, 4, 1 << 40).expect("a tree");
    let size = "1048576 rows with 1099511627776 nonzeros";
    names(size, tree.to_csr_with_offsets::<u64>());
    names(size, tree.to_coo());
    let (x, mut y) = (vec![1.0; side], vec![7.0; side]);
    names(size, tree.spmv(1.0, &x, 0.0, &mut y));
    assert_eq!(y, vec![7.0; side]);
    names("the nodes do not fit into 17179869184 bytes", tree.spadd(&tree.transpose()));
    names(size, tree.spgemm(&tree));
    let on_cpu = Device::cpu().upload(&tree).expect("16 KB");
    assert!(on_cpu.to_csr_with_offsets::<u64>().is_err() && on_cpu.to_coo().is_err());
}
