//! What a page keeps compressed until a script shows it: drawings and texts of large graphs, of which each page has many.

use base64ct::{Base64, Encoding};
use miniz_oxide::deflate::compress_to_vec;

/// As small as it gets.
const LEVEL: u8 = 9;

/// Text as base64 of DEFLATE without a header, which browsers call `deflate-raw`.
pub fn packed(text: &str) -> String {
    Base64::encode_string(&compress_to_vec(text.as_bytes(), LEVEL))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn packed_text_is_text_again() {
        let text = "<g class=n>π</g>\0".repeat(300);
        let packed = packed(&text);
        assert!(packed.len() < text.len() / 10);
        let bytes = Base64::decode_vec(&packed).unwrap();
        assert_eq!(miniz_oxide::inflate::decompress_to_vec(&bytes).unwrap(), text.as_bytes());
    }
}
