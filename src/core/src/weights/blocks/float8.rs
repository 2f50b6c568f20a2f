//! Numbers in float8 (E4M3FN): 4 bits of exponent, 3 of digits, no infinities.

/// The largest number.
pub(super) const LARGEST: f32 = 448.0;
/// The exponent of the least number with all its digits.
const LEAST_EXPONENT: i32 = -6;
const BIAS: i32 = 7;

/// The nearest number, the even one of two; larger ones become the largest.
pub(super) fn encoded(number: f32) -> u8 {
    let sign = if number.is_sign_negative() { 0x80 } else { 0 };
    let size = number.abs().min(LARGEST);
    let exponent = ((size.to_bits() >> 23) as i32 - 127).max(LEAST_EXPONENT);
    // So many steps of the last digit. Rounding up to the next power of two carries into the exponent by itself.
    let steps = super::fit::nearest(size * power(3 - exponent));
    let base = (exponent - LEAST_EXPONENT) << 3;
    sign | (base + steps).clamp(0, 0x7e) as u8
}

/// The number of a code.
pub(super) fn decoded(code: u8) -> f32 {
    let (exponent, digits) = (i32::from(code >> 3 & 15), f32::from(code & 7));
    let size = match exponent {
        0 => digits * power(LEAST_EXPONENT - 3),
        _ => (8.0 + digits) * power(exponent - BIAS - 3),
    };
    if code & 0x80 == 0 { size } else { -size }
}

/// A power of two.
fn power(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127).clamp(1, 254) as u32) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_its_own_code() {
        for code in (0..=0x7e).chain(0x80..=0xfe) {
            assert_eq!(encoded(decoded(code)), code, "{code:#x}");
        }
    }

    #[test]
    fn others_are_the_nearest() {
        for (number, wanted) in
            [(1e9, 448.0), (-500.0, -448.0), (1.06, 1.0), (1.07, 1.125), (17.0, 16.0), (19.0, 20.0), (1e-4, 0.0)]
        {
            assert_eq!(decoded(encoded(number)), wanted, "{number}");
        }
        // A step of numbers without all digits is 2^-9; half of it is rounded to the even one.
        assert_eq!([0.001, 0.0009, 0.0029].map(|n| decoded(encoded(n))), [0.001953125, 0.0, 0.001953125]);
        assert_eq!(decoded(encoded(0.015_5)), 0.015625);
    }
}
