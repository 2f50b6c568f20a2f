//! Graphs that are built by hand.
