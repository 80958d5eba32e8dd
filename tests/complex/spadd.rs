//! Sums and other element-wise operations of complex matrices, on the host and on every device.

use std::collections::BTreeMap;

use evenpath::error::OpError;
use evenpath::spadd::Elementwise;
use evenpath::{Complex, Csr, Offset};
use evenpath_tests::{ComplexValue, DeviceUnderTest, complex, complex_rows, devices};
use proptest::prelude::*;

type C32 = Complex<f32>;
type C64 = Complex<f64>;

/// The entries of an operation by definition, in the arithmetic of `V`.
fn oracle<V: ComplexValue, O: Offset>(
    operation: Elementwise,
    (alpha, a): (V, &Csr<V, O>),
    (beta, b): (V, &Csr<V, O>),
) -> Vec<(usize, usize, V)> {
    let mut entries: BTreeMap<(usize, usize), [Option<V>; 2]> = BTreeMap::new();
    for (which, matrix) in [a, b].into_iter().enumerate() {
        for (row, column, value) in matrix.iter() {
            entries.entry((row, column)).or_default()[which] = Some(value);
        }
    }
    let value = |pair: [Option<V>; 2]| match (operation, pair) {
        (Elementwise::Sum, [Some(a), Some(b)]) => Some(alpha * a + beta * b),
        (Elementwise::Sum, [None, Some(b)]) => Some(beta * b),
        (Elementwise::Product, [Some(a), Some(b)]) => Some((alpha * a) * (beta * b)),
        (Elementwise::Sum | Elementwise::MaskOut, [Some(a), None])
        | (Elementwise::Mask, [Some(a), Some(_)]) => Some(alpha * a),
        _ => None,
    };
    entries.into_iter().filter_map(|((row, column), pair)| Some((row, column, value(pair)?))).collect()
}

/// A canonical matrix with about these row lengths, whose columns are moved by `shift`.
fn matrix<V: ComplexValue, O: Offset>(cols: usize, lengths: &[usize], shift: usize) -> Csr<V, O> {
    let all = complex_rows::<V, O>(cols, lengths);
    let moved = all.iter().map(|(row, column, value)| (row, (column + shift * row) % cols, value));
    let matrix = Csr::from_triplets(lengths.len(), cols, moved).expect("inside");
    matrix.try_into_offsets().expect("few")
}

fn check<V: ComplexValue, O: Offset>(a: &Csr<V, O>, b: &Csr<V, O>) {
    let (alpha, beta) = (complex(0.5, -1.0), complex(2.0, 0.25));
    let sum = a.spadd(alpha, b, beta).expect("a sum");
    let expected = oracle(Elementwise::Sum, (alpha, a), (beta, b));
    assert_eq!(sum.iter().collect::<Vec<_>>(), expected, "in host memory");
    for DeviceUnderTest { device, .. } in devices() {
        let (a_there, b_there) = (device.upload(a).expect("upload"), device.upload(b).expect("upload"));
        for operation in Elementwise::ALL {
            let expected = oracle(operation, (alpha, a), (beta, b));
            // In two phases, and then, with both known to be canonical, in one pass.
            for pass in 0..2 {
                let found = a_there.elementwise(operation, alpha, &b_there, beta).expect("a result");
                let found: Vec<_> = found.download().expect("download").iter().collect();
                assert_eq!(found, expected, "{device}, {operation}, pass {pass}");
            }
            let plan = a_there.plan_elementwise(operation, &b_there).expect("a plan");
            let found = plan.run(alpha, beta).expect("a result").download().expect("download");
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{device}, {operation}, by a plan");
        }
    }
}

#[test]
fn odd_shapes() {
    let lengths: [(usize, &[usize]); 5] =
        [(1, &[]), (5, &[0; 40]), (1, &[1]), (9, &[0, 3, 0, 0, 9, 1, 0]), (900, &[3, 0, 700, 12, 1])];
    for (cols, lengths) in lengths {
        let reversed: Vec<usize> = lengths.iter().rev().copied().collect();
        check(&matrix::<C32, u32>(cols, lengths, 0), &matrix(cols, &reversed, 1));
        check(&matrix::<C64, u32>(cols, lengths, 0), &matrix(cols, lengths, 1));
        check(&matrix::<C64, u64>(cols, lengths, 2), &matrix(cols, &reversed, 1));
    }
}

/// Values of a matrix whose factor is zero are ignored, and an absent entry is not a positive zero.
#[test]
fn zero_factors_and_signs() {
    let (nan, negative) = (C64::new(f64::NAN, 1.0), C64::new(-0.0, -0.0));
    let a = Csr::from_triplets(1, 3, [(0, 0, nan), (0, 1, nan)]).expect("inside");
    let b = Csr::from_triplets(1, 3, [(0, 1, C64::new(3.0, 4.0)), (0, 2, negative)]).expect("inside");
    let bits = |values: &[C64]| values.iter().map(|z| [z.re.to_bits(), z.im.to_bits()]).collect::<Vec<_>>();
    let one = C64::new(1.0, 0.0);
    let on_host = a.spadd(C64::ZERO, &b, one).expect("a sum");
    assert_eq!(on_host.values()[1], C64::new(3.0, 4.0));
    for DeviceUnderTest { device, .. } in devices() {
        let (a, b) = (device.upload(&a).expect("upload"), device.upload(&b).expect("upload"));
        let sum = a.spadd(C64::ZERO, &b, one).expect("a sum").download().expect("download");
        assert_eq!(bits(sum.values()), bits(on_host.values()), "{device}");
    }
}

#[test]
fn refused_operands() {
    let a: Csr<C64> = matrix(5, &[3, 1], 0);
    let unsorted = Csr::try_new(2, 5, vec![0, 2, 2], vec![3, 0], vec![C64::ZERO; 2]).expect("valid");
    let one = C64::new(1.0, 0.0);
    for DeviceUnderTest { device, .. } in devices() {
        let there = device.upload(&a).expect("upload");
        let error = there.spadd(one, &device.upload(&unsorted).expect("upload"), one).expect_err("unsorted");
        assert!(matches!(error, OpError::NotCanonical { operand: "B", .. }), "{error}");
        let wide = device.upload(&matrix::<C64, u32>(6, &[3, 1], 0)).expect("upload");
        assert!(matches!(there.spadd(one, &wide, one), Err(OpError::Shape { .. })));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn any_rows(a in evenpath_tests::row_lengths(300, 40), shift in 0_usize..7) {
        let b: Vec<usize> = a.iter().rev().copied().collect();
        check(&matrix::<C32, u32>(300, &a, 0), &matrix(300, &b, shift));
        check(&matrix::<C64, u32>(300, &a, 1), &matrix(300, &b, shift));
    }
}
