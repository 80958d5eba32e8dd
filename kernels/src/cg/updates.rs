//! The two updates of a step whose scalars stay on the device.
//!
//! A step is: Ap, the partial sums of pᵀAp ([`Dot`](crate::vector::Dot)), [`UpdateResidual`], [`UpdateDirection`]. The sums of blocks
//! are added up by every block that needs the total, which saves a launch each.

use evenpath_simt::{device, kernel, thread, Arena, Float, Global, GlobalMut};

use super::scalars::{ALPHA, PAP, RR, RZ, SCALARS};
use crate::block::reduce::BlockReduce;
use crate::vector::share_sums;

/// The index, or for one past the end the thread's first: a load that needs no branch, of an element that no other thread writes.
#[device]
fn own_index(index: usize, first: usize, len: usize) -> usize {
    if index < len {
        index
    } else {
        first
    }
}

kernel! {
    /// r −= α Ap with α = rᵀz / pᵀAp, and the partial sums of the new rᵀr and rᵀz, where z = d ∘ r. α is zero once rᵀr is
    /// within the limit, and where pᵀAp is not positive.
    pub struct UpdateResidual<V: Float> {
        /// Ap.
        pub ap: Global<V>,
        /// d; not read unless `is_diagonal`.
        pub inverse: Global<V>,
        /// The residual.
        pub r: GlobalMut<V>,
        /// Partial sums of pᵀAp.
        pub pap_sums: Global<V>,
        /// The limit of rᵀr: one element.
        pub limit: Global<V>,
        /// [`SCALARS`] for each step.
        pub scalars: GlobalMut<V>,
        /// Output: partial sums of rᵀr, one per block, then of rᵀz.
        pub sums: GlobalMut<V>,
        /// Elements of each vector.
        pub len: u64,
        /// Number of partial sums of pᵀAp.
        pub count: u32,
        /// The step.
        pub step: u32,
        /// One if z = d ∘ r; if zero, z = r.
        pub is_diagonal: u32,
    }
    shared: 3 * BlockReduce::<V, BLOCK>::BYTES;
    body: UpdateResidual::update_residual::<BLOCK, ITEMS>;
    entry: cg_update_residual_{V} in cg: V in [f32, f64], 256 x 4;
}

impl<V: Float> UpdateResidual<V> {
    #[device]
    fn update_residual<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let [totals, rr_reduce, rz_reduce] = [(); 3].map(|()| BlockReduce::<V, BLOCK>::take(&mut arena));
        share_sums::<V, BLOCK, ITEMS>(totals, self.pap_sums, self.count);
        let pap = totals.total(|a, b| a + b);
        let alpha = self.alpha(pap);
        let (len, stride) = (self.len as usize, thread::grid_size() as usize * BLOCK * ITEMS);
        let mut first = thread::block() as usize * BLOCK * ITEMS + thread::index() as usize;
        let (mut rr, mut rz) = (V::ZERO, V::ZERO);
        while first < len {
            let (mut r, mut ap, mut inverse) = ([V::ZERO; ITEMS], [V::ZERO; ITEMS], [V::ZERO; ITEMS]);
            for item in 0..ITEMS {
                let index = first + item * BLOCK;
                r[item] = self.r.load(own_index(index, first, len));
                ap[item] = self.ap.load_if(index, index < len);
                inverse[item] = self.inverse.load_if(index, self.is_diagonal != 0 && index < len);
            }
            for item in 0..ITEMS {
                let index = first + item * BLOCK;
                let mut new = V::ZERO;
                if index < len {
                    new = if alpha == V::ZERO { r[item] } else { r[item] - alpha * ap[item] };
                    self.r.store(index, new);
                }
                rr = new.fma(new, rr);
                rz = (inverse[item] * new).fma(new, rz);
            }
            first += stride;
        }
        rr_reduce.share(rr, |a, b| a + b);
        rz_reduce.share(rz, |a, b| a + b);
        if thread::index() == 0 {
            let (block, blocks) = (thread::block() as usize, thread::grid_size() as usize);
            let rr = rr_reduce.total(|a, b| a + b);
            self.sums.store(block, rr);
            self.sums.store(
                blocks + block,
                if self.is_diagonal != 0 { rz_reduce.total(|a, b| a + b) } else { rr },
            );
            if block == 0 {
                self.scalars.store(SCALARS * self.step as usize + PAP, pap);
                self.scalars.store(SCALARS * self.step as usize + ALPHA, alpha);
            }
        }
    }

    /// The step length.
    #[device(track_caller)]
    fn alpha(self, pap: V) -> V {
        let first = SCALARS * self.step as usize;
        let (rz, rr) = (self.scalars.load(first + RZ), self.scalars.load(first + RR));
        if pap > V::ZERO && rr > self.limit.load(0) {
            rz / pap
        } else {
            V::ZERO
        }
    }
}

kernel! {
    /// x += sαp and p = z + βp, where β is rᵀz of the next step over that of this one; writes rᵀz and rᵀr of the next step. Where α is
    /// zero, x and p stay.
    pub struct UpdateDirection<V: Float> {
        /// z, or r if `is_diagonal`.
        pub z: Global<V>,
        /// d; not read unless `is_diagonal`.
        pub inverse: Global<V>,
        /// The direction.
        pub p: GlobalMut<V>,
        /// The solution.
        pub x: GlobalMut<V>,
        /// Partial sums of rᵀr.
        pub rr_sums: Global<V>,
        /// Partial sums of rᵀz.
        pub rz_sums: Global<V>,
        /// One element: s.
        pub scale: Global<V>,
        /// [`SCALARS`] for each step.
        pub scalars: GlobalMut<V>,
        /// Elements of each vector.
        pub len: u64,
        /// Number of partial sums of rᵀr.
        pub rr_count: u32,
        /// Number of partial sums of rᵀz.
        pub rz_count: u32,
        /// The step.
        pub step: u32,
        /// One if z = d ∘ r.
        pub is_diagonal: u32,
    }
    shared: 2 * BlockReduce::<V, BLOCK>::BYTES;
    body: UpdateDirection::update_direction::<BLOCK, ITEMS>;
    entry: cg_update_direction_{V} in cg: V in [f32, f64], 256 x 4;
}

impl<V: Float> UpdateDirection<V> {
    #[device]
    fn update_direction<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let [rz_reduce, rr_reduce] = [(); 2].map(|()| BlockReduce::<V, BLOCK>::take(&mut arena));
        share_sums::<V, BLOCK, ITEMS>(rz_reduce, self.rz_sums, self.rz_count);
        let next = rz_reduce.total(|a, b| a + b);
        let scalars = SCALARS * self.step as usize;
        let (alpha, rz) = (self.scalars.load(scalars + ALPHA), self.scalars.load(scalars + RZ));
        if thread::block() == 0 {
            share_sums::<V, BLOCK, ITEMS>(rr_reduce, self.rr_sums, self.rr_count);
            if thread::index() == 0 {
                self.scalars.store(scalars + SCALARS + RZ, next);
                self.scalars.store(scalars + SCALARS + RR, rr_reduce.total(|a, b| a + b));
            }
        }
        if alpha == V::ZERO {
            return;
        }
        let (beta, alpha) = (next / rz, self.scale.load(0) * alpha);
        let (len, stride) = (self.len as usize, thread::grid_size() as usize * BLOCK * ITEMS);
        let mut first = thread::block() as usize * BLOCK * ITEMS + thread::index() as usize;
        while first < len {
            let (mut z, mut p, mut x) = ([V::ZERO; ITEMS], [V::ZERO; ITEMS], [V::ZERO; ITEMS]);
            for item in 0..ITEMS {
                let index = first + item * BLOCK;
                z[item] = self.z.load_if(index, index < len);
                p[item] = self.p.load(own_index(index, first, len));
                x[item] = self.x.load(own_index(index, first, len));
            }
            if self.is_diagonal != 0 {
                for item in 0..ITEMS {
                    let index = first + item * BLOCK;
                    z[item] = z[item] * self.inverse.load_if(index, index < len);
                }
            }
            for item in 0..ITEMS {
                let index = first + item * BLOCK;
                if index < len {
                    self.x.store(index, alpha.fma(p[item], x[item]));
                    self.p.store(index, beta.fma(p[item], z[item]));
                }
            }
            first += stride;
        }
    }
}
