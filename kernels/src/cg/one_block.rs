//! Many steps in one launch, by one block: for small systems, whose steps take less time than launches.

use evenpath_simt::{device, kernel, thread, warp, Arena, Float, Global, GlobalMut};

use super::scalars::{ALPHA, PAP, RR, RZ, SCALARS};
use crate::block::reduce::BlockReduce;
use crate::{GlobalCsr, Offset};

/// Entries of a row that a thread loads before it multiplies any.
const IN_FLIGHT: usize = 4;

kernel! {
    /// Steps of conjugate gradients by one block. The vectors are in global memory, which one multiprocessor holds in its L1 cache.
    ///
    /// A thread owns rows t, t + `BLOCK`, t + 2 × `BLOCK`, … of all vectors; groups of `lanes` threads multiply rows of A. Four barriers
    /// separate the phases of a step. They order global memory too, which therefore is read by plain loads.
    pub struct OneBlockSteps<V: Float, O: Offset> {
        /// A.
        pub a: GlobalCsr<V, O>,
        /// The diagonal of M⁻¹; not read unless `is_diagonal`.
        pub inverse: Global<V>,
        /// The solution.
        pub x: GlobalMut<V>,
        /// The residual.
        pub r: GlobalMut<V>,
        /// The direction.
        pub p: GlobalMut<V>,
        /// Ap.
        pub q: GlobalMut<V>,
        /// Two elements: the limit of rᵀr, and s.
        pub settings: Global<V>,
        /// [`SCALARS`] for each step, and those after the last of `capacity` steps: rᵀz and rᵀr there are those before the first, and are
        /// replaced by those after the last.
        pub scalars: GlobalMut<V>,
        /// Number of steps with scalars of their own.
        pub capacity: u32,
        /// Number of steps to do, from 1 to `capacity`.
        pub steps: u32,
        /// Threads per row of A: a power of two up to 32.
        pub lanes: u32,
        /// One if z = d ∘ r; if zero, z = r.
        pub is_diagonal: u32,
    }
    shared: 3 * BlockReduce::<V, BLOCK>::BYTES;
    body: OneBlockSteps::do_steps::<BLOCK>;
    entry: cg_one_block_{V}_{O} in cg_one_block: V in [f32, f64], O in [u32, u64], 512 x 1 resident 1;
}

impl<V: Float, O: Offset> OneBlockSteps<V, O> {
    #[device]
    fn do_steps<const BLOCK: usize>(self, mut arena: Arena) {
        let [pap_reduce, rr_reduce, rz_reduce] = [(); 3].map(|()| BlockReduce::<V, BLOCK>::take(&mut arena));
        let (limit, scale) = (self.settings.load(0), self.settings.load(1));
        let before = SCALARS * self.capacity as usize;
        let (mut rz, mut rr) = (self.scalars.load(before + RZ), self.scalars.load(before + RR));
        let mut pap = V::ZERO;
        let mut step = 0;
        while step < self.steps {
            pap = pap_reduce.sum(self.multiply::<BLOCK>());
            let alpha = if pap > V::ZERO && rr > limit { rz / pap } else { V::ZERO };
            if thread::index() == 0 {
                self.store_scalars(step, [rz, rr, pap, alpha]);
            }
            if alpha == V::ZERO {
                break;
            }
            let (own_rr, own_rz) = self.update_residual::<BLOCK>(alpha, scale * alpha);
            rr_reduce.share(own_rr, |a, b| a + b);
            let next = rz_reduce.sum(own_rz);
            rr = rr_reduce.total(|a, b| a + b);
            self.update_direction::<BLOCK>(next / rz);
            rz = next;
            thread::barrier();
            step += 1;
        }
        self.finish::<BLOCK>(step, [rz, rr, pap]);
    }

    /// q = Ap. Returns the thread's part of pᵀq.
    #[device]
    fn multiply<const BLOCK: usize>(self) -> V {
        let Self { a, p, q, lanes, .. } = self;
        let rows = a.rows as usize;
        let log = lanes.trailing_zeros();
        let lane = (thread::index() & (lanes - 1)) as usize;
        let mut first = 0;
        let mut sum = V::ZERO;
        while first < rows {
            let row = first + (thread::index() >> log) as usize;
            let (mut at, mut end) = (0, 0);
            if row < rows {
                (at, end) = a.pattern().row_bounds(row);
                at += lane;
            }
            let product = warp::reduce_groups(self.row_sum(at, end), lanes, |a, b| a + b);
            if lane == 0 && row < rows {
                q.store(row, product);
                sum = p.load(row).fma(product, sum);
            }
            first += BLOCK >> log;
        }
        sum
    }

    /// The sum of the products of entries `at`, `at` + `lanes`, … before `end` with p.
    #[device]
    fn row_sum(self, mut at: usize, end: usize) -> V {
        let Self { a, p, .. } = self;
        let lanes = self.lanes as usize;
        let mut sum = V::ZERO;
        while at < end {
            let (mut columns, mut values) = ([0; IN_FLIGHT], [V::ZERO; IN_FLIGHT]);
            for item in 0..IN_FLIGHT {
                let index = at + item * lanes;
                columns[item] = a.column_indices.load_if(index, index < end);
                values[item] = a.values.load_if(index, index < end);
            }
            let mut elements = [V::ZERO; IN_FLIGHT];
            for item in 0..IN_FLIGHT {
                // Column 0 past the end of the row.
                elements[item] = p.load(columns[item] as usize);
            }
            for item in 0..IN_FLIGHT {
                if at + item * lanes < end {
                    sum = values[item].fma(elements[item], sum);
                }
            }
            at += IN_FLIGHT * lanes;
        }
        sum
    }

    /// r −= αq and x += sαp. Returns the thread's parts of rᵀr and rᵀz.
    #[device]
    fn update_residual<const BLOCK: usize>(self, alpha: V, step: V) -> (V, V) {
        let rows = self.a.rows as usize;
        let mut row = thread::index() as usize;
        let (mut rr, mut rz) = (V::ZERO, V::ZERO);
        while row < rows {
            let new = self.r.load(row) - alpha * self.q.load(row);
            self.r.store(row, new);
            self.x.store(row, step.fma(self.p.load(row), self.x.load(row)));
            rr = new.fma(new, rr);
            rz = self.preconditioned(row, new).fma(new, rz);
            row += BLOCK;
        }
        (rr, rz)
    }

    /// p = z + βp.
    #[device]
    fn update_direction<const BLOCK: usize>(self, beta: V) {
        let rows = self.a.rows as usize;
        let mut row = thread::index() as usize;
        while row < rows {
            let z = self.preconditioned(row, self.r.load(row));
            self.p.store(row, beta.fma(self.p.load(row), z));
            row += BLOCK;
        }
    }

    /// The element of z in a row.
    #[device(track_caller)]
    fn preconditioned(self, row: usize, r: V) -> V {
        if self.is_diagonal == 0 {
            r
        } else {
            self.inverse.load(row) * r
        }
    }

    /// Stores the scalars of a step, by one thread: rᵀz and rᵀr before it, pᵀAp, α.
    #[device(track_caller)]
    fn store_scalars(self, step: u32, [rz, rr, pap, alpha]: [V; SCALARS]) {
        let first = SCALARS * step as usize;
        self.scalars.store(first + RZ, rz);
        self.scalars.store(first + RR, rr);
        self.scalars.store(first + PAP, pap);
        self.scalars.store(first + ALPHA, alpha);
    }

    /// Stores rᵀz and rᵀr after `step` steps: also as those of all later steps, which change nothing.
    #[device]
    fn finish<const BLOCK: usize>(self, step: u32, [rz, rr, pap]: [V; 3]) {
        let mut later = step + thread::index();
        while later <= self.capacity {
            self.store_scalars(later, [rz, rr, pap, V::ZERO]);
            later += BLOCK as u32;
        }
    }
}
