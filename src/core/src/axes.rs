//! Axes of tensors, which ONNX and PyTorch count from the end if they are negative.

/// An axis (or a dimension, or an index into one) counted from the start. None if there is none of this number.
pub fn counted_from_start(axis: i64, count: usize) -> Option<usize> {
    let signed = i64::try_from(count).ok()?;
    let from_start = if axis < 0 { axis.checked_add(signed)? } else { axis };
    usize::try_from(from_start).ok().filter(|axis| *axis < count)
}

#[test]
fn negative_axes_count_from_the_end() {
    assert_eq!(counted_from_start(-1, 3), Some(2));
    assert_eq!(counted_from_start(2, 3), Some(2));
    assert_eq!(counted_from_start(3, 3), None);
    assert_eq!(counted_from_start(-4, 3), None);
    assert_eq!(counted_from_start(i64::MIN, 3), None);
}
