//! The builder on small graphs, shown as text.
