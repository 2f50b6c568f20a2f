//! The formats in which PyTorch's files hold tensors: zip archives with pickles, and safetensors. Their bytes stay where they are.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | formats | `pickle`, `zip` | objects of a pickle, which runs nothing; entries of an archive |
//! | tensors | `saved`, `safetensors` | tensors of a pickle; those of files beside a program |

pub mod pickle;
pub mod safetensors;
pub mod saved;
pub mod zip;
