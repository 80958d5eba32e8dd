//! Matrices of blocks, on the host and on every device.

use evenpath::error::{MatrixError, OpError};
use evenpath::spgemm::SpgemmOptions;
use evenpath::{Csr, Device, DeviceCsr, Offset, RealStorage, bf16, f16};
use evenpath_kernels::stack::PlaceBlock;
use evenpath_tests::{
    device_of_each_kind, devices, row_lengths, rows_of, stored_with_row_lengths as matrix, tile_len,
};
use proptest::prelude::*;

/// Blocks by their numbers in a list, in rows and columns.
type Grid<'g> = &'g [&'g [Option<usize>]];

/// Functions of a list of blocks.
type OfHost<V, O> = fn(&[&Csr<V, O>]) -> Result<Csr<V, O>, MatrixError>;
type OfDevice<V, O> = fn(&[&DeviceCsr<V, O>]) -> Result<DeviceCsr<V, O>, OpError>;
/// Blocks in rows and columns.
type Matrices<'a> = Vec<Vec<Option<&'a Csr<f64>>>>;

/// Entries of the result, row by row, from those of the blocks.
fn expected<V: RealStorage, O: Offset>(blocks: &[Csr<V, O>], grid: Grid<'_>) -> Vec<Vec<(u32, f64)>> {
    let size = |mut line: Box<dyn Iterator<Item = Option<usize>> + '_>, of: fn((usize, usize)) -> usize| {
        of(blocks[line.find_map(|block| block).expect("a block")].shape())
    };
    let widths: Vec<usize> = (0..grid[0].len())
        .map(|column| size(Box::new(grid.iter().map(move |row| row[column])), |shape| shape.1))
        .collect();
    let mut rows = vec![];
    for line in grid {
        let height = size(Box::new(line.iter().copied()), |shape| shape.0);
        for row in 0..height {
            let mut entries = vec![];
            let mut first = 0;
            for (block, width) in line.iter().zip(&widths) {
                let own = block.map_or(vec![], |block| rows_of(&blocks[block])[row].clone());
                entries.extend(own.into_iter().map(|(column, value)| (column + first, value)));
                first += *width as u32;
            }
            rows.push(entries);
        }
    }
    rows
}

fn check<V: RealStorage, O: Offset>(device: &Device, blocks: &[Csr<V, O>], grid: Grid<'_>) {
    let of = |row: &&[Option<usize>]| row.iter().map(|block| block.map(|at| &blocks[at])).collect::<Vec<_>>();
    let host: Vec<_> = grid.iter().map(of).collect();
    let on_host =
        Csr::from_blocks(&host.iter().map(Vec::as_slice).collect::<Vec<_>>()).expect("blocks that fit");
    assert_eq!(rows_of(&on_host), expected(blocks, grid), "{blocks:?}, {grid:?}");
    let uploaded: Vec<_> = blocks.iter().map(|block| device.upload(block).expect("upload")).collect();
    let of =
        |row: &&[Option<usize>]| row.iter().map(|block| block.map(|at| &uploaded[at])).collect::<Vec<_>>();
    let grid: Vec<_> = grid.iter().map(of).collect();
    let joined = DeviceCsr::from_blocks(&grid.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let joined = joined.expect("blocks that fit").download().expect("download");
    assert_eq!(joined, on_host, "{device}: {blocks:?}");
}

/// Checks the shapes that have names, for blocks that fit beside and below each other.
fn check_named<V: RealStorage, O: Offset>(device: &Device, blocks: &[Csr<V, O>]) {
    let all: Vec<Option<usize>> = (0..blocks.len()).map(Some).collect();
    let diagonal: Vec<Vec<_>> =
        all.iter().map(|&own| all.iter().map(|&block| block.filter(|_| block == own)).collect()).collect();
    let host: Vec<_> = blocks.iter().collect();
    let uploaded: Vec<_> = blocks.iter().map(|block| device.upload(block).expect("upload")).collect();
    let uploaded: Vec<_> = uploaded.iter().collect();
    let check = |on_host: OfHost<V, O>, on_device: OfDevice<V, O>, grid: Grid<'_>| {
        let result = on_host(&host).expect("blocks that fit");
        assert_eq!(rows_of(&result), expected(blocks, grid), "{blocks:?}");
        let joined = on_device(&uploaded).expect("blocks that fit");
        assert_eq!(joined.download().expect("download"), result, "{device}: {blocks:?}");
        result.shape()
    };
    let (rows, cols) = (host.iter().map(|a| a.nrows()).sum(), host.iter().map(|a| a.ncols()).sum());
    let below: Vec<_> = all.chunks(1).collect();
    assert_eq!(check(Csr::vstack, DeviceCsr::vstack, &below), (rows, host[0].ncols()));
    assert_eq!(check(Csr::hstack, DeviceCsr::hstack, &[&all]), (host[0].nrows(), cols));
    let diagonal: Vec<_> = diagonal.iter().map(Vec::as_slice).collect();
    assert_eq!(check(Csr::block_diagonal, DeviceCsr::block_diagonal, &diagonal), (rows, cols));
}

#[test]
fn every_type_and_shape() {
    fn all<V: RealStorage, O: Offset>() {
        for under_test in devices() {
            let device = &under_test.device;
            for (cols, lengths) in [
                (0, vec![&[][..], &[]]),
                (3, vec![&[][..], &[]]),
                (0, vec![&[0, 0, 0][..], &[0; 3], &[0; 3]]),
                (1, vec![&[1][..]]),
                (7, vec![&[0, 5, 1, 0][..], &[0; 4], &[3, 0, 900, 2]]),
                (40, vec![&[2; 300][..], &[0; 300]]),
            ] {
                let blocks: Vec<Csr<V, O>> = lengths.iter().map(|lengths| matrix(cols, lengths)).collect();
                check_named(device, &blocks);
            }
            let blocks: [Csr<V, O>; 5] = [
                matrix(5, &[1, 0, 7]),
                matrix(2, &[0, 4, 3]),
                matrix(5, &[6, 2]),
                matrix(2, &[0, 1]),
                matrix(5, &[]),
            ];
            check(device, &blocks, &[&[Some(0), Some(1)], &[Some(2), Some(3)]]);
            check(device, &blocks, &[&[Some(1), None, Some(0)], &[None, Some(2), Some(2)]]);
            check(
                device,
                &blocks,
                &[&[None, Some(0)], &[Some(3), None], &[None, Some(4)], &[Some(3), Some(2)]],
            );
        }
    }
    all::<f16, u32>();
    all::<bf16, u64>();
    all::<f32, u64>();
    all::<f64, u32>();
}

/// Rows that begin, end and are cut at the edges of tiles.
#[test]
fn rows_around_the_edges_of_tiles() {
    let tile = tile_len::<PlaceBlock<u64, u32>>();
    for under_test in devices() {
        let blocks: [Csr<f64>; 2] =
            [matrix(97, &[1, tile - 2, 0, tile, 3]), matrix(97, &[0, 2, tile + 1, 1, tile / 2])];
        check_named(&under_test.device, &blocks);
    }
}

#[test]
fn blocks_that_do_not_fit() {
    let (a, b): (Csr<f64>, Csr<f64>) = (matrix(4, &[1, 2]), matrix(3, &[1, 0, 2]));
    let cases: [(Matrices<'_>, MatrixError); 8] = [
        (vec![], MatrixError::NoBlocks),
        (vec![vec![], vec![]], MatrixError::NoBlocks),
        (vec![vec![Some(&a)], vec![]], MatrixError::BlockCount { row: 1, found: 0, needed: 1 }),
        (vec![vec![Some(&a)], vec![None]], MatrixError::EmptyBlocks { what: "row", index: 1 }),
        (vec![vec![Some(&a), None]], MatrixError::EmptyBlocks { what: "column", index: 1 }),
        (vec![vec![Some(&a), Some(&b)]], MatrixError::BlockRows { row: 0, column: 1, found: 3, needed: 2 }),
        (
            vec![vec![Some(&a)], vec![Some(&b)]],
            MatrixError::BlockColumns { row: 1, column: 0, found: 3, needed: 4 },
        ),
        (
            vec![vec![None, Some(&b)], vec![Some(&b), None], vec![Some(&a), Some(&b)]],
            MatrixError::BlockColumns { row: 2, column: 0, found: 4, needed: 3 },
        ),
    ];
    for device in device_of_each_kind() {
        for (grid, expected) in &cases {
            let host: Vec<_> = grid.iter().map(Vec::as_slice).collect();
            assert_eq!(Csr::from_blocks(&host).unwrap_err(), *expected);
            let uploaded: Vec<Vec<_>> = grid
                .iter()
                .map(|row| row.iter().map(|block| block.map(|block| device.upload(block).unwrap())).collect())
                .collect();
            let grid: Vec<Vec<_>> =
                uploaded.iter().map(|row| row.iter().map(Option::as_ref).collect()).collect();
            let grid: Vec<_> = grid.iter().map(Vec::as_slice).collect();
            let error = DeviceCsr::from_blocks(&grid).unwrap_err();
            assert!(matches!(&error, OpError::Matrix(error) if error == expected), "{device}: {error}");
        }
        let none: [&DeviceCsr<f64>; 0] = [];
        for refused in [DeviceCsr::vstack(&none), DeviceCsr::hstack(&none), DeviceCsr::block_diagonal(&none)]
        {
            assert!(matches!(refused.unwrap_err(), OpError::Matrix(MatrixError::NoBlocks)));
        }
    }
}

#[test]
fn results_that_are_too_large() {
    let large: Csr<f32> = Csr::empty(1, u32::MAX as usize).unwrap();
    let many: Csr<f32> = matrix(1, &[1 << 16]);
    for device in device_of_each_kind() {
        let (wide, long) = (device.upload(&large).unwrap(), device.upload(&many).unwrap());
        let error = DeviceCsr::hstack(&[&wide, &wide]).unwrap_err();
        let cols = 2 * u32::MAX as usize;
        assert!(
            matches!(error, OpError::Matrix(MatrixError::TooManyColumns { cols: found }) if found == cols)
        );
        assert_eq!(Csr::hstack(&[&large, &large]).unwrap_err(), MatrixError::TooManyColumns { cols });
        // 2³² nonzeros.
        let error = DeviceCsr::vstack(&vec![&long; 1 << 16]).unwrap_err();
        assert!(matches!(error, OpError::Matrix(MatrixError::OffsetOverflow { nnz: 0x1_0000_0000, .. })));
        let error = Csr::vstack(&vec![&many; 1 << 16]).unwrap_err();
        assert!(matches!(error, MatrixError::OffsetOverflow { nnz: 0x1_0000_0000, .. }));
    }
}

#[test]
fn operands_and_results() {
    for device in device_of_each_kind() {
        let a: Csr<f64> = Csr::from_triplets(2, 2, [(0, 1, 1.0), (1, 0, 2.0)]).unwrap();
        let uploaded = device.upload(&a).unwrap();
        uploaded.spgemm(&uploaded, SpgemmOptions::default()).unwrap();
        let (below, beside) =
            (DeviceCsr::vstack(&[&uploaded; 2]).unwrap(), DeviceCsr::hstack(&[&uploaded; 2]).unwrap());
        // Values of their own.
        uploaded.set_values(&[-1.0; 2]).unwrap();
        assert_eq!(below.download().unwrap().values(), [1.0, 2.0, 1.0, 2.0]);
        assert_eq!(beside.download().unwrap().values(), [1.0, 1.0, 2.0, 2.0]);
        // Blocks that are known to be sorted.
        let product = beside.spgemm(&below, SpgemmOptions::default()).unwrap().download().unwrap();
        assert_eq!(product.to_dense().unwrap(), [4.0, 0.0, 0.0, 4.0]);
        // Another device, and a graph.
        if device.kind() != Device::cpu().kind() {
            let other = Device::cpu().upload(&a).unwrap();
            assert!(matches!(DeviceCsr::vstack(&[&uploaded, &other]), Err(OpError::Device(_))));
        }
        let captured = device.capture((), |()| DeviceCsr::hstack(&[&uploaded; 2]).map(drop));
        let error = captured.and_then(|mut graph| graph.launch()).unwrap_err().to_string();
        assert!(error.contains("matrix of blocks"), "{device}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_structure(lengths in row_lengths(900, 40), shift in 0..40_usize, count in 1..5_usize) {
        let blocks: Vec<Csr<f32, u64>> = (0..count)
            .map(|block| {
                let mut lengths = lengths.clone();
                let len = lengths.len().max(1);
                lengths.rotate_left(block * shift % len);
                matrix(100, &lengths)
            })
            .collect();
        for under_test in devices() {
            check_named(&under_test.device, &blocks);
        }
    }
}
