//! Encodes numbers as bytes and decodes them. An integer out of range wraps around, as in PyTorch; other values that a
//! dtype cannot hold are refused.

use half::{bf16, f16};

use crate::build::Scalar;
use crate::build::values::scalar::whole;
use aten2onnx_core::dtype::Dtype;

/// The little-endian bytes of a known number in a dtype.
pub(crate) fn encode(number: &Scalar, dtype: Dtype) -> Result<Vec<u8>, String> {
    let misfit = || format!("{} does not fit {dtype}", text(number));
    let bytes = match dtype {
        Dtype::Bool => number.as_bool().map(|b| vec![b.into()]),
        d if d.is_int() => number.as_int().and_then(|n| wrap_int(n, d)),
        Dtype::Complex64 => {
            complex(number).map(|(re, im)| [(re as f32).to_le_bytes(), (im as f32).to_le_bytes()].concat())
        }
        Dtype::Complex128 => complex(number).map(|(re, im)| [re.to_le_bytes(), im.to_le_bytes()].concat()),
        d => encode_real(number, d),
    };
    bytes.ok_or_else(misfit)
}

fn text(number: &Scalar) -> String {
    match number {
        Scalar::Int(n) => n.to_string(),
        Scalar::Float(x) => format!("{x:?}"),
        Scalar::Bool(b) => b.to_string(),
        Scalar::Complex(re, im) => format!("{re:?}+{im:?}j"),
        Scalar::Sym(n) => n.to_string(),
        Scalar::Value(_) => "a tensor".to_owned(),
    }
}

fn complex(number: &Scalar) -> Option<(f64, f64)> {
    match number {
        Scalar::Complex(re, im) => Some((*re, *im)),
        real => real.as_float().map(|re| (re, 0.0)),
    }
}

/// An integer; None if it is out of range.
pub fn encode_int(n: i64, dtype: Dtype) -> Option<Vec<u8>> {
    Some(match dtype {
        Dtype::Int64 => n.to_le_bytes().to_vec(),
        Dtype::Int32 => i32::try_from(n).ok()?.to_le_bytes().to_vec(),
        Dtype::Int16 => i16::try_from(n).ok()?.to_le_bytes().to_vec(),
        Dtype::Int8 => i8::try_from(n).ok()?.to_le_bytes().to_vec(),
        Dtype::Uint64 => u64::try_from(n).ok()?.to_le_bytes().to_vec(),
        Dtype::Uint32 => u32::try_from(n).ok()?.to_le_bytes().to_vec(),
        Dtype::Uint16 => u16::try_from(n).ok()?.to_le_bytes().to_vec(),
        Dtype::Uint8 => u8::try_from(n).ok()?.to_le_bytes().to_vec(),
        Dtype::Bool => vec![u8::from(n != 0)],
        _ => return None,
    })
}

/// An integer modulo the range of the dtype: -1 is 255 in uint8. PyTorch and ONNX's Cast do the same.
fn wrap_int(n: i64, dtype: Dtype) -> Option<Vec<u8>> {
    let width = usize::try_from(dtype.bits() / 8).ok()?;
    n.to_le_bytes().get(..width).map(<[u8]>::to_vec)
}

fn encode_real(number: &Scalar, dtype: Dtype) -> Option<Vec<u8>> {
    // Integers beyond 2^53 are rounded once, not twice.
    if let (Scalar::Int(n), Dtype::Float32) = (number, dtype) {
        return Some((*n as f32).to_le_bytes().to_vec());
    }
    encode_float(number.as_float()?, dtype)
}

/// A float, rounded to nearest even.
pub fn encode_float(x: f64, dtype: Dtype) -> Option<Vec<u8>> {
    Some(match dtype {
        Dtype::Float64 => x.to_le_bytes().to_vec(),
        Dtype::Float32 => (x as f32).to_le_bytes().to_vec(),
        Dtype::Float16 => f16::from_f64(x).to_le_bytes().to_vec(),
        Dtype::Bfloat16 => bf16::from_f64(x).to_le_bytes().to_vec(),
        _ => return None,
    })
}

/// The elements of a tensor as known numbers; None for unsupported dtypes.
pub(crate) fn decode(dtype: Dtype, bytes: &[u8]) -> Option<Vec<Scalar>> {
    macro_rules! read {
        ($t:ty, $size:literal, $number:expr) => {
            bytes.as_chunks::<$size>().0.iter().map(|b| $number(<$t>::from_le_bytes(*b))).collect()
        };
    }
    let int = |n: i64| Scalar::Int(n);
    Some(match dtype {
        Dtype::Float64 => read!(f64, 8, Scalar::Float),
        Dtype::Float32 => read!(f32, 4, |x: f32| Scalar::Float(x.into())),
        Dtype::Float16 => read!(f16, 2, |x: f16| Scalar::Float(x.to_f64())),
        Dtype::Bfloat16 => read!(bf16, 2, |x: bf16| Scalar::Float(x.to_f64())),
        Dtype::Int64 => read!(i64, 8, int),
        Dtype::Int32 => read!(i32, 4, |n: i32| int(n.into())),
        Dtype::Int16 => read!(i16, 2, |n: i16| int(n.into())),
        Dtype::Int8 => read!(i8, 1, |n: i8| int(n.into())),
        Dtype::Uint32 => read!(u32, 4, |n: u32| int(n.into())),
        Dtype::Uint16 => read!(u16, 2, |n: u16| int(n.into())),
        Dtype::Uint8 => read!(u8, 1, |n: u8| int(n.into())),
        Dtype::Uint64 => {
            let numbers: Option<_> =
                bytes.as_chunks::<8>().0.iter().map(|b| i64::try_from(u64::from_le_bytes(*b)).ok().map(int)).collect();
            return numbers;
        }
        Dtype::Bool => bytes.iter().map(|b| Scalar::Bool(*b != 0)).collect(),
        Dtype::Complex64 => {
            let parts = bytes.as_chunks::<8>().0.iter();
            parts
                .map(|[a, b, c, d, e, f, g, h]| {
                    let (re, im) = (f32::from_le_bytes([*a, *b, *c, *d]), f32::from_le_bytes([*e, *f, *g, *h]));
                    Scalar::Complex(re.into(), im.into())
                })
                .collect()
        }
        _ => return None,
    })
}

/// Casts a number as runtimes do; None where they differ.
pub(crate) fn cast(number: &Scalar, to: Dtype) -> Option<Vec<u8>> {
    match number {
        // Runtimes truncate; out of range they differ.
        Scalar::Float(x) if to.is_int() => encode_int(whole(x.trunc())?, to),
        known => encode(known, to).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_and_ranges_are_kept() {
        assert!(encode(&Scalar::Float(0.5), Dtype::Int64).is_err());
        assert_eq!(encode(&Scalar::Float(2.0), Dtype::Int32), Ok(vec![2, 0, 0, 0]));
        assert_eq!(encode(&Scalar::Int(300), Dtype::Uint8), Ok(vec![44]));
        assert_eq!(encode(&Scalar::Int(-1), Dtype::Uint16), Ok(vec![255, 255]));
        assert_eq!(encode(&Scalar::Int(200), Dtype::Int8), Ok(vec![200]));
        assert_eq!(cast(&Scalar::Float(300.0), Dtype::Uint8), None);
        assert_eq!(encode(&Scalar::Int(3), Dtype::Bool), Ok(vec![1]));
        assert!(encode(&Scalar::Complex(1.0, 1.0), Dtype::Float32).is_err());
    }

    #[test]
    fn floats_round_once() {
        assert_eq!(encode(&Scalar::Float(0.1), Dtype::Float16), Ok(f16::from_f64(0.1).to_le_bytes().to_vec()));
        // Rounding in two steps would break ties differently.
        let n = (1i64 << 54) + (1i64 << 30) + 1;
        assert_eq!(encode(&Scalar::Int(n), Dtype::Float32), Ok((n as f32).to_le_bytes().to_vec()));
    }
}
