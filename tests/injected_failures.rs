//! Every device call of every operation fails once, on the simulated GPU, which can inject failures. The error must say so,
//! nothing may leak, the caller's objects must be unchanged, and the next attempt must succeed. The same holds with too
//! little memory. On a lost device every operation must report that.
//!
//! Some products write y in several launches. If one fails after another succeeded, y is partly written; with β = 0, the
//! next attempt does not read it.

mod batch_and_blocks;
mod complex;
mod drive;
mod structure;
mod trees;
mod triangular;

use evenpath::assembly::{AssemblyOptions, AssemblyPlan};
use evenpath::csr::{Filter, Reduction};
use evenpath::device::DeviceKind;
use evenpath::ell::{EllR, PaddingLimit, SlicedEllOptions};
use evenpath::error::OpError;
use evenpath::generate::{Kind, generate};
use evenpath::graph::{self, BfsOptions, PagerankOptions};
use evenpath::hyb::HybOptions;
use evenpath::key::Pairs;
use evenpath::operator::Operator;
use evenpath::reduce::by_offsets;
use evenpath::scan::{self, ScanOptions};
use evenpath::semiring::MaxPlus;
use evenpath::sets::{self, Combine, SetOperation};
use evenpath::sort::{self, SortOptions};
use evenpath::spadd::Elementwise;
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::spmm::SpmmOptions;
use evenpath::spmv::{SpmvMethod, SpmvOptions, SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{Csr, Device, DeviceCsr, DeviceDense, DeviceVec, Layout, merge, vector};

use drive::{Numbers, drive, drive_in};

/// Rows with zero to several hundred nonzeros. Values are small integers, so sums are exact in any order.
fn matrix() -> Csr<f64> {
    let a: Csr<f64> = generate(Kind::EmptyRows { rows: 301 }, 3).expect("a small matrix");
    let triplets = a.iter().map(|(row, col, _)| (row, col, ((row + col) % 5) as f64 - 2.0));
    let long = (0..300).map(|col| (7, col, (col % 3) as f64));
    Csr::from_triplets(301, 301, triplets.chain(long)).expect("inside")
}

fn numbers(len: usize) -> Vec<f64> {
    (0..len).map(|at| (at % 7) as f64 - 3.0).collect()
}

fn values<T: bytemuck::Pod + Into<f64>>(vector: &DeviceVec<T>) -> Numbers {
    Ok(vector.download()?.into_iter().map(Into::into).collect())
}

fn values_of(matrix: &DeviceCsr<f64>) -> Numbers {
    let matrix = matrix.download()?;
    Ok(matrix.iter().flat_map(|(row, col, value)| [row as f64, col as f64, value]).collect())
}

/// The operands A, x and y of y = 2Ax − y.
struct Product<A> {
    a: A,
    x: DeviceVec<f64>,
    y: DeviceVec<f64>,
}

impl<A> Product<A> {
    fn new(device: &Device, a: A) -> Self {
        let vector = || device.upload(&numbers(301)).expect("memory");
        Self { a, x: vector(), y: vector() }
    }

    fn y(&self) -> Vec<f64> {
        values(&self.y).expect("the device works")
    }
}

/// Products with a vector, run for each factor of y.
fn drive_product<A>(
    name: &str,
    in_steps: bool,
    upload: impl Fn(&Device) -> A,
    run: impl Fn(&A, &DeviceVec<f64>, f64, &mut DeviceVec<f64>) -> Result<(), OpError>,
) {
    let beta = if in_steps { 0.0 } else { -1.0 };
    let run = |state: &mut Product<A>| run(&state.a, &state.x, beta, &mut state.y).map(|()| vec![]);
    drive_in(name, in_steps, |device| Product::new(device, upload(device)), Product::y, run);
}

#[test]
fn uploads_and_downloads() {
    let (a, x) = (matrix(), numbers(50));
    drive("a vector", Device::clone, |_| vec![], |device| values(&device.upload(&x)?));
    drive("a matrix", Device::clone, |_| vec![], |device| values_of(&device.upload(&a)?));
    drive(
        "a copy",
        |device| (device.upload(&x).unwrap(), device.zeros::<f64>(50).unwrap()),
        |(_, to)| values(to).unwrap(),
        |(from, to)| {
            to.copy_from(from)?;
            Ok(vec![])
        },
    );
}

#[test]
fn products_with_a_vector() {
    let a = matrix();
    for method in SpmvMethod::ALL.into_iter().filter(|method| method.runs_on(DeviceKind::Simulated)) {
        drive_product(
            &format!("SpMV by {method}"),
            method == SpmvMethod::Flat,
            |device| device.upload(&a).unwrap(),
            |a, x, beta, y| a.plan_spmv(SpmvOptions::default().with_method(method))?.run(2.0, x, beta, y),
        );
    }
    drive_product(
        "SpMV without a plan",
        true,
        |device| device.upload(&a).unwrap(),
        |a, x, beta, y| a.spmv(2.0, x, beta, y),
    );
    drive_product(
        "SpMV in a semiring",
        true,
        |device| device.upload(&a).unwrap(),
        |a, x, _, y| a.spmv_over::<MaxPlus>(x, y),
    );
    for mode in SpmvTransposedMethod::ALL {
        drive_product(
            &format!("SpMV, transposed, {mode}"),
            mode != SpmvTransposedMethod::Copied,
            |device| device.upload(&a).unwrap(),
            |a, x, beta, y| {
                a.plan_spmv_transposed(SpmvTransposedOptions::default().with_method(mode))?
                    .run(2.0, x, beta, y)
            },
        );
    }
    let (coo, ell) = (a.to_coo().unwrap(), a.to_ell(PaddingLimit::Bytes(1 << 30)).unwrap());
    let sliced = a.to_sliced_ell(SlicedEllOptions::default()).unwrap();
    let hyb = a.to_hyb(HybOptions::default()).unwrap();
    drive_product(
        "COO",
        true,
        |device| device.upload(&coo).unwrap(),
        |a, x, beta, y| a.spmv(2.0, x, beta, y),
    );
    drive_product(
        "ELL",
        false,
        |device| device.upload(&ell).unwrap(),
        |a, x, beta, y| a.spmv(2.0, x, beta, y),
    );
    drive_product(
        "ELL-R",
        false,
        |device| device.upload(&EllR(&ell)).unwrap(),
        |a, x, beta, y| a.spmv(2.0, x, beta, y),
    );
    drive_product(
        "sliced ELL",
        false,
        |device| device.upload(&sliced).unwrap(),
        |a, x, beta, y| a.spmv(2.0, x, beta, y),
    );
    for block_size in [3, 7] {
        let bsr = a.to_bsr(block_size).unwrap();
        drive_product(
            &format!("BSR, blocks of {block_size}"),
            false,
            |device| device.upload(&bsr).unwrap(),
            |a, x, beta, y| a.spmv(2.0, x, beta, y),
        );
    }
    drive_product(
        "HYB",
        true,
        |device| device.upload(&hyb).unwrap(),
        |a, x, beta, y| a.spmv(2.0, x, beta, y),
    );
}

#[test]
fn products_with_dense_matrices() {
    let a = matrix();
    for layout in [Layout::RowMajor, Layout::ColumnMajor] {
        let dense = |device: &Device| {
            let values = device.upload(&numbers(301 * 3)).unwrap();
            DeviceDense::try_new(values, 301, 3, layout).unwrap()
        };
        drive_in(
            &format!("SpMM, {layout}"),
            true,
            |device| (device.upload(&a).unwrap(), dense(device), dense(device)),
            |(_, _, c)| values(c.as_vec()).unwrap(),
            |(a, b, c)| {
                let plan = a.plan_spmm(SpmmOptions::default().with_columns(3))?;
                plan.run(2.0, b, 0.0, c)?;
                Ok(vec![])
            },
        );
        drive_in(
            &format!("SpMM in a semiring, {layout}"),
            true,
            |device| (device.upload(&a).unwrap(), dense(device), dense(device)),
            |(_, _, c)| values(c.as_vec()).unwrap(),
            |(a, b, c)| a.spmm_over::<MaxPlus>(b, c).map(|()| vec![]),
        );
    }
}

#[test]
fn sampled_products() {
    let c = matrix();
    let dense = |device: &Device, rows: usize, cols: usize| {
        let values = device.upload(&numbers(rows * cols)).unwrap();
        DeviceDense::try_new(values, rows, cols, Layout::RowMajor).unwrap()
    };
    drive(
        "SDDMM",
        |device| (device.upload(&c).unwrap(), dense(device, c.nrows(), 3), dense(device, 3, c.ncols())),
        |(c, _, _)| c.values().download().unwrap(),
        |(c, a, b)| c.plan_sddmm()?.run(2.0, a, b, -1.0).map(|()| vec![]),
    );
}

/// Rows, columns, fixed unknowns and values.
type Triplets = (DeviceVec<u32>, DeviceVec<u32>, DeviceVec<u32>, DeviceVec<f64>);

#[test]
fn assembly() {
    let indices = |factor: usize| (0..500).map(|at| (at * factor % 41) as u32).collect::<Vec<_>>();
    let operands = |device: &Device| {
        let (rows, columns) = (device.upload(&indices(7)).unwrap(), device.upload(&indices(11)).unwrap());
        (rows, columns, device.upload(&[3_u32, 0]).unwrap(), device.upload(&[0.5; 500]).unwrap())
    };
    let plan = |(rows, columns, fixed, _): &Triplets| {
        let options = AssemblyOptions::default().with_fixed(fixed);
        AssemblyPlan::<u32>::new_with(41, 41, rows, columns, options)
    };
    drive("assembly", operands, |_| vec![], |operands| values_of(&plan(operands)?.assemble(&operands.3)?));
    let planned = |device: &Device| {
        let operands = operands(device);
        let (plan, values) = (plan(&operands).unwrap(), operands.3);
        let matrix = plan.assemble(&device.upload(&[1.0; 500]).unwrap()).unwrap();
        (plan, values, matrix, device.upload(&[2.0; 41]).unwrap())
    };
    drive(
        "assembly in place",
        planned,
        |(_, _, matrix, _)| values_of(matrix).unwrap(),
        |(plan, values, matrix, _)| plan.assemble_into(values, matrix).map(|()| vec![]),
    );
    drive(
        "the correction of a right-hand side",
        planned,
        |(_, _, _, rhs)| values(rhs).unwrap(),
        |(plan, triplets, _, rhs)| {
            let unknowns = rhs.device().upload(&[3.0; 41])?;
            plan.correct_rhs(triplets, &unknowns, rhs).map(|()| vec![])
        },
    );
}

#[test]
fn sparse_results() {
    let a = matrix();
    let upload = |device: &Device| device.upload(&a).unwrap();
    let held = |_: &DeviceCsr<f64>| vec![];
    drive("a transpose", upload, held, |a| values_of(&a.transpose()?));
    drive("selected rows", upload, held, |a| {
        values_of(&a.select_rows(&a.device().upload(&[300, 7, 0, 7])?)?)
    });
    drive("A + Aᵀ", upload, held, |a| values_of(&a.spadd(1.0, &a.transpose()?, 2.0)?));
    let checked = |device: &Device| {
        let a = upload(device);
        values_of(&a.spadd(1.0, &a, 1.0).unwrap()).unwrap();
        a
    };
    for operation in Elementwise::ALL {
        drive(&format!("{operation} of a checked matrix"), checked, held, |a| {
            values_of(&a.elementwise(operation, 2.0, a, -1.0)?)
        });
        drive(&operation.to_string(), upload, held, |a| values_of(&a.elementwise(operation, 2.0, a, -1.0)?));
        drive(&format!("planned {operation}"), upload, held, |a| {
            values_of(&a.plan_elementwise(operation, a)?.run(1.0, 3.0)?)
        });
        drive(&format!("counted {operation}"), upload, held, |a| {
            Ok(vec![a.count_elementwise(operation, a)? as f64])
        });
    }
    for method in SpgemmMethod::ALL {
        let options = SpgemmOptions::default().with_method(method);
        drive(&format!("A·A by {method}"), upload, held, |a| values_of(&a.spgemm(a, options)?));
        drive(&format!("A·A planned, by {method}"), upload, held, |a| {
            let plan = a.plan_spgemm(a, options)?;
            plan.run()?;
            values_of(&plan.run()?)
        });
    }
    drive("A·A under a mask", upload, held, |a| {
        values_of(&a.spgemm_masked(a, a, SpgemmOptions::default())?)
    });
    drive("A·A outside of a mask", upload, held, |a| {
        values_of(&a.spgemm_masked_out(a, a, SpgemmOptions::default())?)
    });
    drive("A·A in a semiring", upload, held, |a| {
        values_of(&a.spgemm_over::<MaxPlus>(a, SpgemmOptions::default())?)
    });
    drive("A·A in a semiring, under a mask", upload, held, |a| {
        values_of(&a.spgemm_masked_over::<MaxPlus, _>(a, a, SpgemmOptions::default())?)
    });
    drive(
        "coordinates to CSR",
        |device| device.upload(&a.to_coo().unwrap()).unwrap(),
        |_| vec![],
        |a| values_of(&a.to_csr()?),
    );
}

#[test]
fn searches_of_graphs() {
    let mut edges = matrix();
    edges.values_mut().iter_mut().for_each(|value| *value = value.abs());
    let upload = |device: &Device| device.upload(&edges).unwrap();
    let held = |_: &DeviceCsr<f64>| vec![];
    let of_vertices = |found: Vec<u32>| Ok(found.into_iter().map(f64::from).collect());
    drive("BFS", upload, held, |a| of_vertices(graph::bfs(a, 7, BfsOptions::default())?.parents));
    drive("SSSP", upload, held, |a| graph::sssp(a, 7));
    drive("components", upload, held, |a| of_vertices(graph::connected_components(a)?));
    drive("cores", upload, held, |a| of_vertices(graph::k_core(a)?));
    drive("triangles", upload, held, |a| Ok(vec![graph::count_triangles(a)? as f64]));
    let few = PagerankOptions::default().with_max_steps(2);
    drive("PageRank", upload, held, |a| Ok(graph::pagerank(a, few)?.ranks));
}

#[test]
fn sequences() {
    let keys: Vec<u32> = (0..3000).map(|at| at * 7 % 1000).collect();
    let sorted: Vec<u32> = (0..3000).map(|at| at / 3).collect();
    let upload = |device: &Device| [&keys, &sorted].map(|keys| device.upload(keys).unwrap());
    let held =
        |[keys, sorted]: &[DeviceVec<u32>; 2]| [values(keys).unwrap(), values(sorted).unwrap()].concat();
    let options = SortOptions::default();
    drive("a scan", upload, held, |[keys, _]| {
        values(&scan::values(keys, ScanOptions::exclusive(Operator::Sum))?)
    });
    drive("scan by key", upload, held, |[keys, by]| {
        values(&scan::by_keys(by, keys, ScanOptions::inclusive(Operator::Max))?)
    });
    drive("sort", upload, held, |[keys, _]| values(&sort::keys(keys, options)?));
    drive("sort of pairs", upload, held, |[keys, by]| {
        let (keys, by) = sort::pairs(Pairs::new(keys, by), options)?;
        Ok([values(&keys)?, values(&by)?].concat())
    });
    drive("merge", upload, held, |[_, sorted]| values(&merge::keys(sorted, sorted)?));
    for operation in SetOperation::ALL {
        drive(&operation.to_string(), upload, held, |[_, keys]| values(&sets::keys(keys, keys, operation)?));
        drive(&format!("{operation} of pairs"), upload, held, |[own, keys]| {
            let (keys, own) =
                sets::pairs(Pairs::new(keys, own), Pairs::new(keys, own), operation, Combine::Sum)?;
            Ok([values(&keys)?, values(&own)?].concat())
        });
    }
    drive(
        "sums of rows",
        |device| (device.upload(&[0_u32, 5, 5, 50]).unwrap(), device.upload(&numbers(50)).unwrap()),
        |_| vec![],
        |(offsets, numbers)| values(&by_offsets(offsets, numbers, Operator::Sum)?),
    );
}

#[test]
fn entries() {
    let upload = |device: &Device| {
        let a: Csr<f64> = generate(Kind::Rmat { scale: 6 }, 3).expect("a matrix");
        (device.upload(&a).expect("memory"), device.upload(&numbers(64)).expect("memory"))
    };
    let held =
        |state: &(DeviceCsr<f64>, DeviceVec<f64>)| state.0.values().download().expect("the device works");
    drive("scaled rows", upload, held, |(a, factors)| a.scale_rows(factors).map(|()| vec![]));
    drive("scaled columns", upload, held, |(a, factors)| a.scale_columns(factors).map(|()| vec![]));
    drive("a softmax", upload, held, |(a, _)| a.softmax_rows().map(|()| vec![]));
    drive("changed values", upload, held, |(a, _)| {
        a.update_values(|values| vector::fill(2.0, values)).map(|()| vec![])
    });
    drive("a diagonal", upload, held, |(a, _)| Ok(a.diagonal()?.download()?));
    drive("norms of rows", upload, held, |(a, _)| Ok(a.reduce_rows(Reduction::Norm2)?.download()?));
    drive("sums of columns", upload, held, |(a, _)| Ok(a.reduce_columns(Reduction::Sum)?.download()?));
    for filter in [Filter::Upper(1), Filter::LargestOfRow(2)] {
        drive("a filter", upload, held, |(a, _)| Ok(a.filter(filter)?.download()?.values().to_vec()));
    }
}

#[test]
fn dense_vectors() {
    let upload = |device: &Device| Product::new(device, ());
    drive("axpby", upload, Product::y, |state| {
        vector::axpby(2.0, &state.x, -1.0, &mut state.y)?;
        Ok(vec![])
    });
    drive("a product by element", upload, Product::y, |state| {
        vector::multiply_elements(&state.x, &state.x, &mut state.y)?;
        Ok(vec![])
    });
    drive("a product by element, in place", upload, Product::y, |state| {
        vector::multiply_elements_in_place(&state.x, &mut state.y)?;
        Ok(vec![])
    });
    drive("an inner product", upload, Product::y, |state| Ok(vec![vector::dot(&state.x, &state.y)?]));
    drive("a function of elements", upload, Product::y, |state| {
        vector::map(vector::Map::Abs, &mut state.y)?;
        Ok(vec![])
    });
    drive("a sum", upload, Product::y, |state| Ok(vec![vector::norm1(&state.x)?]));
    drive("an extreme", upload, Product::y, |state| Ok(vec![vector::max(&state.x)?]));
}
