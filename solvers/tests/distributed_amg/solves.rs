//! Steps over ranks, beside those on one device.

use evenpath::Device;
use evenpath_solvers::{
    AmgCycle, AmgOptions, AmgSmoother, DistributedSmoothedAggregation, SmoothedAggregation,
};
use evenpath_tests::device_of_each_kind;

use super::support::{deep, even, on_ranks, part, solve, steps, steps_on_one};
use crate::support::problems::{diffusion, plate, poisson};
use crate::support::{check_solution, vector};

#[test]
fn steps_hardly_depend_on_the_number_of_ranks() {
    let device = Device::cpu();
    for (a, most) in [(poisson::<f64>(&[60, 60], &[1.0; 2]), 3), (poisson(&[14, 15, 13], &[1.0; 3]), 3)] {
        let one = steps_on_one(&device, &a, deep(), 1e-8);
        let mut of_blocks = Vec::new();
        for ranks in [1, 2, 3, 5, 8] {
            let boundaries = even(a.nrows(), ranks, 1);
            let whole = steps(&device, &boundaries, &a, deep(), 1e-8);
            assert!(whole <= one + most, "{ranks} ranks: {whole} steps, {one} on one device");
            let b = vector(a.nrows());
            let blocks = on_ranks(&device, &boundaries, &a, |rank, a| {
                let of_rank = SmoothedAggregation::new(a.local(), deep())?;
                Ok(solve(rank, a, &of_rank, (&b, 1e-8))?.0.steps)
            });
            of_blocks.push(blocks[0]);
            println!(
                "{ranks} ranks: {whole} steps, {} with a block per rank, {one} on one device",
                blocks[0]
            );
        }
        assert!(of_blocks.is_sorted() && of_blocks[4] > one + 2 * most, "{of_blocks:?}");
    }
}

#[test]
fn every_device_solves_over_ranks() {
    for device in device_of_each_kind() {
        for ranks in [2, 3] {
            let a = poisson::<f64>(&[16, 15], &[1.0; 2]);
            assert!(steps(&device, &even(240, ranks, 1), &a, deep(), 1e-8) <= 11, "{device}, {ranks} ranks");
        }
        let a = poisson::<f32>(&[14, 14], &[1.0; 2]);
        assert!(steps(&device, &even(196, 3, 1), &a, deep(), 1e-4) <= 8, "{device}");
    }
}

#[test]
fn smoothers_and_cycles_converge_over_ranks() {
    let (device, a) = (Device::cpu(), poisson::<f64>(&[30, 29], &[1.0; 2]));
    for smoother in [AmgSmoother::Jacobi { steps: 1 }, AmgSmoother::Chebyshev { degree: 3 }] {
        for cycle in [AmgCycle::V, AmgCycle::W] {
            let options = deep().with_smoother(smoother).with_cycle(cycle);
            let (one, found) = (
                steps_on_one(&device, &a, options, 1e-8),
                steps(&device, &even(870, 4, 1), &a, options, 1e-8),
            );
            assert!(found <= one + 4, "{smoother:?}, {cycle:?}: {found} steps, {one} on one device");
        }
    }
    assert!(steps(&device, &even(870, 3, 1), &a, deep().with_max_levels(2), 1e-8) < 50);
    // Nothing is gathered or inverted: the last level is smoothed.
    let smoothed = deep().with_max_gathered(0).with_max_coarse(0);
    assert!(steps(&device, &even(870, 3, 1), &a, smoothed, 1e-8) < 50);
}

#[test]
fn anisotropy_and_jumps_converge_over_ranks() {
    let device = Device::cpu();
    let is_inside = |at: usize| (8..20).contains(&(at % 30)) && (8..20).contains(&(at / 30));
    let of = |at: usize| if is_inside(at) { 1e6 } else { 1.0 };
    let jumps = |one, other, _| 2.0 / (1.0 / of(one) + 1.0 / of(other));
    // Couplings between ranks are strong, or weak.
    let strong_only = deep().with_strength(0.1);
    for (a, options) in [
        (diffusion::<f64>(&[30, 30], jumps, &[true; 2]), deep()),
        (poisson(&[30, 30], &[1.0, 1e-3]), strong_only),
        (poisson(&[30, 30], &[1e-3, 1.0]), strong_only),
    ] {
        let one = steps_on_one(&device, &a, options, 1e-8);
        for ranks in [2, 5] {
            let found = steps(&device, &even(900, ranks, 1), &a, options, 1e-8);
            assert!(found <= one + 6, "{ranks} ranks: {found} steps, {one} on one device");
        }
    }
}

#[test]
fn elastic_plates_keep_their_rigid_motions_over_ranks() {
    for device in device_of_each_kind() {
        let (a, motions) = plate::<f64>(16, 8);
        let b = vector(a.nrows());
        let options = AmgOptions::default().with_max_coarse(30).with_max_gathered(60).with_block_size(2);
        for ranks in [1, 3] {
            let boundaries = even(a.nrows() / 2, ranks, 2);
            let solve = |motions: &[Vec<f64>]| {
                let parts = on_ranks(&device, &boundaries, &a, |rank, a| {
                    let motions: Vec<_> = motions.iter().map(|motion| part(rank, a, motion)).collect();
                    let multigrid = DistributedSmoothedAggregation::with_near_null(a, &motions, options)?;
                    assert!(multigrid.distributed_levels() >= 2);
                    solve(rank, a, &multigrid, (&b, 1e-8))
                });
                let steps = parts[0].0.steps;
                let x: Vec<f64> = parts.into_iter().flat_map(|(_, part)| part).collect();
                check_solution(&a, &x, &b, 1e-7);
                steps
            };
            let (with, without) = (solve(&motions), solve(&motions[..2]));
            assert!(with <= 22 && with < without, "{device}, {ranks} ranks: {with}, {without}");
            assert_eq!(steps(&device, &boundaries, &a, options, 1e-8), without);
        }
    }
}
