//! Products and conversions of complex values.

use evenpath::coo::DeviceCoo;
use evenpath::device::{DeviceKind, SimulatedOptions};
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Complex, Csr, Device, DeviceCsr, DeviceDense, DeviceVec, Layout, vector};
use evenpath_tests::{complex_rows, complex_vector};

use super::drive::{Numbers, drive, drive_in};

type C64 = Complex<f64>;

/// Rows without nonzeros, short ones, and one that tiles cut.
fn matrix() -> Csr<C64> {
    complex_rows(80, &[vec![0, 3, 1, 1500, 0, 7], vec![2; 40]].concat())
}

fn parts(vector: &DeviceVec<C64>) -> Vec<f64> {
    let numbers = vector.download().expect("the device works");
    numbers.into_iter().flat_map(|number| [number.re, number.im]).collect()
}

/// The operands A, x and y of y = 2iAx + βy.
struct Product<A> {
    a: A,
    x: DeviceVec<C64>,
    y: DeviceVec<C64>,
}

impl<A> Product<A> {
    fn new(device: &Device, a: A) -> Self {
        let vector = |len, seed| device.upload(&complex_vector(len, seed)).expect("memory");
        Self { a, x: vector(80, 1), y: vector(46, 2) }
    }

    fn y(&self) -> Vec<f64> {
        parts(&self.y)
    }
}

const ALPHA: C64 = C64::new(0.0, 2.0);

#[test]
fn products_with_a_vector() {
    let a = matrix();
    let plan = |a: &DeviceCsr<C64>, method| a.plan_spmv(SpmvOptions::default().with_method(method));
    let on_simulated = Device::simulated(SimulatedOptions::default()).upload(&a).unwrap();
    let methods = SpmvMethod::ALL.into_iter().filter(|method| method.runs_on(DeviceKind::Simulated));
    for method in methods.filter(|&method| plan(&on_simulated, method).is_ok()) {
        let in_steps = method == SpmvMethod::Flat;
        let beta = if in_steps { C64::ZERO } else { C64::new(-1.0, 0.5) };
        drive_in(
            &format!("complex SpMV by {method}"),
            in_steps,
            |device| Product::new(device, device.upload(&a).unwrap()),
            Product::y,
            |Product { a, x, y }| plan(a, method)?.run(ALPHA, x, beta, y).map(|()| vec![]),
        );
    }
    drive_in(
        "complex COO",
        true,
        |device| Product::new(device, device.upload(&a.to_coo().unwrap()).unwrap()),
        Product::y,
        |Product { a, x, y }| a.spmv(ALPHA, x, C64::ZERO, y).map(|()| vec![]),
    );
}

#[test]
fn inner_products() {
    let upload = |device: &Device| Product::new(device, ());
    let numbers = |products: [C64; 2]| Ok(products.iter().flat_map(|z| [z.re, z.im]).collect());
    drive("complex inner products", upload, Product::y, |Product { y, .. }| {
        numbers([vector::dot(y, y)?, vector::dot_conjugated(y, y)?])
    });
    drive("a complex norm", upload, Product::y, |Product { y, .. }| Ok(vec![vector::norm2(y)?]));
    let upload = |device: &Device| {
        let basis =
            DeviceDense::try_new(device.upload(&complex_vector(92, 3)).unwrap(), 46, 2, Layout::ColumnMajor);
        Product::new(device, basis.unwrap())
    };
    drive("products with complex columns", upload, Product::y, |Product { a, x, y }| {
        let mut dots = x.slice_mut(..2)?;
        a.dots_conjugated_into(y, &mut dots)?;
        a.add_columns(ALPHA, &dots, y)?;
        Ok(vec![])
    });
}

#[test]
fn conversions() {
    let a = matrix();
    let numbers = |coo: &DeviceCoo<C64>| -> Numbers {
        let coo = coo.download()?;
        let places = coo.row_indices().iter().zip(coo.column_indices()).zip(coo.values());
        let numbers = |((&row, &column), value): ((&u32, &u32), &C64)| {
            [f64::from(row), f64::from(column), value.re, value.im]
        };
        Ok(places.flat_map(numbers).collect())
    };
    drive(
        "complex CSR to COO and back",
        |device| device.upload(&a).unwrap(),
        |_| vec![],
        |a| numbers(&a.to_coo()?.to_csr()?.to_coo()?),
    );
}
