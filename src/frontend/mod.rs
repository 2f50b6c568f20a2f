//! Front ends: readers of PyTorch's file formats that return a [`Program`](crate::program::Program).

pub mod pt2;
