//! Sparse matrix times dense matrix: the kernels' division of rows among blocks, groups of lanes and pieces.

use evenpath::spmm::SpmmOptions;
use evenpath::{Csr, Device, Layout, Multiplies, Offset, RealStorage, bf16, f16};
use evenpath_tests::{SpmmOperand, devices, kernel_devices};

use crate::spmm::products::{Case, LAYOUTS, PIECE, among_empty_rows, case, with_row_lengths};

/// Row lengths around those at which a lane takes one more step, a row is cut, or a piece is full.
#[test]
fn lengths_around_steps_and_pieces() {
    for under_test in devices() {
        let device = &under_test.device;
        for length in [
            3,
            4,
            5,
            8,
            31,
            32,
            33,
            64,
            65,
            PIECE - 1,
            PIECE,
            PIECE + 1,
            2 * PIECE,
            2 * PIECE + 1,
            9 * PIECE + 3,
        ] {
            let a: Csr<f64> = with_row_lengths(length, &among_empty_rows(&[length, 1, length, 0]));
            for (columns, layout) in [(2, LAYOUTS[0]), (3, LAYOUTS[1]), (40, LAYOUTS[0]), (66, LAYOUTS[1])] {
                Case { beta: 2.0, ..case(&a, columns, layout) }.check::<f64>(device);
            }
        }
        // Equal rows, so that many nonzeros are adjacent; as many rows as groups of lanes per block, and
        // more.
        for rows in [1, 3, 4, 5, 15, 16, 17, 33] {
            for length in [1, 20, 70] {
                let a: Csr<f32> = with_row_lengths(80, &vec![length; rows]);
                for columns in [1, 4, 24] {
                    for layout in LAYOUTS {
                        case(&a, columns, layout).check::<f32>(device);
                    }
                }
            }
        }
    }
}

/// A matrix's number of columns, and its row lengths.
type Rows<'a> = (usize, &'a [usize]);
/// Number of columns of a product, and the layouts of B and C.
type Product = (usize, Layout, Layout);

/// Checks products by plans for one multiprocessor, which has no lanes to spare, so that a block has many
/// rows: with and without adding to C, in several types, on all devices with kernels. `is_cut` if the matrix
/// has rows that are cut into pieces.
fn check_for_one_multiprocessor(rows: Rows<'_>, products: &[Product], is_cut: bool) {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        check_types::<f64, f64, u32>(device, rows, products, is_cut);
        check_types::<f32, f32, u64>(device, rows, products, is_cut);
        check_types::<f16, f16, u32>(device, rows, products, is_cut);
        check_types::<bf16, f32, u32>(device, rows, products, is_cut);
        check_types::<f32, f64, u32>(device, rows, products, is_cut);
    }
}

fn check_types<S: RealStorage + Multiplies<T>, T: SpmmOperand<S>, O: Offset>(
    device: &Device,
    (cols, lengths): Rows<'_>,
    products: &[Product],
    is_cut: bool,
) {
    let a = with_row_lengths::<S, O>(cols, lengths);
    for &(columns, b_layout, c_layout) in products {
        let options = SpmmOptions::default().with_columns(columns).with_multiprocessors(1);
        let plan = T::plan_spmm(&device.upload(&a).expect("upload"), options).expect("plan");
        for beta in [0.0, -0.5] {
            let case = Case { a: &a, columns, b_layout, c_layout, gap: 0, alpha: 1.5, beta };
            case.check_plan::<T>(device, &plan);
        }
        assert_eq!(plan.info().expect("info").pieces > 0, is_cut, "{columns} columns");
    }
}

/// Blocks whose rows have more nonzeros than they stage at once, with rows that end at, before and after the
/// end of a stage.
#[test]
fn rows_in_stages() {
    let lengths: Vec<usize> = [128, 0, 127, 65, 64, 63, 33, 32, 100, 96].repeat(7);
    let products = [
        (4, Layout::RowMajor, Layout::RowMajor),
        (32, Layout::RowMajor, Layout::RowMajor),
        (40, Layout::RowMajor, Layout::ColumnMajor),
        (32, Layout::ColumnMajor, Layout::ColumnMajor),
    ];
    check_for_one_multiprocessor((130, &lengths[..67]), &products, false);
}

/// The same with rows of pieces among them, in one launch even if much is gathered.
#[test]
fn rows_in_stages_with_pieces() {
    let mut lengths = [128, 0, 127, 65, 64, 63, 33, 32, 100, 96].repeat(7);
    (lengths[3], lengths[40], lengths[69]) = (2 * PIECE, PIECE + 1, 5 * PIECE);
    let products = [
        (32, Layout::RowMajor, Layout::RowMajor),
        (40, Layout::RowMajor, Layout::ColumnMajor),
        (136, Layout::ColumnMajor, Layout::RowMajor),
    ];
    check_for_one_multiprocessor((6 * PIECE, &lengths), &products, true);
}

/// So few long rows that each has a block: of more nonzeros than a block stages, of fewer than it has warps,
/// and of pieces.
#[test]
fn rows_of_a_block_each() {
    let mut lengths = [300, 512, 0, 500, 129, 200, 1, 490, 128, 4];
    let products = [
        (4, Layout::RowMajor, Layout::RowMajor),
        (32, Layout::RowMajor, Layout::RowMajor),
        (40, Layout::RowMajor, Layout::ColumnMajor),
        (66, Layout::RowMajor, Layout::RowMajor),
        (32, Layout::ColumnMajor, Layout::RowMajor),
    ];
    check_for_one_multiprocessor((600, &lengths), &products, false);
    (lengths[3], lengths[7]) = (513, 1100);
    check_for_one_multiprocessor((1200, &lengths), &products[1..4], true);
}

/// Blocks of several short rows per group, also if their nonzeros are more than a block stages, with long
/// rows among them.
#[test]
fn short_rows_in_passes() {
    let mut lengths = [0, 3, 5, 1, 8, 4, 0, 2, 9, 3].repeat(45);
    // Rows that exhaust a block's shared memory, and rows of pieces, among short ones.
    lengths[100..132].fill(30);
    let products = |columns: usize| {
        [
            (32, Layout::RowMajor, Layout::RowMajor),
            (columns, Layout::RowMajor, Layout::RowMajor),
            (32, Layout::RowMajor, Layout::ColumnMajor),
        ]
    };
    check_for_one_multiprocessor((4 * PIECE, &lengths), &products(8), false);
    (lengths[3], lengths[201], lengths[449]) = (2 * PIECE, PIECE + 1, 3 * PIECE);
    check_for_one_multiprocessor((4 * PIECE, &lengths), &products(136), true);
}

/// One row of many pieces: the block that sums them has more pieces than warps, several times over.
#[test]
fn a_row_of_many_pieces() {
    for under_test in devices() {
        let long = if under_test.fast { 2000 * PIECE + 1 } else { 70 * PIECE + 1 };
        let a: Csr<f64> = with_row_lengths(long, &among_empty_rows(&[2, long, 0, PIECE + 1, 5]));
        for layout in LAYOUTS {
            Case { beta: 0.5, ..case(&a, 3, layout) }.check::<f64>(&under_test.device);
        }
        case(&a, 34, Layout::RowMajor).check::<f64>(&under_test.device);
    }
}

/// More pieces than one multiprocessor sums at once, so that they are sorted by their columns: of rows of several lengths, some of which
/// are not cut.
#[test]
fn more_pieces_than_are_summed_at_once() {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let a: Csr<f64> = with_row_lengths(700, &[700, 0, 650, 3, 540, 700, 129].repeat(5));
        let matrix = device.upload(&a).expect("upload");
        for (columns, b_layout, c_layout) in [
            (40, Layout::RowMajor, Layout::RowMajor),
            (40, Layout::RowMajor, Layout::ColumnMajor),
            (67, Layout::ColumnMajor, Layout::RowMajor),
        ] {
            let options = SpmmOptions::default().with_columns(columns).with_layout(b_layout);
            let plan = matrix.plan_spmm(options.with_multiprocessors(1)).expect("plan");
            for beta in [0.0, -0.5] {
                let case = Case { a: &a, columns, b_layout, c_layout, gap: 0, alpha: 1.5, beta };
                case.check_plan::<f64>(device, &plan);
            }
            let pieces = plan.info().expect("info").pieces;
            assert!(pieces > 32, "{pieces} pieces are not more than eight blocks of four warps sum");
        }
    }
}

/// Plans with pieces that run more than once: sums of an earlier run are not mistaken for those of the next.
#[test]
fn pieces_of_several_runs() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> = with_row_lengths(700, &among_empty_rows(&[3, 600, 0, 129, 700, 1, 700]));
        for (columns, layout) in [(64, LAYOUTS[0]), (67, LAYOUTS[1]), (70, LAYOUTS[0])] {
            for beta in [0.0, 2.0] {
                let case = Case { beta, ..case(&a, columns, layout) };
                let options = SpmmOptions::default().with_columns(columns).with_layout(layout);
                let matrix = device.upload(&a).expect("upload");
                let plan = matrix.plan_spmm(options.with_multiprocessors(1)).expect("plan");
                case.check_plan::<f64>(device, &plan);
                case.check_plan::<f64>(device, &plan);
            }
        }
    }
}
