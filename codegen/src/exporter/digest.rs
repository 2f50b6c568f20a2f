//! SHA-256, of files and of folders.

use std::fmt::Write as _;
use std::path::Path;

/// The constants of the rounds: the first bits of the cube roots of the first 64 primes.
fn constants() -> [u32; 64] {
    let mut found = [0; 64];
    let mut count = 0;
    let mut candidate = 2u32;
    while count < found.len() {
        if (2..candidate).all(|d| candidate % d != 0) {
            if let Some(place) = found.get_mut(count) {
                *place = fraction(f64::from(candidate).cbrt());
            }
            count += 1;
        }
        candidate += 1;
    }
    found
}

/// The first 32 bits of the fraction of a number.
fn fraction(x: f64) -> u32 {
    (x.fract() * 4_294_967_296.0) as u32
}

/// The SHA-256 of bytes, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let rounds = constants();
    let mut state = [2.0f64, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0].map(|prime| fraction(prime.sqrt()));
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64) + if padded.len() % 64 > 56 { 64 } else { 0 }, 0);
    let end = padded.len() - 8;
    if let Some(length) = padded.get_mut(end..) {
        length.copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    }
    for block in padded.chunks_exact(64) {
        state = compressed(state, block, &rounds);
    }
    state.iter().fold(String::new(), |mut text, word| {
        let _ = write!(text, "{word:08x}");
        text
    })
}

fn compressed(state: [u32; 8], block: &[u8], rounds: &[u32; 64]) -> [u32; 8] {
    let mut words: Vec<u32> =
        block.chunks_exact(4).map(|b| b.iter().fold(0, |word, byte| word << 8 | u32::from(*byte))).collect();
    for i in 16..64 {
        let (w15, w2) = (words[i - 15], words[i - 2]);
        let s0 = w15.rotate_right(7) ^ w15.rotate_right(18) ^ (w15 >> 3);
        let s1 = w2.rotate_right(17) ^ w2.rotate_right(19) ^ (w2 >> 10);
        words.push(words[i - 16].wrapping_add(s0).wrapping_add(words[i - 7]).wrapping_add(s1));
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
    for (constant, word) in rounds.iter().zip(&words) {
        let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let first = h.wrapping_add(s1).wrapping_add(choice).wrapping_add(*constant).wrapping_add(*word);
        let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let second = s0.wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(first), c, b, a, first.wrapping_add(second));
    }
    let new = [a, b, c, d, e, f, g, h];
    std::array::from_fn(|i| state[i].wrapping_add(new[i]))
}

/// The digest of the rules, schemas and facts in a folder, with their names.
///
/// # Errors
/// What cannot be read.
pub fn folder_digest(folder: &Path) -> Result<String, String> {
    let mut open = vec![folder.to_owned()];
    let mut lines = Vec::new();
    while let Some(next) = open.pop() {
        let failed = |e: std::io::Error| format!("{}: {e}", next.display());
        for entry in std::fs::read_dir(&next).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let kind = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
            if path.is_dir() {
                open.push(path);
            } else if matches!(kind, "opmap" | "txt" | "toml" | "proto") {
                let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
                let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                lines.push(format!("{} {name}\n", sha256(&bytes)));
            }
        }
    }
    lines.sort_by(|a, b| a.get(64..).cmp(&b.get(64..)));
    Ok(sha256(lines.concat().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::sha256;

    #[test]
    fn digests_are_those_of_the_standard() {
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(sha256(long.as_bytes()), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        let lengths: Vec<usize> = (0..200).collect();
        let all: std::collections::BTreeSet<String> = lengths.iter().map(|n| sha256(&vec![0; *n])).collect();
        assert_eq!(all.len(), lengths.len());
        assert_eq!(sha256(&[b'a'; 1_000_000]), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
}
