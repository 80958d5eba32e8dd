//! SpMM of complex values, on every device.

use evenpath::spmm::SpmmOptions;
use evenpath::{Complex, Csr, Device, DeviceDense, Layout, Offset};
use evenpath_tests::{
    ComplexValue, DeviceUnderTest, complex, complex_rows, complex_spmv as oracle, complex_vector, devices,
};

type C32 = Complex<f32>;
type C64 = Complex<f64>;

const LAYOUTS: [Layout; 2] = [Layout::RowMajor, Layout::ColumnMajor];

/// Length of the rows, or columns, of a dense matrix, as its layout has them, with a gap.
fn lines((rows, cols): (usize, usize), layout: Layout, gap: usize) -> (usize, usize) {
    let (line, count) = if layout == Layout::RowMajor { (cols, rows) } else { (rows, cols) };
    (line + gap, count)
}

/// A column of a dense matrix.
fn column<V: ComplexValue>(
    values: &[V],
    rows: usize,
    (layout, line): (Layout, usize),
    column: usize,
) -> Vec<V> {
    let place = |row| if layout == Layout::RowMajor { row * line + column } else { column * line + row };
    (0..rows).map(|row| values[place(row)]).collect()
}

/// Multiplies with B and C of both layouts, with gaps between their lines, and compares each column with the oracle.
fn check<V: ComplexValue, O: Offset>(device: &Device, a: &Csr<V, O>, columns: usize, (alpha, beta): (V, V)) {
    let there = device.upload(a).expect("upload");
    for (b_layout, c_layout, gap) in
        LAYOUTS.into_iter().flat_map(|b| LAYOUTS.map(|c| (b, c, 2))).chain([(LAYOUTS[0], LAYOUTS[0], 0)])
    {
        let options = SpmmOptions::default().with_columns(columns).with_layout(b_layout);
        let plan = there.plan_spmm(options).expect("a plan");
        let dense = |shape: (usize, usize), layout, seed| {
            let (line, count) = lines(shape, layout, gap);
            let values: Vec<V> = complex_vector(line * count, seed);
            let vector = device.upload(&values).expect("upload");
            let there = DeviceDense::try_with_leading_dimension(vector, shape.0, shape.1, layout, line);
            (values, there.expect("a matrix"), line)
        };
        let (b, b_there, b_line) = dense((a.ncols(), columns), b_layout, 3);
        let (mut c, mut c_there, c_line) = dense((a.nrows(), columns), c_layout, 4);
        if beta == V::ZERO {
            c.fill(complex(f64::NAN, f64::NAN));
            c_there.as_mut_slice().copy_from_slice(&c).expect("as many");
        }
        plan.run(alpha, &b_there, beta, &mut c_there).expect("a product");
        let found = c_there.as_vec().download().expect("download");
        for at in 0..columns {
            let x = column(&b, a.ncols(), (b_layout, b_line), at);
            let y = column(&c, a.nrows(), (c_layout, c_line), at);
            let product = column(&found, a.nrows(), (c_layout, c_line), at);
            if let Err(difference) = oracle(a, (alpha, &x), (beta, &y)).check(&product) {
                panic!("{device}, {a:?}, {b_layout} to {c_layout}, column {at} of {columns}: {difference}");
            }
        }
        let line = c_line - gap;
        let gaps = |values: &[V]| -> Vec<[String; 1]> {
            let kept = values.iter().enumerate().filter(|(at, _)| c_line > 0 && at % c_line >= line);
            kept.map(|(_, value)| [value.to_string()]).collect()
        };
        assert_eq!(gaps(&found), gaps(&c), "{device}: a gap was written");
    }
}

#[test]
fn products() {
    let lengths: [(usize, &[usize]); 6] = [
        (0, &[]),
        (5, &[0; 40]),
        (1, &[1]),
        (4, &[0, 3, 0, 0, 4, 1, 0]),
        (700, &[700, 0, 3]),
        (90, &[7, 9, 8, 0, 7, 12, 30, 7, 7, 1, 90, 4]),
    ];
    for DeviceUnderTest { device, .. } in devices() {
        for (cols, lengths) in lengths {
            for columns in [1, 2, 3, 8] {
                let a = complex_rows::<C32, u32>(cols, lengths);
                check(&device, &a, columns, (complex(1.0, 0.0), complex(0.0, 0.0)));
                let a = complex_rows::<C64, u32>(cols, lengths);
                check(&device, &a, columns, (complex(0.5, -1.0), complex(0.0, 2.0)));
            }
        }
    }
}

#[test]
fn wide_offsets_and_many_columns() {
    let lengths = [vec![3, 0, 200, 17], vec![5; 30]].concat();
    for DeviceUnderTest { device, .. } in devices() {
        let factors = (complex(1.0, 1.0), complex(0.0, 0.0));
        check(&device, &complex_rows::<C32, u64>(200, &lengths), 33, factors);
        let factors = (complex(1.0, 1.0), complex(0.0, 0.0));
        check(&device, &complex_rows::<C64, u64>(200, &lengths), 20, factors);
    }
}

#[test]
fn factors_on_the_device() {
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<C64> = complex_rows(9, &[3, 0, 9, 1]);
        let (b, c) = (complex_vector::<C64>(18, 1), complex_vector::<C64>(8, 2));
        let dense = |values: &[C64], rows| {
            let vector = device.upload(values).expect("upload");
            DeviceDense::try_new(vector, rows, 2, Layout::RowMajor).expect("a matrix")
        };
        let (b_there, mut c_there) = (dense(&b, 9), dense(&c, 4));
        let (alpha, beta) = (C64::new(0.5, 2.0), C64::new(-1.0, 1.0));
        let factors = device.upload(&[alpha, beta]).expect("upload");
        let (first, second) = (factors.slice(..1).expect("inside"), factors.slice(1..).expect("inside"));
        let plan = device.upload(&a).expect("upload").plan_spmm(SpmmOptions::default().with_columns(2));
        plan.expect("a plan").run(&first, &b_there, &second, &mut c_there).expect("a product");
        let found = c_there.as_vec().download().expect("download");
        for at in 0..2 {
            let [x, y, product] = [(&b, 9), (&c, 4), (&found, 4)]
                .map(|(values, rows)| column(values, rows, (Layout::RowMajor, 2), at));
            assert_eq!(oracle(&a, (alpha, &x), (beta, &y)).check(&product), Ok(()), "{device}");
        }
    }
}
