use evenpath::error::OpError;
use evenpath::key::{Key, PairValue, Pairs};
use evenpath::merge;
use evenpath::sets::{self, Combine, SetOperation};

use super::bench::{Bench, Measured};
use super::check::{Combination, Source};
use crate::sequences::{Small, random_numbers, sorted_unique};

/// The operation on keys.
#[derive(Clone, Copy)]
enum KeyCase {
    Set(SetOperation),
    Count(SetOperation),
    Merge,
}

impl KeyCase {
    fn all() -> impl Iterator<Item = Self> {
        let sets = SetOperation::ALL.into_iter();
        sets.flat_map(|operation| [Self::Set(operation), Self::Count(operation)]).chain([Self::Merge])
    }

    fn op(self) -> String {
        let name = |operation: SetOperation| format!("set_{operation}").replace(' ', "_");
        match self {
            Self::Set(operation) => name(operation),
            Self::Count(operation) => format!("{}_count", name(operation)),
            Self::Merge => "merge".into(),
        }
    }
}

/// Set operations and merge of two inputs of n/2 keys each.
pub(super) fn keys<K: Key + Small>(bench: &mut Bench<'_>, n: usize) -> Result<(), OpError> {
    let cases = bench.selected(KeyCase::all(), KeyCase::op);
    if cases.is_empty() {
        return Ok(());
    }
    let len = n / 2;
    let (host_a, host_b) = (sorted_unique::<K>(len, 11), sorted_unique::<K>(len, 12));
    let (a, b) = (bench.device.upload(&host_a)?, bench.device.upload(&host_b)?);
    let mut result = bench.device.zeros::<K>(n)?;
    let mut host_result = vec![K::ZERO; n];
    for (op, case) in cases {
        // For a count, the contents of the result do not matter.
        let mut size = 0;
        let times_ms = bench.times_ms(|| {
            size = match case {
                KeyCase::Set(operation) => sets::keys_into(&a, &b, operation, &mut result)?,
                KeyCase::Count(operation) => sets::count(&a, &b, operation)?,
                KeyCase::Merge => merge::keys_into(&a, &b, &mut result).map(|()| n)?,
            };
            Ok(())
        })?;
        let checked = match case {
            KeyCase::Count(operation) => {
                let expected = Combination::Set(operation).result_len(&host_a, &host_b);
                if size == expected { Ok(()) } else { Err(format!("{size} elements, not {expected}")) }
            }
            KeyCase::Set(operation) => {
                result.copy_to_slice(&mut host_result)?;
                Combination::Set(operation).check(&host_a, &host_b, &host_result[..size], |_, _| true)
            }
            KeyCase::Merge => {
                result.copy_to_slice(&mut host_result)?;
                Combination::Merge.check(&host_a, &host_b, &host_result, |_, _| true)
            }
        };
        bench.report(Measured {
            op,
            key: <K as Key>::NAME,
            value: "-",
            n,
            times_ms,
            bytes: (n + if matches!(case, KeyCase::Count(_)) { 0 } else { size }) * K::SIZE,
            temporary_bytes: match case {
                KeyCase::Merge => merge::keys_temporary_bytes::<K>(len, len),
                _ => sets::keys_temporary_bytes::<K>(len, len),
            },
            checked: Some(checked),
        });
    }
    Ok(())
}

/// The operation on pairs of key and value.
#[derive(Clone, Copy)]
enum PairCase {
    Union(Combine),
    Merge,
}

/// Union and merge of two inputs of n/2 pairs each.
pub(super) fn pairs<K: Key + Small, V: PairValue + Small>(
    bench: &mut Bench<'_>,
    n: usize,
) -> Result<(), OpError> {
    let cases = [PairCase::Union(Combine::First), PairCase::Union(Combine::Sum), PairCase::Merge];
    let cases = bench.selected(cases, |case| match case {
        PairCase::Union(Combine::First) => "set_union_by_key".into(),
        PairCase::Union(Combine::Sum) => "set_union_by_key_sum".into(),
        PairCase::Merge => "merge_by_key".into(),
    });
    if cases.is_empty() {
        return Ok(());
    }
    let len = n / 2;
    // Values are small, so that their sums are exact.
    let host = |seed| (sorted_unique::<K>(len, seed), random_numbers::<V>(len, 1 << 12, seed));
    let (host_a, host_b) = (host(11), host(12));
    let upload = |(keys, values): &(Vec<K>, Vec<V>)| {
        Ok::<_, OpError>((bench.device.upload(keys)?, bench.device.upload(values)?))
    };
    let (a, b) = (upload(&host_a)?, upload(&host_b)?);
    let (a, b) = (Pairs::new(&a.0, &a.1), Pairs::new(&b.0, &b.1));
    let (mut keys, mut values) = (bench.device.zeros::<K>(n)?, bench.device.zeros::<V>(n)?);
    let (mut host_keys, mut host_values) = (vec![K::ZERO; n], vec![V::ZERO; n]);
    for (op, case) in cases {
        let mut size = 0;
        let times_ms = bench.times_ms(|| {
            size = match case {
                PairCase::Union(combine) => {
                    sets::pairs_into(a, b, SetOperation::Union, combine, &mut keys, &mut values)?
                }
                PairCase::Merge => merge::pairs_into(a, b, &mut keys, &mut values).map(|()| n)?,
            };
            Ok(())
        })?;
        let (combination, combine) = match case {
            PairCase::Union(combine) => (Combination::Set(SetOperation::Union), combine),
            PairCase::Merge => (Combination::Merge, Combine::First),
        };
        keys.copy_to_slice(&mut host_keys)?;
        values.copy_to_slice(&mut host_values)?;
        let is_right = |index: usize, source| {
            let expected = match (source, combine) {
                (Source::A(i), _) | (Source::Match(i, _), Combine::First) => host_a.1[i],
                (Source::B(j), _) => host_b.1[j],
                (Source::Match(i, j), Combine::Sum) => host_a.1[i].add(host_b.1[j]),
            };
            host_values[index] == expected
        };
        let checked = combination.check(&host_a.0, &host_b.0, &host_keys[..size], is_right);
        bench.report(Measured {
            op,
            key: <K as Key>::NAME,
            value: V::TYPE.name(),
            n,
            times_ms,
            bytes: (n + size) * (K::SIZE + V::SIZE),
            temporary_bytes: match case {
                PairCase::Union(_) => sets::pairs_temporary_bytes::<K, V>(len, len),
                PairCase::Merge => merge::pairs_temporary_bytes::<K, V>(len, len),
            },
            checked: Some(checked),
        });
    }
    Ok(())
}
