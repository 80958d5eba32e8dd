//! Levels, bits and new values of hierarchies over ranks.

use evenpath::device::DeviceKind;
use evenpath::{Csr, Device, Value};
use evenpath_distributed::DistributedCsr;
use evenpath_solvers::{
    AmgCycle, AmgLevelInfo, AmgOptions, DistributedSmoothedAggregation, Error, Preconditioner, Result,
    SmoothedAggregation,
};
use evenpath_tests::{device_of_each_kind, devices};

use super::support::{applied, deep, distributed, even, on_ranks, solve};
use crate::support::problems::{plate, poisson};
use crate::support::{scaled, vector};

#[test]
fn one_rank_has_the_hierarchy_of_one_device() {
    for device in device_of_each_kind() {
        let plain = deep().with_max_gathered(0);
        for (options, layers) in [(deep(), 1.0), (deep().with_strength(0.1), 1e-3), (plain, 1.0)] {
            let a = poisson::<f64>(&[20, 21], &[1.0, layers]);
            let r = vector(a.nrows());
            let multigrid = SmoothedAggregation::new(&device.upload(&a).unwrap(), options).unwrap();
            let (of_r, mut z) = (device.upload(&r).unwrap(), device.zeros(r.len()).unwrap());
            multigrid.apply(&of_r, &mut z).unwrap();
            let (expected, z) = (multigrid.info().unwrap(), z.download().unwrap());
            let found = on_ranks(&device, &[0, 420], &a, |rank, a| {
                let multigrid = DistributedSmoothedAggregation::new(a, options)?;
                let levels = (multigrid.distributed_levels(), multigrid.info()?);
                Ok((levels, applied(rank, a, &multigrid, &r)?))
            });
            let ((divided, info), found) = &found[0];
            let sizes = |levels: &[AmgLevelInfo]| {
                levels.iter().map(|level| (level.rows, level.nonzeros)).collect::<Vec<_>>()
            };
            assert_eq!(sizes(&info.levels), sizes(&expected.levels), "{device}");
            assert!(*divided >= 2 && info.levels.len() >= 3, "{device}: {divided} levels over ranks\n{info}");
            for (found, expected) in info.levels.iter().zip(&expected.levels) {
                assert!((found.spectral_radius - expected.spectral_radius).abs() < 1e-8);
            }
            let largest = z.iter().fold(0.0_f64, |largest, z| largest.max(z.abs()));
            assert!(found.iter().zip(&z).all(|(found, z)| (found - z).abs() <= 1e-9 * largest), "{device}");
        }
    }
}

#[test]
fn the_spectral_radius_is_that_of_the_whole_matrix() {
    for device in device_of_each_kind() {
        let a = poisson::<f64>(&[16, 12], &[1.0, 0.2]);
        let expected = SmoothedAggregation::new(&device.upload(&a).unwrap(), deep()).unwrap();
        let expected = expected.info().unwrap().levels[0].spectral_radius;
        for boundaries in [&[0, 64, 128, 192][..], &[0, 0, 7, 192]] {
            let found = on_ranks(&device, boundaries, &a, |_, a| {
                Ok(DistributedSmoothedAggregation::new(a, deep())?.info()?.levels[0].spectral_radius)
            });
            // The steps start from the same vector.
            assert!(found.iter().all(|found| (found - expected).abs() < 1e-8), "{found:?}, {expected}");
        }
    }
}

#[test]
fn filtered_prolongations_keep_coarse_matrices_sparse_over_ranks() {
    let (device, a) = (Device::cpu(), poisson::<f64>(&[24, 24], &[1.0, 1e-3]));
    for boundaries in [even(576, 1, 1), even(576, 3, 1)] {
        let coarse = |is_filtered| {
            let options = deep().with_strength(0.1).with_filtered_prolongation(is_filtered);
            let found = on_ranks(&device, &boundaries, &a, |_, a| {
                Ok(DistributedSmoothedAggregation::new(a, options)?.info()?.levels[1])
            });
            (found[0].rows, found[0].nonzeros)
        };
        let (filtered, all) = (coarse(true), coarse(false));
        assert!(filtered.0 == all.0 && 4 * filtered.1 < 3 * all.1, "{filtered:?}, {all:?}");
    }
}

#[test]
fn the_preconditioner_is_symmetric_and_definite() {
    let (device, a) = (Device::cpu(), poisson::<f64>(&[9, 8], &[1.0, 0.01]));
    let rows = a.nrows();
    for options in [deep(), deep().with_cycle(AmgCycle::W).with_strength(0.1)] {
        let columns = on_ranks(&device, &[0, 20, 20, 55, 72], &a, |rank, a| {
            let multigrid = DistributedSmoothedAggregation::new(a, options)?;
            let unit = |at: usize| (0..rows).map(|row| f64::from(row == at)).collect::<Vec<_>>();
            (0..rows).map(|at| applied(rank, a, &multigrid, &unit(at))).collect::<Result<Vec<_>>>()
        });
        let column = |at: usize| columns.iter().flat_map(|of_rank| of_rank[at].clone()).collect::<Vec<f64>>();
        let inverse: Vec<Vec<f64>> = (0..rows).map(column).collect();
        let largest = inverse.iter().flatten().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
        for (row, column) in (0..rows).flat_map(|row| (0..row).map(move |column| (row, column))) {
            let difference = inverse[row][column] - inverse[column][row];
            assert!(difference.abs() <= 1e-12 * largest, "{row}, {column}: {difference:e}");
        }
        assert!((0..rows).all(|row| inverse[row][row] > 0.0));
    }
}

/// The bits of the levels' numbers, of M⁻¹r, of the residuals of a solve, and of x, on each rank.
fn bits<V: Value>(device: &Device, boundaries: &[u64], a: &Csr<V>, options: AmgOptions) -> Vec<Vec<u8>> {
    let r = vector(a.nrows());
    on_ranks(device, boundaries, a, |rank, a| {
        let multigrid = DistributedSmoothedAggregation::new(a, options)?;
        let levels = multigrid.info()?.levels;
        assert!(levels.len() >= 3 && multigrid.distributed_levels() >= 2);
        let numbers: Vec<u64> = levels
            .iter()
            .flat_map(|level| [level.rows as u64, level.nonzeros as u64, level.spectral_radius.to_bits()])
            .collect();
        let z = applied(rank, a, &multigrid, &r)?;
        let (report, x) = solve(rank, a, &multigrid, (&r, 1e-4))?;
        let parts: [&[u8]; 4] = [
            bytemuck::cast_slice(&numbers),
            bytemuck::cast_slice(&z),
            bytemuck::cast_slice(&report.history),
            bytemuck::cast_slice(&x),
        ];
        Ok(parts.concat())
    })
}

#[test]
fn bits_are_the_same_in_every_run_over_ranks() {
    for under_test in devices() {
        let device = &under_test.device;
        let (a, b) = (poisson::<f64>(&[14, 13], &[1.0, 0.01]), poisson::<f32>(&[6, 7, 4], &[1.0; 3]));
        let strong = deep().with_strength(0.1);
        let first = bits(device, &even(182, 3, 1), &a, strong);
        assert!(bits(device, &even(182, 3, 1), &a, strong) == first, "{device}: other bits");
        assert!(bits(device, &even(182, 3, 1), &scaled(&a, 1.0 + 1e-6), strong) != first);
        let of_b = bits(device, &[0, 70, 168], &b, deep());
        assert!(bits(device, &[0, 70, 168], &b, deep()) == of_b, "{device}: other bits of f32");
    }
}

/// The matrix with other values, whose couplings are as strong as before.
fn changed<V: Value>(a: &Csr<V>) -> Csr<V> {
    let mut changed = scaled(a, 3.0);
    let at: Vec<usize> =
        a.iter().enumerate().filter(|(_, (row, column, _))| row == column).map(|(at, _)| at).collect();
    for (row, at) in at.into_iter().enumerate() {
        let value = changed.values()[at].to_f64() * (1.0 + 1e-7 * (row % 7) as f64);
        changed.values_mut()[at] = V::from_f64(value);
    }
    changed
}

/// The levels, and the rank's part of M⁻¹r.
fn state<V: Value>(
    a: &DistributedCsr<V>,
    multigrid: &DistributedSmoothedAggregation<V>,
) -> Result<(Vec<AmgLevelInfo>, Vec<V>)> {
    let r = vector(a.nrows() as usize);
    Ok((multigrid.info()?.levels, applied(a.rank(), a, multigrid, &r)?))
}

fn check_update<V: Value>(device: &Device, (a, boundaries): (&Csr<V>, &[u64]), options: AmgOptions) {
    let other = changed(a);
    on_ranks(device, boundaries, a, |rank, a| {
        let other = distributed(rank, boundaries, &other)?;
        let mut multigrid = DistributedSmoothedAggregation::new(a, options)?;
        assert!(multigrid.distributed_levels() >= 2);
        let before = state(a, &multigrid)?;
        multigrid.update(&other)?;
        let expected = state(a, &DistributedSmoothedAggregation::new(&other, options)?)?;
        let found = state(a, &multigrid)?;
        assert_eq!(found.0, expected.0, "{rank:?}");
        assert!(found == expected && expected != before, "{rank:?}");
        multigrid.update(a)?;
        assert!(state(a, &multigrid)? == before, "{rank:?}");
        Ok(())
    });
}

#[test]
fn updated_hierarchies_have_the_bits_of_new_ones() {
    for device in device_of_each_kind() {
        let layers = poisson::<f64>(&[14, 13], &[1.0, 1e-3]);
        check_update(&device, (&layers, &even(182, 3, 1)), deep().with_strength(0.1));
        check_update(&device, (&poisson::<f32>(&[12, 13], &[1.0; 2]), &[0, 0, 90, 156]), deep());
        if device.kind() != DeviceKind::Cpu {
            continue; // these two cover other ways on the host
        }
        check_update(&device, (&layers, &[0, 182]), deep());
        let (a, _) = plate::<f64>(12, 8);
        let options = AmgOptions::default().with_max_coarse(20).with_max_gathered(70).with_block_size(2);
        check_update(&device, (&a, &even(a.nrows() / 2, 2, 2)), options);
    }
}

#[test]
fn refused_values_change_nothing_over_ranks() {
    let (device, a) = (Device::cpu(), poisson::<f64>(&[18, 16], &[1.0; 2]));
    let boundaries = even(288, 3, 1);
    let with = |row: usize, value: f64| {
        let mut changed = scaled(&a, 2.0);
        let at = a.iter().position(|(of, column, _)| (of, column) == (row, row)).unwrap();
        changed.values_mut()[at] = value;
        changed
    };
    let (negative, infinite) = (with(250, -1.0), with(3, f64::INFINITY));
    let less = a.filter(|row, column, _| (row, column) != (287, 286));
    on_ranks(&device, &boundaries, &a, |rank, a| {
        let mut multigrid = DistributedSmoothedAggregation::new(a, deep())?;
        let before = state(a, &multigrid)?;
        for (other, message) in [
            (&negative, "row 250 has no positive entry on the diagonal"),
            (&infinite, "the matrix has values that are not finite"),
            (&less, "the matrix has another pattern than that of the set-up"),
        ] {
            let error = multigrid.update(&distributed(rank, &boundaries, other)?).unwrap_err();
            assert_eq!(error.to_string(), message, "{rank:?}");
            assert!(state(a, &multigrid)? == before, "{rank:?}: {message}");
        }
        let elsewhere = distributed(rank, &[0, 90, 200, 288], &negative)?;
        assert!(matches!(multigrid.update(&elsewhere), Err(Error::OtherPattern)));
        // Later values of the matrix change nothing either.
        a.local().scale(5.0)?;
        assert!(state(a, &multigrid)? == before, "{rank:?}");
        Ok(())
    });
}
