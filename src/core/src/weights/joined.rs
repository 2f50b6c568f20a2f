//! Weights one after the other, as a concatenation gives them. The parts are copied when they are written.

use std::sync::Arc;

use super::{Payload, Sink, Storage, Weight, row_major};
use crate::error::Result;

/// The parts in order.
#[derive(Debug)]
pub struct Joined {
    parts: Vec<Arc<Weight>>,
}

impl Joined {
    /// Joins weights along an axis; before it, all sizes must be 1. None if the weights do not fit, or if none has a name.
    pub fn of(parts: Vec<Arc<Weight>>, axis: usize) -> Option<Weight> {
        let first = Arc::clone(parts.first()?);
        let mut sizes = first.sizes.clone();
        if first.dtype.bits() < 8 || sizes.get(..axis)?.iter().any(|size| *size != 1) {
            return None;
        }
        let mut length = 0i64;
        for part in &parts {
            let is_like = part.dtype == first.dtype && part.sizes.len() == sizes.len();
            if !is_like
                || part.sizes.get(..axis) != first.sizes.get(..axis)
                || part.sizes.get(axis + 1..) != first.sizes.get(axis + 1..)
            {
                return None;
            }
            length = length.checked_add(*part.sizes.get(axis)?)?;
        }
        *sizes.get_mut(axis)? = length;
        let strides = row_major(&sizes);
        let name = parts.iter().map(|part| &part.name).find(|name| !name.is_empty())?.clone();
        let storage = Storage::Joined(Arc::new(Joined { parts }));
        Some(Weight { name, dtype: first.dtype, sizes, strides, offset: 0, storage })
    }

    /// The parts.
    pub fn parts(&self) -> &[Arc<Weight>] {
        &self.parts
    }

    /// The number of bytes.
    pub(super) fn len(&self) -> u64 {
        self.parts.iter().map(|part| part.byte_len().unwrap_or(0)).fold(0, u64::saturating_add)
    }

    /// Writes all parts.
    pub(super) fn write(&self, sink: &mut dyn Sink) -> Result<()> {
        self.parts.iter().try_for_each(|part| Payload::new(part)?.write(sink))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::dtype::Dtype;

    fn weight(name: &str, sizes: &[i64], first: u8) -> Arc<Weight> {
        let count: i64 = sizes.iter().product();
        let bytes: Vec<u8> = (0..count).map(|i| first + i as u8).collect();
        Arc::new(Weight {
            name: name.to_owned(),
            dtype: Dtype::Uint8,
            sizes: sizes.to_vec(),
            strides: row_major(sizes),
            offset: 0,
            storage: Storage::Owned(bytes.into()),
        })
    }

    fn bytes(weight: &Weight) -> Vec<u8> {
        let mut bytes = Vec::new();
        Payload::new(weight).unwrap().write(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn parts_of_weights_are_written_in_order() {
        let gates = weight("w", &[4, 2], 0);
        let part = |start, len| Arc::new(gates.part(0, start, len).unwrap());
        let joined = Joined::of(vec![part(3, 1), part(0, 2)], 0).unwrap();
        assert_eq!((joined.name.as_str(), joined.sizes.as_slice()), ("w", &[3, 2][..]));
        assert_eq!(bytes(&joined), [6, 7, 0, 1, 2, 3]);
        let stacked = Arc::new(joined.reshaped(&[1, 3, 2]).unwrap());
        let both = Joined::of(vec![Arc::clone(&stacked), stacked], 0).unwrap();
        assert_eq!((both.sizes.as_slice(), bytes(&both).len()), (&[2, 3, 2][..], 12));
        assert_eq!(
            Joined::of(vec![weight("a", &[1, 2], 5), weight("b", &[1, 1], 9)], 1).map(|joined| bytes(&joined)),
            Some(vec![5, 6, 9])
        );
    }

    #[test]
    fn what_is_not_one_after_the_other_is_not_joined() {
        let (a, b) = (weight("a", &[2, 2], 0), weight("b", &[2, 3], 0));
        assert!(Joined::of(vec![Arc::clone(&a), Arc::clone(&b)], 1).is_none(), "rows alternate");
        assert!(Joined::of(vec![Arc::clone(&a), b], 0).is_none(), "other sizes");
        assert!(Joined::of(vec![Arc::clone(&a)], 2).is_none(), "no such axis");
        assert!(Joined::of(Vec::new(), 0).is_none());
        assert!(a.part(0, 1, 2).is_none(), "outside");
        assert!(a.part(2, 0, 1).is_none(), "no such axis");
        let joined = Joined::of(vec![Arc::clone(&a), a], 0).unwrap();
        assert!(joined.part(0, 0, 1).is_none(), "its elements have no strides");
    }
}
