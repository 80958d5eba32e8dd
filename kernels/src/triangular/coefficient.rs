use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, Arithmetic, Element, Float, GlobalMut};

/// Numbers of systems that are solved and matrices that are factorized: real and complex. A number is passed on between rows of one
/// launch as *words*, one for each of its [`PARTS`](Self::PARTS): the complement of its bits, where zero is none.
pub trait Coefficient: Arithmetic + core::ops::Sub<Output = Self> {
    /// Type of the real and the imaginary part.
    type Part: Float;
    /// How many parts there are.
    const PARTS: usize;

    /// Returns the quotient; of complex numbers by Smith's method, which overflows only near the end of the range (*Algorithm 116*,
    /// Communications of the ACM 5, 1962).
    #[must_use]
    fn divided_by(self, divisor: Self) -> Self;

    /// A divisor that is known before the dividend.
    type Divisor: Copy;

    /// Prepares a divisor.
    fn divisor(self) -> Self::Divisor;

    /// Returns the bits of [`divided_by`](Self::divided_by), sooner.
    #[must_use]
    fn divided_soon(self, divisor: Self::Divisor) -> Self;

    /// Returns whether the real part is positive.
    fn is_positive(self) -> bool;

    /// Returns the square root of the real part.
    #[must_use]
    fn real_root(self) -> Self;

    /// Returns whether words lack a part that was not passed on.
    fn is_none(self) -> bool;

    /// Returns the number whose words these are.
    #[must_use]
    fn of_words(self) -> Self;

    /// Returns these words with those that have been passed on since, where `condition` holds. Without a branch, so that several
    /// loads are on their way together.
    #[must_use]
    fn look_if(self, passed: GlobalMut<Self::Part>, place: usize, condition: bool) -> Self;

    /// Passes a number on.
    fn pass(self, passed: GlobalMut<Self::Part>, place: usize);

    /// Passes a number on, and clears its words for the next launch.
    fn pass_on(self, passed: GlobalMut<Self::Part>, next: GlobalMut<Self::Part>, place: usize);
}

macro_rules! real {
    ($($type:ident: $least:expr, $most:expr;)*) => {$(
        impl Coefficient for $type {
            type Part = Self;
            type Divisor = Known<Self>;
            const PARTS: usize = 1;

            #[device]
            fn divisor(self) -> Known<Self> {
                let is_usual = magnitude(self) > $least && magnitude(self) < $most;
                Known { divisor: self, inverse: 1.0 / self, is_usual }
            }

            #[device]
            fn divided_soon(self, by: Known<Self>) -> Self {
                if by.is_usual && magnitude(self) > $least && magnitude(self) < $most {
                    quotient(self, by.divisor, by.inverse)
                } else {
                    self / by.divisor
                }
            }

            #[device]
            fn divided_by(self, divisor: Self) -> Self {
                self / divisor
            }

            #[device]
            fn is_positive(self) -> bool {
                self > Self::ZERO
            }

            #[device]
            fn real_root(self) -> Self {
                Float::sqrt(self)
            }

            #[device]
            fn is_none(self) -> bool {
                is_no_word(self)
            }

            #[device]
            fn of_words(self) -> Self {
                complement(self)
            }

            #[device(track_caller)]
            fn look_if(self, passed: GlobalMut<Self>, place: usize, condition: bool) -> Self {
                passed.atomic_load_if(place, condition && is_no_word(self), self)
            }

            #[device(track_caller)]
            fn pass(self, passed: GlobalMut<Self>, place: usize) {
                pass_part(self, passed, place);
            }

            #[device(track_caller)]
            fn pass_on(self, passed: GlobalMut<Self>, next: GlobalMut<Self>, place: usize) {
                self.pass(passed, place);
                next.store(place, 0.0);
            }
        }
    )*};
}
// Between these, no term of a quotient overflows or loses bits.
real! {
    f32: 1.0 / 1_099_511_627_776.0, 1_099_511_627_776.0;
    f64: 1.0 / 1.0e100, 1.0e100;
}

macro_rules! complex {
    ($($part:ident)*) => {$(
        impl Coefficient for Complex<$part> {
            type Part = $part;
            type Divisor = Self;
            const PARTS: usize = 2;

            #[device]
            fn divisor(self) -> Self {
                self
            }

            #[device]
            fn divided_soon(self, divisor: Self) -> Self {
                self.divided_by(divisor)
            }

            #[device]
            fn divided_by(self, divisor: Self) -> Self {
                let Self { re, im } = divisor;
                if magnitude(re) >= magnitude(im) {
                    let ratio = im / re;
                    let whole = re + im * ratio;
                    Self::new((self.re + self.im * ratio) / whole, (self.im - self.re * ratio) / whole)
                } else {
                    let ratio = re / im;
                    let whole = re * ratio + im;
                    Self::new((self.re * ratio + self.im) / whole, (self.im * ratio - self.re) / whole)
                }
            }

            #[device]
            fn is_positive(self) -> bool {
                self.re > 0.0
            }

            #[device]
            fn real_root(self) -> Self {
                Self::new(Float::sqrt(self.re), 0.0)
            }

            #[device]
            fn is_none(self) -> bool {
                is_no_word(self.re) || is_no_word(self.im)
            }

            #[device]
            fn of_words(self) -> Self {
                Self::new(complement(self.re), complement(self.im))
            }

            #[device(track_caller)]
            fn look_if(self, passed: GlobalMut<$part>, place: usize, condition: bool) -> Self {
                let part = |part, at| passed.atomic_load_if(at, condition && is_no_word(part), part);
                Self::new(part(self.re, 2 * place), part(self.im, 2 * place + 1))
            }

            #[device(track_caller)]
            fn pass(self, passed: GlobalMut<$part>, place: usize) {
                pass_part(self.re, passed, 2 * place);
                pass_part(self.im, passed, 2 * place + 1);
            }

            #[device(track_caller)]
            fn pass_on(self, passed: GlobalMut<$part>, next: GlobalMut<$part>, place: usize) {
                self.pass(passed, place);
                next.store(2 * place, 0.0);
                next.store(2 * place + 1, 0.0);
            }
        }
    )*};
}
complex!(f32 f64);

/// A real divisor with its inverse, and whether both are far from overflow.
#[derive(Clone, Copy)]
pub struct Known<V> {
    divisor: V,
    inverse: V,
    is_usual: bool,
}

/// Returns the quotient, correctly rounded, where `inverse` is: the second correction makes it so (Markstein, *Computation of Elementary
/// Functions on the IBM RISC System/6000 Processor*, IBM Journal of Research and Development 34, 1990, theorem 7).
#[device]
fn quotient<V: Float>(dividend: V, divisor: V, inverse: V) -> V {
    let negative = V::ZERO - divisor;
    let first = dividend * inverse;
    let second = negative.fma(first, dividend).fma(inverse, first);
    negative.fma(second, dividend).fma(inverse, second)
}

/// Returns the absolute value.
#[device]
fn magnitude<V: Float>(value: V) -> V {
    if value < V::ZERO {
        V::ZERO - value
    } else {
        value
    }
}

/// Returns the number whose bits are the others.
#[device]
fn complement<V: Element<Words = u64>>(value: V) -> V {
    V::from_bits(!value.to_bits())
}

/// Returns whether a word is that of a number that was not passed on.
#[device]
fn is_no_word<V: Element<Words = u64>>(word: V) -> bool {
    word.to_bits() == 0
}

/// Returns the word of a real number. A NaN of ones alone becomes another NaN.
#[device]
fn word_of<V: Float>(part: V) -> V {
    let word = complement(part);
    if is_no_word(word) {
        V::from_bits(1)
    } else {
        word
    }
}

/// Passes a real number on.
#[device(track_caller)]
fn pass_part<V: Float>(part: V, passed: GlobalMut<V>, place: usize) {
    passed.atomic_store(place, word_of(part), Ordering::Relaxed, Scope::Device);
}
