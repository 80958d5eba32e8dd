//! Serialization of values in text formats, which may lack NaN and infinities.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Complex, RealStorage, Storage};

/// Maximum number of values for which memory is allocated before they are read.
const MOST_AHEAD: usize = 1 << 16;

/// A value that serde can write: a real number, or a complex one as the pair of its parts, like `num-complex` writes it.
pub trait WriteValue: Storage {
    /// Writes an array.
    fn serialize_all<S: Serializer>(values: &[Self], serializer: S) -> Result<S::Ok, S::Error>;
}

impl<V: RealStorage + Serialize> WriteValue for V {
    fn serialize_all<S: Serializer>(values: &[Self], serializer: S) -> Result<S::Ok, S::Error> {
        values.serialize(serializer)
    }
}

/// A value that serde can read, as [`WriteValue`] writes it.
pub trait ReadValue<'de>: Storage {
    /// Form in which it is read.
    type Read: Deserialize<'de>;
    /// The value.
    fn from_read(read: Self::Read) -> Self;
}

impl<'de, V: RealStorage + Deserialize<'de>> ReadValue<'de> for V {
    type Read = Self;

    fn from_read(read: Self) -> Self {
        read
    }
}

/// A value of one or two parts.
pub trait Parts: Storage {
    /// How many there are.
    const COUNT: usize;
    /// Returns the part with an index below [`COUNT`](Self::COUNT).
    fn part(self, index: usize) -> f64;
    /// Replaces a part.
    fn set_part(&mut self, index: usize, part: f64);
}

impl<V: RealStorage> Parts for V {
    const COUNT: usize = 1;

    fn part(self, _: usize) -> f64 {
        self.to_f64()
    }

    fn set_part(&mut self, _: usize, part: f64) {
        *self = V::from_f64(part);
    }
}

macro_rules! complex {
    ($($part:ident),*) => {$(
        impl WriteValue for Complex<$part> {
            fn serialize_all<S: Serializer>(values: &[Self], serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(values.iter().map(|value| (value.re, value.im)))
            }
        }

        impl<'de> ReadValue<'de> for Complex<$part> {
            type Read = ($part, $part);

            fn from_read((re, im): ($part, $part)) -> Self {
                Self { re, im }
            }
        }

        impl Parts for Complex<$part> {
            const COUNT: usize = 2;

            fn part(self, index: usize) -> f64 {
                f64::from([self.re, self.im][index])
            }

            fn set_part(&mut self, index: usize, part: f64) {
                *[&mut self.re, &mut self.im][index] = part as $part;
            }
        }
    )*};
}
complex!(f32, f64);

/// Values of a matrix: an array. In a text format, if some are not finite, a map of the array with zeros in
/// their place, and the positions of NaNs and infinities. The elements of an array thus have one type, and
/// are not rounded twice when read. Positions of complex values count their parts, two for each.
pub(super) struct SerdeValues<'a, V: Storage>(Cow<'a, [V]>);

/// [`SerdeValues`] in a text format, if some are not finite.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Values", bound(serialize = "V: WriteValue", deserialize = "V: Parts + ReadValue<'de>"))]
struct WithPositions<'a, V: Storage> {
    numbers: Numbers<'a, V>,
    nan: Vec<usize>,
    infinity: Vec<usize>,
    negative_infinity: Vec<usize>,
}

/// An array of finite values.
struct Numbers<'a, V: Storage>(Cow<'a, [V]>);

impl<'a, V: Storage> From<&'a [V]> for SerdeValues<'a, V> {
    fn from(values: &'a [V]) -> Self {
        Self(Cow::Borrowed(values))
    }
}

impl<V: Storage> SerdeValues<'_, V> {
    pub(super) fn into_owned(self) -> Vec<V> {
        self.0.into_owned()
    }
}

/// The parts of a value.
fn parts<V: Parts>(value: V) -> impl Iterator<Item = f64> {
    (0..V::COUNT).map(move |index| value.part(index))
}

impl<V: Parts> WithPositions<'_, V> {
    fn new(values: &[V]) -> Self {
        let mut numbers = values.to_vec();
        for number in &mut numbers {
            for index in 0..V::COUNT {
                if !number.part(index).is_finite() {
                    number.set_part(index, 0.0);
                }
            }
        }
        let places = |is_there: fn(f64) -> bool| {
            let parts = values.iter().flat_map(|&value| parts(value)).enumerate();
            parts.filter(|&(_, part)| is_there(part)).map(|(place, _)| place).collect()
        };
        Self {
            numbers: Numbers(Cow::Owned(numbers)),
            nan: places(f64::is_nan),
            infinity: places(|part| part == f64::INFINITY),
            negative_infinity: places(|part| part == f64::NEG_INFINITY),
        }
    }

    fn into_values<E: Error>(self) -> Result<Vec<V>, E> {
        let mut values = self.numbers.0.into_owned();
        let special = [
            (f64::NAN, self.nan),
            (f64::INFINITY, self.infinity),
            (f64::NEG_INFINITY, self.negative_infinity),
        ];
        for (part, places) in special {
            for place in places {
                let len = values.len() * V::COUNT;
                let Some(at) = values.get_mut(place / V::COUNT) else {
                    let kind = if V::COUNT == 1 { "values" } else { "parts of values" };
                    return Err(E::custom(format!("{part} at position {place} of {len} {kind}")));
                };
                at.set_part(place % V::COUNT, part);
            }
        }
        Ok(values)
    }
}

impl<V: WriteValue> Serialize for Numbers<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        V::serialize_all(&self.0, serializer)
    }
}

impl<'de, V: ReadValue<'de>> Deserialize<'de> for Numbers<'_, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(NumbersVisitor(PhantomData))
    }
}

struct NumbersVisitor<'a, V>(PhantomData<&'a V>);

impl<'de, 'a, V: ReadValue<'de>> Visitor<'de> for NumbersVisitor<'a, V> {
    type Value = Numbers<'a, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        // A text may state any length.
        let mut values = Vec::with_capacity(array.size_hint().unwrap_or(0).min(MOST_AHEAD));
        while let Some(read) = array.next_element::<V::Read>()? {
            values.push(V::from_read(read));
        }
        Ok(Numbers(Cow::Owned(values)))
    }
}

impl<V: Parts + WriteValue> Serialize for SerdeValues<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let values = &self.0;
        let is_finite = |&value: &V| parts(value).all(f64::is_finite);
        if !serializer.is_human_readable() || values.iter().all(is_finite) {
            return V::serialize_all(values, serializer);
        }
        WithPositions::new(values).serialize(serializer)
    }
}

impl<'de, V: Parts + ReadValue<'de>> Deserialize<'de> for SerdeValues<'_, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return deserializer.deserialize_any(ValuesVisitor(PhantomData));
        }
        Ok(Self(Numbers::deserialize(deserializer)?.0))
    }
}

struct ValuesVisitor<'a, V>(PhantomData<&'a V>);

impl<'de, 'a, V: Parts + ReadValue<'de>> Visitor<'de> for ValuesVisitor<'a, V> {
    type Value = SerdeValues<'a, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of values, or a map of `numbers`, `nan`, `infinity` and `negative_infinity`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, array: A) -> Result<Self::Value, A::Error> {
        Ok(SerdeValues(Numbers::deserialize(SeqAccessDeserializer::new(array))?.0))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let listed = WithPositions::<V>::deserialize(MapAccessDeserializer::new(map))?;
        Ok(SerdeValues(Cow::Owned(listed.into_values()?)))
    }
}

/// Writes the scale of a tree, which must be a number that a text format can represent.
pub(super) fn serialize_scale<V: RealStorage + Serialize, S: Serializer>(
    scale: &V,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() && !scale.to_f64().is_finite() {
        return Err(S::Error::custom(format!(
            "the scale {scale} is not finite, which text formats may lack"
        )));
    }
    scale.serialize(serializer)
}
