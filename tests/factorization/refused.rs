use evenpath::error::{DeviceError, OpError};
use evenpath::factorization::{FactorizationOptions, Ic0Plan, Ilu0Plan};
use evenpath::{Csr, DeviceCsr};
use evenpath_tests::{DeviceUnderTest, devices};

/// The errors of both plans of a matrix.
fn errors(a: &DeviceCsr<f64>, options: FactorizationOptions) -> [OpError; 2] {
    let lu = Ilu0Plan::new_with(a, options).map(drop).expect_err("refused");
    [lu, Ic0Plan::new_with(a, options).map(drop).expect_err("refused")]
}

#[test]
fn matrices_of_other_kinds() {
    let options = FactorizationOptions::default();
    for DeviceUnderTest { device, .. } in devices() {
        let wide = device.upload(&Csr::from_triplets(2, 3, [(0, 0, 1.0), (1, 1, 1.0)]).expect("inside"));
        for error in errors(&wide.expect("upload"), options) {
            assert!(matches!(error, OpError::Shape { operand: "A", cols: 3, needed_cols: 2, .. }), "{error}");
        }
        let unsorted = Csr::try_new(2, 2, vec![0_u32, 1, 3], vec![0, 1, 0], vec![1.0; 3]).expect("valid");
        for error in errors(&device.upload(&unsorted).expect("upload"), options) {
            assert!(matches!(error, OpError::NotCanonical { operand: "A", row: 1, .. }), "{error}");
        }
        let missing = Csr::from_triplets(3, 3, [(0, 0, 1.0), (1, 0, 1.0), (1, 2, 1.0)]).expect("inside");
        for error in errors(&device.upload(&missing).expect("upload"), options) {
            assert!(matches!(error, OpError::MissingDiagonal { operand: "A", row: 1 }), "{error}");
        }
        let one = device.upload(&Csr::from_triplets(1, 1, [(0, 0, 1.0)]).expect("inside")).expect("upload");
        for shift in [-0.5, f64::NAN, f64::INFINITY] {
            for error in errors(&one, options.with_shift(shift)) {
                assert!(matches!(error, OpError::Shift { .. }), "{error}");
            }
        }
    }
}

#[test]
fn rows_that_break_down_are_named() {
    // The last pivot of LU becomes zero, and the second of L·Lᵀ negative.
    let entries =
        [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 3.0), (1, 2, 1.0), (2, 1, 1.0), (2, 2, -1.0)];
    let a = Csr::from_triplets(4, 4, entries.into_iter().chain([(3, 3, 1.0)])).expect("inside");
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&a).expect("upload");
        let lu = Ilu0Plan::new(&matrix).expect("a plan");
        let error = lu.factorize(&matrix).expect_err("a zero");
        assert!(matches!(error, OpError::Breakdown { row: 2 }), "{error}");
        let cholesky = Ic0Plan::new(&matrix).expect("a plan");
        let error = cholesky.factorize(&matrix).expect_err("not positive");
        assert!(matches!(error, OpError::Breakdown { row: 1 }), "{error}");
        // Other values do not, with the same plan.
        let values = a.iter().map(|(row, column, value)| if row == column { 10.0 } else { value });
        matrix.set_values(&values.collect::<Vec<_>>()).expect("as many");
        let factors =
            (lu.factorize(&matrix).expect("factors"), cholesky.factorize(&matrix).expect("a factor"));
        lu.check_pivots().expect("pivots");
        cholesky.check_pivots().expect("pivots");
        matrix.set_values(a.values()).expect("as many");
        lu.factorize_into(&matrix, &factors.0).expect("no wait");
        cholesky.factorize_into(&matrix, &factors.1).expect("no wait");
        assert!(matches!(lu.check_pivots(), Err(OpError::Breakdown { row: 2 })));
        assert!(matches!(cholesky.check_pivots(), Err(OpError::Breakdown { row: 1 })));
    }
}

#[test]
fn other_patterns_leave_the_factors() {
    for DeviceUnderTest { device, .. } in devices() {
        let upload = || device.upload(&Csr::from_triplets(2, 2, [(0, 0, 4.0), (1, 1, 9.0)]).expect("inside"));
        let (a, other) = (upload().expect("upload"), upload().expect("upload"));
        let lu = Ilu0Plan::new(&a).expect("a plan");
        let cholesky = Ic0Plan::new(&a).expect("a plan");
        let is_refused = |result: Result<(), OpError>, name: &str| matches!(result, Err(OpError::PatternOfPlan { operand }) if operand == name);
        assert!(is_refused(lu.factorize(&other).map(drop), "A"));
        assert!(is_refused(cholesky.factorize(&other).map(drop), "A"));
        assert!(is_refused(lu.factorize_into(&a, &other), "the matrix of the factors"));
        assert!(is_refused(cholesky.factorize_into(&a, &a), "the factor"));
        assert!(matches!(lu.factorize_into(&a, &a.clone()), Err(OpError::SameValues)));
        lu.factorize_into(&a, &a.copy().expect("a copy")).expect("factors");
        assert_eq!(other.download().expect("download").values(), [4.0, 9.0]);
        assert_eq!(
            cholesky.factorize(&a).expect("a factor").download().expect("download").values(),
            [2.0, 3.0]
        );
    }
}

#[test]
fn what_waits_is_refused_in_graphs() {
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&Csr::from_triplets(1, 1, [(0, 0, 4.0)]).expect("inside")).expect("upload");
        let lu = Ilu0Plan::new(&a).expect("a plan");
        let captured =
            device.capture((), |()| lu.factorize(&a).map(drop)).and_then(|mut graph| graph.launch());
        assert!(matches!(captured, Err(OpError::Device(DeviceError::Capture { .. }))), "{device}");
    }
}
