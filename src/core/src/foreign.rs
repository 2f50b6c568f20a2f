//! Files of other kinds than the one that is wanted, told by their first bytes, with what helps.

use crate::error::Error;
use crate::weights::MappedFile;

/// The bytes that tell a file's kind.
const START: usize = 64;

/// A kind of file that is no model of this project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// No bytes.
    Empty,
    /// A zip archive: of PyTorch, or any other.
    Zip,
    /// A pickle of Python, such as files of `torch.save` before PyTorch 1.6.
    Pickle,
    /// Weights of Hugging Face.
    Safetensors,
    /// An array of NumPy.
    Numpy,
    /// Weights of llama.cpp.
    Gguf,
    /// Weights of Keras.
    Hdf5,
    /// A model of TensorFlow Lite.
    TfLite,
    /// What Git has in the place of a large file.
    GitLfs,
    /// A web page.
    Html,
    /// A compressed file.
    Compressed,
    /// Anything else.
    Unknown,
}

impl Foreign {
    /// The kind of a file. A file that cannot be read is of an unknown one.
    pub fn of(file: &MappedFile) -> Foreign {
        Foreign::of_part(file, 0, file.size())
    }

    /// The kind of a part of a file that was a file of its own.
    pub fn of_part(file: &MappedFile, start: usize, end: usize) -> Foreign {
        let len = end.min(file.size()).saturating_sub(start).min(START);
        file.read(start, len).map_or(Foreign::Unknown, |start| Foreign::of_bytes(&start))
    }

    fn of_bytes(start: &[u8]) -> Foreign {
        let text = start.trim_ascii_start().to_ascii_lowercase();
        match start {
            [] => Foreign::Empty,
            [b'P', b'K', ..] => Foreign::Zip,
            _ if is_safetensors(start) => Foreign::Safetensors,
            [0x80, 1..=5, ..] => Foreign::Pickle,
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Foreign::Numpy,
            [b'G', b'G', b'U', b'F', ..] => Foreign::Gguf,
            [0x89, b'H', b'D', b'F', ..] => Foreign::Hdf5,
            [_, _, _, _, b'T', b'F', b'L', b'3', ..] => Foreign::TfLite,
            [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0xfd, b'7', b'z', ..] => Foreign::Compressed,
            _ if start.starts_with(b"version https://git-lfs") => Foreign::GitLfs,
            _ if text.starts_with(b"<!doctype") || text.starts_with(b"<html") => Foreign::Html,
            _ => Foreign::Unknown,
        }
    }

    /// What the file is, as the end of "it is"; None if that is not known.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Foreign::Empty => "empty",
            Foreign::Zip => "a zip archive",
            Foreign::Pickle => {
                "a bare Python pickle (an old torch.save file), which has weights or objects but no graph"
            }
            Foreign::Safetensors => "a safetensors file, which has weights but no graph",
            Foreign::Numpy => "an array of NumPy",
            Foreign::Gguf => "a GGUF file of llama.cpp, which has weights but no graph",
            Foreign::Hdf5 => "an HDF5 file, which has weights but no graph of PyTorch",
            Foreign::TfLite => "a model of TensorFlow Lite",
            Foreign::GitLfs => "a pointer of Git LFS in the place of the file",
            Foreign::Html => "a web page",
            Foreign::Compressed => "a compressed file",
            Foreign::Unknown => return None,
        })
    }

    /// What to do about a file of this kind; None if that depends on what is wanted.
    pub fn help(self, path: &str) -> Option<String> {
        Some(match self {
            Foreign::Empty => "it was perhaps not written to its end: save or download it again".to_owned(),
            Foreign::Pickle => load_weights(&format!("torch.load(\"{path}\")")),
            Foreign::Safetensors => format!(
                "{}; a program that was exported without weights takes them by `--weights {path}`",
                load_weights(&format!("safetensors.torch.load_file(\"{path}\")"))
            ),
            Foreign::GitLfs => "`git lfs pull` downloads the file itself".to_owned(),
            Foreign::Html => {
                "download the file itself: on Hugging Face and GitHub, its address has `resolve` or `raw` in the place of `blob`".to_owned()
            }
            Foreign::Compressed => "unpack it first".to_owned(),
            _ => return None,
        })
    }

    /// The error for a file that is not what was wanted.
    pub fn error(self, path: &str, wanted: &str, otherwise: &str) -> Error {
        let message = match self.name() {
            Some(name) => format!("it is {name}"),
            None => format!("it is not {wanted}"),
        };
        Error::input(message).help(self.help(path).unwrap_or_else(|| otherwise.to_owned()))
    }
}

/// The lines of Python that make a program of weights, which `load` gives.
pub fn load_weights(load: &str) -> String {
    format!(
        "in Python, make the module, then `model.load_state_dict({load})` and \
         `torch.export.save(torch.export.export(model.eval(), (x,)), \"model.pt2\")`"
    )
}

/// The length of a header, and its first character.
fn is_safetensors(start: &[u8]) -> bool {
    let length = start.first_chunk().map(|length| u64::from_le_bytes(*length));
    length.is_some_and(|length| length < 100_000_000) && start.get(8) == Some(&b'{')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_their_first_bytes() {
        let cases: [(&[u8], Foreign); 10] = [
            (b"", Foreign::Empty),
            (b"PK\x03\x04", Foreign::Zip),
            (b"\x80\x02}q\0.", Foreign::Pickle),
            (b"\x80\x02\0\0\0\0\0\0{\"a\":", Foreign::Safetensors),
            (b"\x93NUMPY\x01\0", Foreign::Numpy),
            (b"\x1c\0\0\0TFL3", Foreign::TfLite),
            (b"version https://git-lfs.github.com/spec/v1\n", Foreign::GitLfs),
            (b"\n<!DOCTYPE html>", Foreign::Html),
            (b"\x1f\x8b\x08", Foreign::Compressed),
            (b"\x08\x07\x12\x07pytorch", Foreign::Unknown),
        ];
        for (start, kind) in cases {
            assert_eq!(Foreign::of_bytes(start), kind);
        }
    }
}
