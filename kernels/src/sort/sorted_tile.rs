//! A tile that a block has sorted in shared memory, stored digit by digit.
use evenpath_simt::{device, thread, Element, GlobalMut, Shared};

use crate::block::radix_rank::{Digit, KeyOrder, RadixKey};

/// Items that are loaded from shared memory before the first is stored: as many as registers allow.
const GROUP: usize = 6;

/// The most items of a thread.
const MAX_ITEMS: usize = 4 * GROUP;

/// A number below 2^`BITS` for each item of a thread, several in a register.
#[derive(Clone, Copy)]
pub(super) struct Packed<const BITS: usize>([u32; 2 * GROUP]);

pub(super) type Digits = Packed<8>;
pub(super) type SortedPlaces = Packed<16>;

impl<const BITS: usize> Packed<BITS> {
    const PER_WORD: usize = 32 / BITS;

    #[device]
    pub(super) fn new() -> Self {
        const { assert!(2 * GROUP * Self::PER_WORD >= MAX_ITEMS) };
        Self([0; 2 * GROUP])
    }

    /// Sets the number of an item that has none yet.
    #[device]
    pub(super) fn set(&mut self, item: usize, number: u32) {
        self.0[item / Self::PER_WORD] |= number << (item % Self::PER_WORD * BITS);
    }

    /// Hides the packing from the compiler, which otherwise keeps every number in a register of its own.
    #[device]
    pub(super) fn packed(mut self) -> Self {
        for word in 0..MAX_ITEMS / Self::PER_WORD {
            self.0[word] = thread::opaque(self.0[word]);
        }
        self
    }

    #[device]
    pub(super) fn get(&self, item: usize) -> usize {
        (self.0[item / Self::PER_WORD] >> (item % Self::PER_WORD * BITS) & ((1 << BITS) - 1)) as usize
    }
}

/// A tile in shared memory, sorted by the pass's digit. Each thread stores every `BLOCK`-th item: consecutive items
/// of the tile are consecutive in the output wherever their digits are equal.
#[derive(Clone, Copy)]
pub(super) struct SortedTile<const BLOCK: usize, const ITEMS: usize> {
    /// Items, without padding.
    pub(super) len: u32,
    pub(super) digit: Digit,
    /// Difference between a key's place in the output and in the tile, for each digit.
    pub(super) bin_bases: Shared<u64>,
}

impl<const BLOCK: usize, const ITEMS: usize> SortedTile<BLOCK, ITEMS> {
    /// Stores the keys, and returns this thread's digits.
    #[device]
    pub(super) fn store_keys<K: RadixKey>(
        self,
        exchange: Shared<K>,
        to: GlobalMut<K>,
        order: KeyOrder<K>,
    ) -> Digits {
        const { assert!(ITEMS <= MAX_ITEMS) };
        let mut digits = Digits::new();
        // Not a loop: the compiler would keep it, and the arrays would leave registers for local memory.
        self.store_group_of_keys(0, exchange, to, order, &mut digits);
        self.store_group_of_keys(GROUP, exchange, to, order, &mut digits);
        self.store_group_of_keys(2 * GROUP, exchange, to, order, &mut digits);
        self.store_group_of_keys(3 * GROUP, exchange, to, order, &mut digits);
        digits.packed()
    }

    #[device]
    fn store_group_of_keys<K: RadixKey>(
        self,
        first: usize,
        exchange: Shared<K>,
        to: GlobalMut<K>,
        order: KeyOrder<K>,
        digits: &mut Digits,
    ) {
        let mut keys = [K::ZERO; GROUP];
        for item in 0..GROUP {
            if first + item < ITEMS {
                keys[item] = exchange.load(Self::place(first + item));
                digits.set(first + item, self.digit.of(keys[item]) as u32);
            }
        }
        if !order.is_identity() {
            for item in 0..GROUP {
                keys[item] = keys[item].into_key(order);
            }
        }
        self.store_group(first, to, &keys, digits);
    }

    /// Stores the values, to where keys of these digits went.
    #[device]
    pub(super) fn store_values<V: Element>(self, exchange: Shared<V>, to: GlobalMut<V>, digits: &Digits) {
        self.store_group_of_values(0, exchange, to, digits);
        self.store_group_of_values(GROUP, exchange, to, digits);
        self.store_group_of_values(2 * GROUP, exchange, to, digits);
        self.store_group_of_values(3 * GROUP, exchange, to, digits);
    }

    #[device]
    fn store_group_of_values<V: Element>(
        self,
        first: usize,
        exchange: Shared<V>,
        to: GlobalMut<V>,
        digits: &Digits,
    ) {
        let mut values = [V::ZERO; GROUP];
        for item in 0..GROUP {
            if first + item < ITEMS {
                values[item] = exchange.load(Self::place(first + item));
            }
        }
        self.store_group(first, to, &values, digits);
    }

    /// Stores up to `GROUP` of this thread's items starting at item `first`.
    #[device]
    fn store_group<T: Element>(self, first: usize, to: GlobalMut<T>, items: &[T; GROUP], digits: &Digits) {
        let mut bases = [0; GROUP];
        for item in 0..GROUP {
            if first + item < ITEMS {
                bases[item] = self.bin_bases.load(digits.get(first + item)) as usize;
            }
        }
        if self.len == (BLOCK * ITEMS) as u32 {
            for item in 0..GROUP {
                if first + item < ITEMS {
                    Self::store(first + item, to, bases[item], items[item]);
                }
            }
        } else {
            for item in 0..GROUP {
                if first + item < ITEMS && (Self::place(first + item) as u32) < self.len {
                    Self::store(first + item, to, bases[item], items[item]);
                }
            }
        }
    }

    /// Returns the place in the tile of an item of this thread.
    #[device]
    fn place(item: usize) -> usize {
        thread::index() as usize + item * BLOCK
    }

    #[device]
    fn store<T: Element>(item: usize, to: GlobalMut<T>, base: usize, value: T) {
        // First what differs between threads: the rest is part of the instruction.
        to.skip(thread::index() as usize).skip(base).store(item * BLOCK, value);
    }
}
