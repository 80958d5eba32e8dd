//! Structures that are known exactly: states in a triangle, and a quantum chromodynamics lattice.

/// States (i, j) with i + j up to this.
const LAST: usize = 1024;

/// The index of state (i, j): ordered by j, then by i from 0 to `LAST` - j.
fn state(i: usize, j: usize) -> u32 {
    (i + j * (2 * LAST + 3 - j) / 2) as u32
}

/// The state with an index.
fn coordinates(row: usize) -> (usize, usize) {
    // The largest j whose first state is not after `row`; the root is off by at most one.
    let (width, row) = ((2 * LAST + 3) as f64, row as u32);
    let mut j = ((width - (width * width - 8.0 * f64::from(row)).max(0.0).sqrt()) / 2.0) as usize;
    while state(0, j) > row {
        j -= 1;
    }
    while j < LAST && state(0, j + 1) <= row {
        j += 1;
    }
    ((row - state(0, j)) as usize, j)
}

/// The couplings of a state, given as steps in i and j; those that leave the triangle are dropped.
fn triangle(row: usize, steps: &[(isize, isize)], columns: &mut Vec<u32>) {
    let (i, j) = coordinates(row);
    let target = |&(di, dj): &(isize, isize)| {
        let (i, j) = (i.checked_add_signed(di)?, j.checked_add_signed(dj)?);
        (i + j <= LAST).then(|| state(i, j))
    };
    columns.extend(steps.iter().filter_map(target));
    columns.sort_unstable();
}

/// A Markov model of an epidemic: one individual more or fewer of one kind, one fewer of the other.
pub(super) fn epidemic(row: usize, columns: &mut Vec<u32>) {
    triangle(row, &[(0, 0), (1, 0), (-1, 0), (0, -1)], columns);
}

/// Linear elements on the triangulation.
pub(super) fn triangulation(row: usize, columns: &mut Vec<u32>) {
    triangle(row, &[(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)], columns);
}

/// Sites along one side of the lattice.
const SIDE: usize = 8;
/// Unknowns per site: 4 spins of 3 colors.
const UNKNOWNS: usize = 12;
/// The spin that each spin is coupled to along x, y and z.
const PARTNERS: [[usize; 4]; 3] = [[3, 2, 1, 0], [3, 2, 1, 0], [2, 3, 0, 1]];

/// The hopping term of Wilson fermions: an unknown is coupled to all colors of its spin and of a partner spin at the six
/// neighbors in space, and of its spin at one neighbor in time; 39 in all.
pub(super) fn chromodynamics(row: usize, columns: &mut Vec<u32>) {
    let (site, spin) = (row / UNKNOWNS, row % UNKNOWNS / 3);
    let neighbor = |axis: usize, step: usize| {
        let unit = SIDE.pow(axis as u32);
        let at = site / unit % SIDE;
        site - at * unit + (at + step) % SIDE * unit
    };
    let mut couple = |site: usize, spin: usize| {
        let first = site * UNKNOWNS + spin * 3;
        columns.extend((first..first + 3).map(|unknown| unknown as u32));
    };
    for (axis, partners) in PARTNERS.iter().enumerate() {
        for step in [1, SIDE - 1] {
            couple(neighbor(axis, step), spin);
            couple(neighbor(axis, step), partners[spin]);
        }
    }
    couple(neighbor(3, if spin < 2 { 1 } else { SIDE - 1 }), spin);
    columns.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_numbered_without_gaps() {
        let mut row = 0;
        for j in 0..=LAST {
            for i in 0..=LAST - j {
                assert_eq!((state(i, j) as usize, coordinates(row)), (row, (i, j)));
                row += 1;
            }
        }
        assert_eq!(row, 525_825);
    }
}
