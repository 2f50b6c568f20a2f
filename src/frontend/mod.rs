//! Readers of what PyTorch writes: each gives a [`Program`](crate::program::Program).

pub mod pt2;
