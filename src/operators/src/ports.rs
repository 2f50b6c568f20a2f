//! Sets of inputs of an operator, by their position in its schema; a variadic input is one.

/// Inputs by position, below 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports(u32);

impl Ports {
    /// No input.
    pub const NONE: Ports = Ports(0);

    /// These inputs. Positions from 32 on are left out: no operator has so many.
    pub const fn of(positions: &[usize]) -> Ports {
        let (mut bits, mut i) = (0u32, 0);
        while i < positions.len() {
            if positions[i] < 32 {
                bits |= 1 << positions[i];
            }
            i += 1;
        }
        Ports(bits)
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the input at a position is among them.
    pub fn has(self, position: usize) -> bool {
        position < 32 && self.0 & (1 << position) != 0
    }

    /// In order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..32).filter(move |position| self.has(*position))
    }
}
