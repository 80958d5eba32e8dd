//! Tests of the operations of a block. They are beside the crate because its own tests would compile all kernels once
//! more.
#![allow(missing_docs)]

mod balanced_path {
    use evenpath_kernels::block::balanced_path::{search, PathCut};

    /// Returns the path by walking it: the cut of every diagonal.
    fn walk(a: &[u32], b: &[u32]) -> Vec<PathCut<u32>> {
        let (mut i, mut j) = (0, 0);
        let mut cuts = vec![PathCut { a: 0, b: 0 }];
        while i < a.len() || j < b.len() {
            let before = i + j;
            let matched = i < a.len() && j < b.len() && a[i] == b[j];
            if matched {
                (i, j) = (i + 1, j + 1);
            } else if j == b.len() || (i < a.len() && a[i] < b[j]) {
                i += 1;
            } else {
                j += 1;
            }
            // A match that the diagonal would cut belongs before it.
            for _ in before..i + j {
                cuts.push(PathCut { a: i as u32, b: j as u32 });
            }
        }
        cuts
    }

    fn check(a: &[u32], b: &[u32]) {
        for (diagonal, expected) in walk(a, b).into_iter().enumerate() {
            let found =
                search(diagonal as u32, a.len() as u32, b.len() as u32, |i| a[i as usize], |i| b[i as usize]);
            assert_eq!(found, expected, "diagonal {diagonal} of {a:?} and {b:?}");
        }
    }

    #[test]
    fn every_diagonal_of_every_small_pair() {
        // All sorted sequences of up to 5 of 3 keys.
        let mut sequences = vec![vec![]];
        for len in 1..=5 {
            for code in 0..3_u32.pow(len) {
                let keys: Vec<u32> = (0..len).map(|i| code / 3_u32.pow(i) % 3).collect();
                if keys.is_sorted() {
                    sequences.push(keys);
                }
            }
        }
        for a in &sequences {
            for b in &sequences {
                check(a, b);
            }
        }
    }

    #[test]
    fn long_runs() {
        for (a_run, b_run) in [(100, 3), (3, 100), (64, 64), (65, 64), (1, 40), (40, 0)] {
            let a = [&[1, 2][..], &vec![5; a_run], &[6, 9]].concat();
            let b = [&[2][..], &vec![5; b_run], &[7, 9, 9]].concat();
            check(&a, &b);
        }
    }

    #[test]
    fn unsorted_input_is_searched_inside() {
        let a = [9, 1, 5, 5, 0, 7, 5, 2];
        let b = [5, 5, 1, 8, 5, 0, 5];
        for diagonal in 0..=(a.len() + b.len()) as u32 {
            let cut = search(diagonal, a.len() as u32, b.len() as u32, |i| a[i as usize], |i| b[i as usize]);
            assert!(cut.a <= a.len() as u32 && cut.b <= b.len() as u32);
            assert!(cut.a + cut.b == diagonal || cut.a + cut.b == diagonal + 1);
        }
    }
}

mod reduce {
    use evenpath_kernels::block::reduce::BlockReduce;
    use evenpath_simt::host::{SimulatedGpu, SimulatedOptions};
    use evenpath_simt::{kernel, thread, Arena, GlobalMut};

    kernel! {
        /// The sum over a block in every thread, and the maximum in thread 0.
        pub struct Reductions {
            pub sums: GlobalMut<u32>,
            pub maximum: GlobalMut<u32>,
        }
        shared: BlockReduce::<u32, BLOCK>::BYTES;
        body: |Reductions { sums, maximum }: Reductions, mut arena: Arena| {
            let reduce = BlockReduce::<u32, BLOCK>::take(&mut arena);
            let thread = thread::index();
            sums.store(thread as usize, reduce.sum(thread * thread));
            thread::barrier();
            reduce.share(1000 - thread.abs_diff(70), u32::max);
            if thread == 0 {
                maximum.store(0, reduce.total(u32::max));
            }
        };
        entry: reductions in reduce: 128 x 1;
    }

    #[test]
    fn sums_and_maxima_of_a_block() {
        let gpu = SimulatedGpu::new(SimulatedOptions::default());
        let (sums, maximum) = (gpu.allocate(128 * 4).expect("memory"), gpu.allocate(4).expect("memory"));
        let kernel = Reductions {
            sums: GlobalMut::from_device(sums, 128),
            maximum: GlobalMut::from_device(maximum, 1),
        };
        gpu.run(kernel, 1).expect("no mistake");
        let mut bytes = [0; 128 * 4];
        gpu.read(sums, &mut bytes).expect("written");
        let expected: u32 = (0..128).map(|thread| thread * thread).sum();
        for sum in bytes.chunks_exact(4) {
            assert_eq!(sum, expected.to_le_bytes());
        }
        let mut bytes = [0; 4];
        gpu.read(maximum, &mut bytes).expect("written");
        assert_eq!(bytes, 1000_u32.to_le_bytes());
    }
}

mod search {
    use evenpath_kernels::block::search::partition_point;

    #[test]
    fn bounds_are_those_of_slices() {
        let array = [1, 3, 3, 3, 7, 9, 9, 12];
        for start in 0..=array.len() {
            for end in start..=array.len() {
                for key in 0..14 {
                    let slice = &array[start..end];
                    let lower = start + slice.partition_point(|&element| element < key);
                    let upper = start + slice.partition_point(|&element| element <= key);
                    assert_eq!(partition_point(start, end, |index| array[index] < key), lower);
                    assert_eq!(partition_point(start, end, |index| array[index] <= key), upper);
                }
            }
        }
    }

    #[test]
    fn unsorted_arrays_are_searched_inside() {
        let array = [5_u32, 1, 9, 0, 7, 2];
        for key in 0..10 {
            let found = partition_point(1_u32, 5, |index| {
                assert!((1..5).contains(&index));
                array[index as usize] < key
            });
            assert!((1..=5).contains(&found));
        }
    }
}
