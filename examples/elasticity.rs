//! A beam of elastic cubes, clamped at one end and loaded at the other. Conjugate gradients with algebraic multigrid that is given
//! the six rigid motions, beside Jacobi preconditioning.
//!
//! ```sh
//! cargo run --release --example elasticity -- 20
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use evenpath::assembly::{AssemblyOptions, AssemblyPlan};
use evenpath::{Device, DeviceSlice, DeviceVec, vector};
use evenpath_solvers::{
    AmgOptions, Cg, CsrOperator, Jacobi, LinearOperator, Preconditioner, SmoothedAggregation, SolverOptions,
};

const TOLERANCE: f64 = 1e-8;
/// Poisson's ratio. Young's modulus is 1, as are the edges of the cubes.
const RATIO: f64 = 0.3;
/// Length of the beam, divided by its thickness.
const SLENDERNESS: usize = 8;

fn main() -> ExitCode {
    support::on_size("THICKNESS", 1..=90, (12, 2), elasticity)
}

/// `thickness` is the number of cubes in the two short directions.
fn elasticity(device: &Device, thickness: usize) -> Result<bool, Box<dyn Error>> {
    let beam = Beam { thickness };
    let (section, unknowns) = (3 * beam.nodes_of_section(), 3 * beam.nodes());
    let (elements, matrix) = (beam.elements(), element_matrix());
    let clamped = device.upload(&(0..section as u32).collect::<Vec<_>>())?;
    let plan: AssemblyPlan = AssemblyPlan::from_elements_with(
        unknowns,
        24,
        &device.upload(&elements)?,
        AssemblyOptions::default().with_fixed(&clamped),
    )?;
    let a = plan.assemble(&device.upload(&matrix.repeat(elements.len() / 24))?)?;
    let load = beam.load();
    let b = device.upload(&load)?;
    println!("{device}: {unknowns} unknowns, {} nonzeros", a.nnz());

    let operator = CsrOperator::new(&a)?;
    let start = Instant::now();
    let motions: Vec<DeviceVec<f64>> =
        (0..6).map(|motion| device.upload(&beam.rigid_motion(motion))).collect::<Result<_, _>>()?;
    let options = AmgOptions::default().with_block_size(3);
    let multigrid = SmoothedAggregation::with_near_null(&a, &motions, options)?;
    device.synchronize()?;
    let multigrid_ms = start.elapsed().as_secs_f64() * 1e3;
    println!("{}", multigrid.info()?);
    let start = Instant::now();
    let jacobi = Jacobi::new(&a)?;
    device.synchronize()?;
    let jacobi_ms = start.elapsed().as_secs_f64() * 1e3;

    let (x, is_solved) = solve("multigrid", multigrid_ms, (&operator, &multigrid), &b)?;
    let (by_jacobi, is_solved_by_jacobi) = solve("Jacobi", jacobi_ms, (&operator, &jacobi), &b)?;

    // The load is 1, so that its work is the mean displacement of the tip.
    let (tip, tip_by_jacobi) = (vector::dot(&b, &x)?, vector::dot(&b, &by_jacobi)?);
    let ratio = tip / beam.deflection();
    println!("tip displacement {tip:.4}, {ratio:.4} of that of beam theory");

    // Forces of the elements, which are those of the load, except where the beam is clamped.
    let forces = forces(&elements, &matrix, &x.download()?);
    let difference = |(force, load): (&f64, &f64)| (force - load) * (force - load);
    let residual: f64 = forces.iter().zip(&load).skip(section).map(difference).sum();
    let reaction: f64 = forces[..section].iter().skip(2).step_by(3).sum();
    let is_balanced =
        residual.sqrt() <= 1.01 * TOLERANCE * vector::norm2(&b)? && (reaction - 1.0).abs() < 1e-6;

    // With n elements across the beam, trilinear ones are too stiff in bending by about 1/(2n²). The clamped section adds a hundredth.
    let too_stiff = 0.5 / (thickness * thickness) as f64;
    let is_near_theory = (1.0 / ratio - 1.0 - too_stiff).abs() <= 0.02 + 0.2 * too_stiff;
    let is_same = (tip - tip_by_jacobi).abs() <= 1e-6 * tip.abs();
    Ok(is_solved && is_solved_by_jacobi && is_balanced && is_near_theory && is_same)
}

/// Prints a line about a solve. Returns its result, and whether it converged.
fn solve(
    name: &str,
    set_up_ms: f64,
    (operator, preconditioner): (&dyn LinearOperator<f64>, &dyn Preconditioner<f64>),
    b: &DeviceSlice<f64>,
) -> Result<(DeviceVec<f64>, bool), Box<dyn Error>> {
    let mut x = b.device().zeros(b.len())?;
    let options = SolverOptions::default().with_tolerance(TOLERANCE);
    let report = Cg::new(operator, preconditioner, options)?.solve(b, &mut x)?;
    let solve_ms = report.times.total.as_secs_f64() * 1e3;
    println!(
        "{name}: set-up {set_up_ms:.2} ms, {} steps, solve {solve_ms:.2} ms, residual {:.2e}",
        report.steps, report.residual
    );
    Ok((x, report.is_converged()))
}

/// A beam along x. Nodes are numbered section by section, from the clamped one; each has its three displacements in a row.
struct Beam {
    thickness: usize,
}

impl Beam {
    fn nodes_of_section(&self) -> usize {
        (self.thickness + 1) * (self.thickness + 1)
    }

    fn nodes(&self) -> usize {
        (SLENDERNESS * self.thickness + 1) * self.nodes_of_section()
    }

    /// Coordinates of a node.
    fn place(&self, node: usize) -> [usize; 3] {
        let side = self.thickness + 1;
        [node / side / side, node / side % side, node % side]
    }

    /// The 24 unknowns of each cube.
    fn elements(&self) -> Vec<u32> {
        let side = self.thickness + 1;
        let is_first = |&node: &usize| {
            let [x, y, z] = self.place(node);
            x < SLENDERNESS * self.thickness && y < self.thickness && z < self.thickness
        };
        let corners = [0, 1].map(|x| [0, 1].map(|y| [0, 1].map(|z| (x * side + y) * side + z)));
        let corners = corners.as_flattened().as_flattened();
        let unknowns_of = |first: usize| {
            corners
                .iter()
                .flat_map(move |offset| (0..3).map(move |axis| (3 * (first + offset) + axis) as u32))
        };
        (0..self.nodes()).filter(is_first).flat_map(unknowns_of).collect()
    }

    /// A translation along each axis, and a rotation about each.
    fn rigid_motion(&self, motion: usize) -> Vec<f64> {
        let (axis, next, last) = (motion % 3, (motion + 1) % 3, (motion + 2) % 3);
        let displacement = |node| {
            let (mut displacement, place) = ([0.0; 3], self.place(node));
            if motion < 3 {
                displacement[axis] = 1.0;
            } else {
                (displacement[next], displacement[last]) = (-(place[last] as f64), place[next] as f64);
            }
            displacement
        };
        (0..self.nodes()).flat_map(displacement).collect()
    }

    /// A force of 1 downward, spread evenly over the end: each of its squares gives a quarter to each of its corners.
    fn load(&self) -> Vec<f64> {
        let is_edge = |at: usize| at == 0 || at == self.thickness;
        let share = 1.0 / (self.thickness * self.thickness) as f64;
        let mut load = vec![0.0; 3 * self.nodes()];
        for node in self.nodes() - self.nodes_of_section()..self.nodes() {
            let [_, y, z] = self.place(node);
            load[3 * node + 2] =
                -[y, z].map(|at| if is_edge(at) { 0.5 } else { 1.0 }).iter().product::<f64>() * share;
        }
        load
    }

    /// Displacement of the tip by bending and shear, after Timoshenko.
    fn deflection(&self) -> f64 {
        let (thickness, length) = (self.thickness as f64, (SLENDERNESS * self.thickness) as f64);
        let bending = length.powi(3) / (3.0 * thickness.powi(4) / 12.0);
        let shear = length * 2.0 * (1.0 + RATIO) / (5.0 / 6.0 * thickness * thickness);
        bending + shear
    }
}

/// Element matrix of a cube with trilinear displacements.
fn element_matrix() -> Vec<f64> {
    let shear_modulus = 0.5 / (1.0 + RATIO);
    let lame = RATIO / ((1.0 + RATIO) * (1.0 - 2.0 * RATIO));
    // The integral of the product of ∂/∂i of a corner's function and ∂/∂j of another's: one factor for each axis.
    let integral = |corners: [usize; 2], i: usize, j: usize| -> f64 {
        let factor = |axis: usize| {
            let [one, other] = corners.map(|corner| (corner >> (2 - axis)) & 1);
            let [slope, other_slope] = [one, other].map(|end| if end == 0 { -1.0 } else { 1.0 });
            match (i == axis, j == axis) {
                (true, true) => slope * other_slope,
                (true, false) => 0.5 * slope,
                (false, true) => 0.5 * other_slope,
                (false, false) if one == other => 1.0 / 3.0,
                (false, false) => 1.0 / 6.0,
            }
        };
        (0..3).map(factor).product()
    };
    let entry = |row: usize, column: usize| {
        let (corners, i, j) = ([row / 3, column / 3], row % 3, column % 3);
        let same: f64 = if i == j { (0..3).map(|axis| integral(corners, axis, axis)).sum() } else { 0.0 };
        lame * integral(corners, i, j) + shear_modulus * (integral(corners, j, i) + same)
    };
    (0..24 * 24).map(|at| entry(at / 24, at % 24)).collect()
}

/// The sum of the elements' forces at each unknown, on the host.
fn forces(elements: &[u32], matrix: &[f64], x: &[f64]) -> Vec<f64> {
    let mut forces = vec![0.0; x.len()];
    for element in elements.chunks(24) {
        for (&unknown, row) in element.iter().zip(matrix.chunks(24)) {
            let products = row.iter().zip(element).map(|(entry, &other)| entry * x[other as usize]);
            forces[unknown as usize] += products.sum::<f64>();
        }
    }
    forces
}
