//! The formats in which PyTorch's files hold tensors: zip archives with pickles, and safetensors. Their bytes stay where they are.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | formats | `pickle`, `zip` | objects of a pickle, which runs nothing; entries of an archive |
//! | tensors | `saved`, `safetensors`, `form` | tensors of a pickle; those of files beside a program; the kinds of archives |
//! | help | `wrong` | files that are no program: what they are, and what to do |

pub mod form;
pub mod pickle;
pub mod safetensors;
pub mod saved;
pub mod wrong;
pub mod zip;
