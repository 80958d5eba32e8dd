//! Formats are serialized as their arrays. Deserialization makes the checks of `try_new` and reports the same
//! errors. NaN and infinities come back from text formats too, which may lack them.

use std::borrow::Cow;

use serde::de::Error;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::serde_values::{Parts, ReadValue, SerdeValues, WriteValue, serialize_scale};
use crate::scale::Scale;
use crate::{
    Bsr, Coo, Csr, Ell, HiSparse, Hyb, Offset, RealStorage, RowOrder, Scalar, SlicedEll, Storage, Value,
};

/// An array, borrowed for writing, owned after reading.
type Array<'a, T> = Cow<'a, [T]>;

#[derive(Serialize, Deserialize)]
#[serde(
    rename = "Csr",
    bound(
        serialize = "V: Parts + WriteValue, O: Offset + Serialize",
        deserialize = "V: Parts + ReadValue<'de>, O: Offset + Deserialize<'de>"
    )
)]
struct CsrArrays<'a, V: Storage, O: Clone> {
    rows: usize,
    cols: usize,
    row_offsets: Array<'a, O>,
    column_indices: Array<'a, u32>,
    values: SerdeValues<'a, V>,
}

impl<V: Parts + WriteValue, O: Offset + Serialize> Serialize for Csr<V, O> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let arrays = CsrArrays {
            rows: self.nrows(),
            cols: self.ncols(),
            row_offsets: self.row_offsets().into(),
            column_indices: self.column_indices().into(),
            values: self.values().into(),
        };
        arrays.serialize(serializer)
    }
}

impl<'de, V: Parts + ReadValue<'de>, O: Offset + Deserialize<'de>> Deserialize<'de> for Csr<V, O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let arrays = CsrArrays::deserialize(deserializer)?;
        let CsrArrays { rows, cols, row_offsets, column_indices, values } = arrays;
        let (row_offsets, column_indices) = (row_offsets.into_owned(), column_indices.into_owned());
        Self::try_new(rows, cols, row_offsets, column_indices, values.into_owned()).map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "Bsr")]
struct BsrArrays<'a, V: RealStorage, O: Clone> {
    rows: usize,
    cols: usize,
    block_size: usize,
    row_offsets: Array<'a, O>,
    column_indices: Array<'a, u32>,
    values: SerdeValues<'a, V>,
}

impl<V: Value + Serialize, O: Offset + Serialize> Serialize for Bsr<V, O> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let arrays = BsrArrays {
            rows: self.nrows(),
            cols: self.ncols(),
            block_size: self.block_size(),
            row_offsets: self.row_offsets().into(),
            column_indices: self.column_indices().into(),
            values: self.values().into(),
        };
        arrays.serialize(serializer)
    }
}

impl<'de, V: Value + Deserialize<'de>, O: Offset + Deserialize<'de>> Deserialize<'de> for Bsr<V, O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let arrays = BsrArrays::deserialize(deserializer)?;
        let BsrArrays { rows, cols, block_size, row_offsets, column_indices, values } = arrays;
        let (row_offsets, column_indices) = (row_offsets.into_owned(), column_indices.into_owned());
        Self::try_new(rows, cols, block_size, row_offsets, column_indices, values.into_owned())
            .map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(
    rename = "Coo",
    bound(serialize = "V: Parts + WriteValue", deserialize = "V: Parts + ReadValue<'de>")
)]
struct CooArrays<'a, V: Storage> {
    rows: usize,
    cols: usize,
    row_indices: Array<'a, u32>,
    column_indices: Array<'a, u32>,
    values: SerdeValues<'a, V>,
}

impl<V: Scalar + Parts + WriteValue> Serialize for Coo<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let arrays = CooArrays {
            rows: self.nrows(),
            cols: self.ncols(),
            row_indices: self.row_indices().into(),
            column_indices: self.column_indices().into(),
            values: self.values().into(),
        };
        arrays.serialize(serializer)
    }
}

impl<'de, V: Scalar + Parts + ReadValue<'de>> Deserialize<'de> for Coo<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let CooArrays { rows, cols, row_indices, column_indices, values } =
            CooArrays::deserialize(deserializer)?;
        let (row_indices, column_indices) = (row_indices.into_owned(), column_indices.into_owned());
        Self::try_new(rows, cols, row_indices, column_indices, values.into_owned()).map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "Ell")]
struct EllArrays<'a, V: RealStorage> {
    rows: usize,
    cols: usize,
    width: usize,
    column_indices: Array<'a, u32>,
    values: SerdeValues<'a, V>,
}

impl<V: Value + Serialize> Serialize for Ell<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let arrays = EllArrays {
            rows: self.nrows(),
            cols: self.ncols(),
            width: self.width(),
            column_indices: self.column_indices().into(),
            values: self.values().into(),
        };
        arrays.serialize(serializer)
    }
}

impl<'de, V: Value + Deserialize<'de>> Deserialize<'de> for Ell<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let EllArrays { rows, cols, width, column_indices, values } = EllArrays::deserialize(deserializer)?;
        Self::try_new(rows, cols, width, column_indices.into_owned(), values.into_owned())
            .map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "SlicedEll")]
struct SlicedEllArrays<'a, V: RealStorage> {
    rows: usize,
    cols: usize,
    slice_height: u32,
    slice_offsets: Array<'a, u64>,
    column_indices: Array<'a, u32>,
    values: SerdeValues<'a, V>,
    row_order: Option<Array<'a, u32>>,
}

impl<V: Value + Serialize> Serialize for SlicedEll<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let arrays = SlicedEllArrays {
            rows: self.nrows(),
            cols: self.ncols(),
            slice_height: self.slice_height(),
            slice_offsets: self.slice_offsets().into(),
            column_indices: self.column_indices().into(),
            values: self.values().into(),
            row_order: self.row_order().map(|order| order.order().into()),
        };
        arrays.serialize(serializer)
    }
}

impl<'de, V: Value + Deserialize<'de>> Deserialize<'de> for SlicedEll<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let arrays = SlicedEllArrays::deserialize(deserializer)?;
        let order = arrays.row_order.map(|order| RowOrder::try_new(order.into_owned()));
        Self::try_new(
            arrays.rows,
            arrays.cols,
            arrays.slice_height,
            arrays.slice_offsets.into_owned(),
            arrays.column_indices.into_owned(),
            arrays.values.into_owned(),
            order.transpose().map_err(D::Error::custom)?,
        )
        .map_err(D::Error::custom)
    }
}

#[derive(Serialize)]
#[serde(rename = "Hyb", bound(serialize = "V: Value + Serialize"))]
struct HybParts<'a, V> {
    ell: &'a Ell<V>,
    coo: &'a Coo<V>,
}

#[derive(Deserialize)]
#[serde(rename = "Hyb", bound(deserialize = "V: Value + Deserialize<'de>"))]
struct OwnHybParts<V> {
    ell: Ell<V>,
    coo: Coo<V>,
}

impl<V: Value + Serialize> Serialize for Hyb<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        HybParts { ell: self.ell(), coo: self.coo() }.serialize(serializer)
    }
}

impl<'de, V: Value + Deserialize<'de>> Deserialize<'de> for Hyb<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let OwnHybParts { ell, coo } = OwnHybParts::deserialize(deserializer)?;
        Self::try_new(ell, coo).map_err(D::Error::custom)
    }
}

/// The pool is written in its memory layout; see `docs/hisparse.md`. Reading has the limit on entries of
/// [`HiSparse::try_from_pool`].
#[derive(Serialize, Deserialize)]
#[serde(rename = "HiSparse", bound(serialize = "V: Serialize"))]
struct HiSparseParts<'a, V: RealStorage> {
    rows: usize,
    cols: usize,
    node_size: usize,
    pool: Array<'a, u8>,
    root_reference: u32,
    is_transposed: bool,
    #[serde(serialize_with = "serialize_scale")]
    scale: V,
}

impl<V: Value + Serialize, const D: usize> Serialize for HiSparse<V, D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.factor().number().is_none() {
            return self.with_number_as_scale().map_err(S::Error::custom)?.serialize(serializer);
        }
        let (rows, cols) = self.content_shape();
        let parts = HiSparseParts {
            rows,
            cols,
            node_size: D,
            pool: self.pool().into(),
            root_reference: self.root_reference(),
            is_transposed: self.is_transposed(),
            scale: self.scale(),
        };
        parts.serialize(serializer)
    }
}

impl<'de, V: Value + Deserialize<'de>, const D: usize> Deserialize<'de> for HiSparse<V, D> {
    fn deserialize<R: Deserializer<'de>>(deserializer: R) -> Result<Self, R::Error> {
        let parts = HiSparseParts::<V>::deserialize(deserializer)?;
        if parts.node_size != D {
            let message =
                format!("the nodes are {} x {0}, but the type has {D} x {D} nodes", parts.node_size);
            return Err(R::Error::custom(message));
        }
        let content = Self::try_from_pool(parts.rows, parts.cols, &parts.pool, parts.root_reference);
        let content = content.map_err(R::Error::custom)?;
        Ok(content.with_state(parts.is_transposed, Scale::new(parts.scale)))
    }
}
