//! Typed elements of tensors that are not packed. Protobuf allows writers to store each element as a field of its own, but the
//! messages here take the packed form, which all known writers use.

/// The messages on the way to tensors.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Model,
    Training,
    Graph,
    Function,
    Node,
    Attribute,
    Sparse,
    Tensor,
}

/// Messages are not nested deeper than prost allows.
const MAX_DEPTH: u32 = 100;

impl Kind {
    /// The kind of a field's messages.
    fn of(self, field: u64) -> Option<Kind> {
        Some(match (self, field) {
            (Kind::Model, 7) | (Kind::Training, 1 | 2) | (Kind::Attribute, 6 | 11) => Kind::Graph,
            (Kind::Model, 20) => Kind::Training,
            (Kind::Model, 25) => Kind::Function,
            (Kind::Graph, 1) | (Kind::Function, 7) => Kind::Node,
            (Kind::Graph, 15) | (Kind::Attribute, 22 | 23) => Kind::Sparse,
            (Kind::Node, 5) | (Kind::Function, 11) => Kind::Attribute,
            (Kind::Graph, 5) | (Kind::Attribute, 5 | 10) | (Kind::Sparse, 1 | 2) => Kind::Tensor,
            _ => return None,
        })
    }
}

/// The same model with all elements packed; None if it is damaged.
pub fn packed(model: &[u8]) -> Option<Vec<u8>> {
    message(model, Kind::Model, 0)
}

fn message(mut bytes: &[u8], kind: Kind, depth: u32) -> Option<Vec<u8>> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len());
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let (field, wire) = (key >> 3, key & 7);
        let payload = match wire {
            0 => {
                let from = bytes;
                varint(&mut bytes)?;
                from.get(..from.len() - bytes.len())?
            }
            1 => take(&mut bytes, 8)?,
            2 => {
                let len = usize::try_from(varint(&mut bytes)?).ok()?;
                take(&mut bytes, len)?
            }
            5 => take(&mut bytes, 4)?,
            _ => return None,
        };
        let is_element = kind == Kind::Tensor && matches!(field, 4 | 5 | 7 | 10 | 11);
        let wire = if is_element { 2 } else { wire };
        put(&mut out, field << 3 | wire);
        match kind.of(field).filter(|_| wire == 2) {
            Some(kind) => put_all(&mut out, &message(payload, kind, depth + 1)?),
            None if wire == 2 => put_all(&mut out, payload),
            None => out.extend_from_slice(payload),
        }
    }
    Some(out)
}

/// Reads a number of variable length.
pub fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..70).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(taken)
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_all(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
