//! Serialization of values in text formats, which may lack NaN and infinities.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::RealStorage;

/// Values of a matrix: an array. In a text format, if some are not finite, a map of the array with zeros in
/// their place, and the positions of NaNs and infinities. The elements of an array thus have one type, and
/// are not rounded twice when read.
pub(super) struct SerdeValues<'a, V: RealStorage>(Cow<'a, [V]>);

#[derive(Serialize, Deserialize)]
#[serde(rename = "Values")]
struct WithPositions<V> {
    numbers: Vec<V>,
    nan: Vec<usize>,
    infinity: Vec<usize>,
    negative_infinity: Vec<usize>,
}

impl<'a, V: RealStorage> From<&'a [V]> for SerdeValues<'a, V> {
    fn from(values: &'a [V]) -> Self {
        Self(Cow::Borrowed(values))
    }
}

impl<V: RealStorage> SerdeValues<'_, V> {
    pub(super) fn into_owned(self) -> Vec<V> {
        self.0.into_owned()
    }
}

fn is_finite<V: RealStorage>(value: V) -> bool {
    value.to_f64().is_finite()
}

impl<V: RealStorage> WithPositions<V> {
    fn new(values: &[V]) -> Self {
        let numbers = values.iter().map(|&value| if is_finite(value) { value } else { V::from_f64(0.0) });
        let places = |is_there: fn(f64) -> bool| {
            (0..values.len()).filter(|&place| is_there(values[place].to_f64())).collect()
        };
        Self {
            numbers: numbers.collect(),
            nan: places(f64::is_nan),
            infinity: places(|value| value == f64::INFINITY),
            negative_infinity: places(|value| value == f64::NEG_INFINITY),
        }
    }

    fn into_values<E: Error>(self) -> Result<Vec<V>, E> {
        let mut values = self.numbers;
        let special = [
            (f64::NAN, self.nan),
            (f64::INFINITY, self.infinity),
            (f64::NEG_INFINITY, self.negative_infinity),
        ];
        for (value, places) in special {
            for place in places {
                let len = values.len();
                let Some(at) = values.get_mut(place) else {
                    return Err(E::custom(format!("{value} at position {place} of {len} values")));
                };
                *at = V::from_f64(value);
            }
        }
        Ok(values)
    }
}

impl<V: RealStorage + Serialize> Serialize for SerdeValues<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let values = &self.0;
        if !serializer.is_human_readable() || values.iter().all(|&value| is_finite(value)) {
            return values.serialize(serializer);
        }
        WithPositions::new(values).serialize(serializer)
    }
}

impl<'de, V: RealStorage + Deserialize<'de>> Deserialize<'de> for SerdeValues<'_, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return deserializer.deserialize_any(ValuesVisitor(PhantomData));
        }
        Ok(Self(Cow::Owned(Vec::deserialize(deserializer)?)))
    }
}

struct ValuesVisitor<'a, V>(PhantomData<&'a V>);

impl<'de, 'a, V: RealStorage + Deserialize<'de>> Visitor<'de> for ValuesVisitor<'a, V> {
    type Value = SerdeValues<'a, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of values, or a map of `numbers`, `nan`, `infinity` and `negative_infinity`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, array: A) -> Result<Self::Value, A::Error> {
        Ok(SerdeValues(Cow::Owned(Vec::deserialize(SeqAccessDeserializer::new(array))?)))
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
    if serializer.is_human_readable() && !is_finite(*scale) {
        return Err(S::Error::custom(format!(
            "the scale {scale} is not finite, which text formats may lack"
        )));
    }
    scale.serialize(serializer)
}
