//! What is written of quantized floats.
#![allow(clippy::unwrap_used)]

use super::super::Digits;
use super::super::payload::tests::written;
use super::*;

fn floats(sizes: &[i64], strides: &[i64], of: impl Fn(i64) -> f32) -> Weight {
    let count: i64 = sizes.iter().product();
    let bytes: Vec<u8> = (0..count).flat_map(|i| of(i).to_le_bytes()).collect();
    let (sizes, strides) = (sizes.to_vec(), strides.to_vec());
    Weight { name: "w".into(), dtype: Dtype::Float32, sizes, strides, offset: 0, storage: Storage::Owned(bytes.into()) }
}

fn blocks(source: Weight, block: i64, format: CodeFormat) -> Arc<QuantizedBlocks> {
    let sizes = source.sizes.clone();
    QuantizedBlocks::of(source, (&sizes, block), format, (ScaleSearch::Nearest, Dtype::Float32)).unwrap()
}

fn scales(weight: &Weight) -> Vec<f32> {
    written(weight).as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

#[test]
fn each_block_has_its_scale() {
    let of = blocks(floats(&[2, 4], &[4, 1], |i| (i - 3) as f32), 2, CodeFormat::Int8);
    // [-3, -2], [-1, 0], [1, 2], [3, 4]
    assert_eq!(written(&of.codes()), [-127i8, -85, -127, 0, 64, 127, 95, 127].map(|n| n as u8));
    assert_eq!(scales(&of.scales()), [3.0 / 127.0, 1.0 / 127.0, 2.0 / 127.0, 4.0 / 127.0]);
    assert_eq!((of.scales().sizes, of.zeros().is_none()), (vec![2, 2], true));
}

#[test]
fn zero_points_are_integers() {
    let of = blocks(floats(&[1, 4], &[4, 1], |i| [-1.0, 0.0, 1.0, 2.0][i as usize]), 4, CodeFormat::Uint4);
    assert_eq!((written(&of.codes()), written(&of.zeros().unwrap())), (vec![0, 5, 10, 15], vec![5]));
    assert_eq!(scales(&of.scales()), [0.2]);
}

#[test]
fn blocks_over_chunks_are_whole() {
    let n = CHUNK as i64 / 4 * 3 / 96 * 96;
    let of = blocks(floats(&[2, n], &[n, 1], |i| (i % 97) as f32 - 48.0), 96, CodeFormat::Int8);
    let (codes, scales) = (written(&of.codes()), scales(&of.scales()));
    assert_eq!((codes.len() as i64, scales.len() as i64), (2 * n, 2 * n / 96));
    for (i, code) in codes.iter().enumerate() {
        let number = (i % 97) as f32 - 48.0;
        assert!((f32::from(*code as i8) * scales[i / 96] - number).abs() <= 0.5001 * scales[i / 96], "{i}");
    }
}

#[test]
fn parts_in_another_order_are_the_same() {
    let of = blocks(floats(&[3, 8], &[1, 3], |i| ((i * 7) % 11) as f32 - 5.0), 4, CodeFormat::Uint8);
    let turned = |bytes: Vec<u8>, [rows, columns]: [usize; 2], width: usize| -> Vec<u8> {
        let element = |i: usize| bytes[(i % rows * columns + i / rows) * width..][..width].to_vec();
        (0..rows * columns).flat_map(element).collect()
    };
    for (part, sizes, width) in [(of.codes(), [3, 8], 1), (of.scales(), [3, 2], 4), (of.zeros().unwrap(), [3, 2], 1)] {
        let view = part.transposed(None).unwrap();
        assert_eq!(written(&view), turned(written(&part), sizes, width));
        assert_eq!(written(&view.transposed(None).unwrap()), written(&part));
    }
}

#[test]
fn floats_of_other_sizes_are_quantized_in_these() {
    let source = floats(&[2, 2, 2], &[1, 4, 2], |i| (i * i) as f32 - 9.0);
    let of =
        QuantizedBlocks::of(source, (&[2, 4], 4), CodeFormat::Int8, (ScaleSearch::Nearest, Dtype::Float32)).unwrap();
    // [[-9, -5, 7, 27], [-8, 0, 16, 40]]
    let codes = [-42i8, -24, 33, 127, -25, 0, 51, 127].map(|n| n as u8);
    assert_eq!(written(&of.codes()), codes);
    assert_eq!(scales(&of.scales()), [27.0 / 127.0, 40.0 / 127.0]);
    let turned = of.codes().transposed(None).unwrap();
    assert_eq!(written(&turned), [0, 4, 1, 5, 2, 6, 3, 7].map(|i| codes[i]));
}

#[test]
fn codes_are_packed_and_have_known_bounds() {
    let of = blocks(floats(&[1, 4], &[4, 1], |i| [-8.0, 7.0, 0.0, 1.0][i as usize]), 4, CodeFormat::Int4);
    let digits = Digits::of(&of.codes()).unwrap();
    assert_eq!(digits.range((-128, 255)).unwrap(), Some((-8, 7)));
    assert_eq!(digits.range((-2, 3)).unwrap(), None);
    assert_eq!(written(&digits.weight(Dtype::Int4, &[1, 4]).unwrap()), [0x78, 0x10]);
    assert!(Digits::of(&of.scales()).is_none());
}

#[test]
fn nothing_is_kept_when_all_is_written() {
    let of = blocks(floats(&[4, 64], &[64, 1], |i| i as f32), 32, CodeFormat::Uint4);
    written(&of.codes());
    assert!(of.kept.get().is_some());
    written(&of.scales());
    written(&of.zeros().unwrap());
    assert!(of.kept.get().is_none());
}

#[test]
fn half_precision_is_read_and_written() {
    let bytes = narrowed_bytes_of(&[1.0, -2.0]);
    let (sizes, strides) = (vec![1, 2], vec![2, 1]);
    let storage = Storage::Owned(bytes.into());
    let source = Weight { name: "w".into(), dtype: Dtype::Float16, sizes, strides, offset: 0, storage };
    let of =
        QuantizedBlocks::of(source, (&[1, 2], 2), CodeFormat::Int4, (ScaleSearch::Nearest, Dtype::Float16)).unwrap();
    assert_eq!(written(&of.codes()), [4, 0xf8]);
    assert_eq!(written(&of.scales()), narrowed_bytes_of(&[0.25]));
}

fn narrowed_bytes_of(floats: &[f32]) -> Vec<u8> {
    values::bytes(floats, Dtype::Float16)
}

#[test]
fn what_does_not_fit_is_refused() {
    let of = |source: Weight, block| {
        let sizes = source.sizes.clone();
        QuantizedBlocks::of(source, (&sizes, block), CodeFormat::Int8, (ScaleSearch::Nearest, Dtype::Float32)).is_none()
    };
    assert!(of(floats(&[2, 4], &[4, 1], |_| 1.0), 3));
    assert!(of(floats(&[2, 4], &[4, 1], |_| 1.0), 0));
    assert!(of(floats(&[2, 0], &[0, 1], |_| 1.0), 1));
    assert!(of(Weight { dtype: Dtype::Int32, ..floats(&[2, 4], &[4, 1], |_| 1.0) }, 2));
}
