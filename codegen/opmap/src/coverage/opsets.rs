//! Sets of opsets, as bits.

use std::collections::BTreeSet;

/// The first opset that a set cannot have: `opsets.toml` may not reach it.
pub const LIMIT: u32 = u128::BITS;

/// A set of opsets below [`LIMIT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Opsets(u128);

impl FromIterator<u32> for Opsets {
    fn from_iter<T: IntoIterator<Item = u32>>(opsets: T) -> Opsets {
        opsets.into_iter().fold(Opsets::NONE, |all, opset| all.or(Opsets::one(opset)))
    }
}

impl Opsets {
    /// No opset.
    pub const NONE: Opsets = Opsets(0);

    /// One opset.
    pub fn one(opset: u32) -> Opsets {
        Opsets(1u128.checked_shl(opset).unwrap_or(0))
    }

    /// All opsets from `low` to `high`.
    pub fn range(low: u32, high: u32) -> Opsets {
        (low..=high).collect()
    }

    /// Those below an opset.
    #[must_use]
    pub fn below(self, opset: u32) -> Opsets {
        Opsets(self.0 & (1u128.checked_shl(opset).unwrap_or(0).wrapping_sub(1)))
    }

    /// Those from an opset on.
    #[must_use]
    pub fn from(self, opset: u32) -> Opsets {
        self.without(self.below(opset))
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether an opset is among them.
    pub fn has(self, opset: u32) -> bool {
        self.0 & Opsets::one(opset).0 != 0
    }

    /// Both.
    #[must_use]
    pub fn or(self, other: Opsets) -> Opsets {
        Opsets(self.0 | other.0)
    }

    /// What both have.
    #[must_use]
    pub fn and(self, other: Opsets) -> Opsets {
        Opsets(self.0 & other.0)
    }

    /// Without those of the other.
    #[must_use]
    pub fn without(self, other: Opsets) -> Opsets {
        Opsets(self.0 & !other.0)
    }

    /// In ascending order.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (0..LIMIT).filter(move |opset| self.has(*opset))
    }

    /// The newest.
    pub fn last(self) -> Option<u32> {
        (LIMIT - 1).checked_sub(self.0.leading_zeros())
    }

    /// As text: `9 to 12, 15`.
    pub fn text(self) -> String {
        super::ranges(&self.iter().collect::<BTreeSet<u32>>())
    }
}
