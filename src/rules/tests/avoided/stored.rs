//! What a runtime lacks is computed if all that it needs is stored in the model.

use super::*;

/// A target that lacks operators.
static WITHOUT_CHOICES: Target =
    Target { lacks: &["Where", "Gather", "Greater", "Less", "ConstantOfShape"], avoids: &[], ..PLANTED };

fn without_choices() -> Builder {
    let mut cx = Rules::interpreted().builder(18);
    cx.set_target(&WITHOUT_CHOICES);
    cx
}

pub(crate) fn stored(cx: &mut Builder, sizes: &[i64], numbers: impl Iterator<Item = f32>) -> Value {
    let bytes: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
    cx.weight(Arc::new(Constant::new(Float32, sizes.to_vec(), bytes).to_weight("table").unwrap()))
}

#[test]
fn what_the_runtime_lacks_is_computed_if_all_is_stored() {
    let mut cx = without_choices();
    let table = stored(&mut cx, &[3000, 2], (0..6000u16).map(f32::from));
    // The runtime has these, so they are nodes.
    let roots = cx.node1("Sqrt", vec![table.into()], vec![]).unwrap();
    let sines = cx.node1("Sin", vec![roots.into()], vec![]).unwrap();
    let rows = cx.ints(&[2, 0]);
    let chosen = cx.node1("Gather", vec![sines.into(), rows.into()], vec![]).unwrap();
    let numbers: Vec<f32> = [4.0f32, 5.0, 0.0, 1.0].map(|n| f64::from(n.sqrt()).sin() as f32).to_vec();
    assert_eq!(
        cx.constant_of(chosen).unwrap().bytes(),
        numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>()
    );

    // Too large to be stored at once, but no other operators compute it.
    let large = cx.full(&[n(300_000)], &Scalar::Float(2.0), Float32).unwrap();
    assert_eq!(cx.constant_of(large).unwrap().sizes, [300_000]);
    let x = input(&mut cx, "x", &[n(3000), n(2)]);
    let refused = cx.node1("Greater", vec![x.into(), table.into()], vec![]).unwrap_err();
    assert!(refused.message.starts_with("the runtime has no `Greater`"), "{}", refused.message);
}

#[test]
fn running_sums_of_whole_numbers_and_powers_are_computed() {
    let of = |numbers: [f32; 3], attrs: Vec<(&'static str, Attr)>| {
        let mut cx = without_choices();
        let (table, axis) = (stored(&mut cx, &[3, 1], numbers.into_iter()), cx.ints(&[0]));
        let axis = cx.node1("Squeeze", vec![axis.into()], vec![]).unwrap();
        let sums = cx.node1("CumSum", vec![table.into(), axis.into()], attrs).unwrap();
        let base = cx.scalar(&Scalar::Float(3.0), Float32).unwrap();
        let powers = cx.node1("Pow", vec![base.into(), sums.into()], vec![]).unwrap();
        let rows = cx.ints(&[2, 1, 0]);
        cx.node1("Gather", vec![powers.into(), rows.into()], vec![]).ok().and_then(|y| cx.constant_of(y).cloned())
    };
    let floats = |numbers: [f32; 3]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
    assert_eq!(
        of([1.0, 2.0, -2.0], vec![]).unwrap().bytes(),
        floats([3.0, 27.0, 3.0]),
        "3 to the powers of 1, 3 and 1"
    );
    let backwards = vec![("exclusive", Attr::Int(1)), ("reverse", Attr::Int(1))];
    assert_eq!(
        of([5.0, 2.0, 1.0], backwards).unwrap().bytes(),
        floats([1.0, 3.0, 27.0]),
        "of 3, 1 and 0, the last first"
    );
    assert!(of([0.5, 1.0, 2.0], vec![]).is_none(), "runtimes add fractions in any order");
    assert!(of([16_777_216.0, 1.0, 2.0], vec![]).is_none(), "the sum is rounded");
}

#[test]
fn products_and_activations_are_computed() {
    let mut cx = without_choices();
    let table = stored(&mut cx, &[3, 2], [1.0, 2.0, -3.0, 0.5, 4.0, -1.0].into_iter());
    let weight = stored(&mut cx, &[2, 2], [1.0, -1.0, 0.5, 2.0].into_iter());
    let product = cx.node1("MatMul", vec![table.into(), weight.into()], vec![]).unwrap();
    let positive = cx.node1("Relu", vec![product.into()], vec![]).unwrap();
    let rows = cx.ints(&[2, 0]);
    let chosen = cx.node1("Gather", vec![positive.into(), rows.into()], vec![]).unwrap();
    let expected = [3.5f32, 0.0, 2.0, 3.0].map(f32::to_le_bytes).concat();
    assert_eq!(
        cx.constant_of(chosen).unwrap().bytes(),
        expected,
        "the rows 2 and 0 of the product, without negative numbers"
    );
}

#[test]
fn an_activation_of_nan_is_not_computed() {
    let chosen = |first: f32| {
        let mut cx = without_choices();
        let table = stored(&mut cx, &[3], [first, -1.0, 2.0].into_iter());
        let positive = cx.node1("Relu", vec![table.into()], vec![]).unwrap();
        let rows = cx.ints(&[1, 2]);
        cx.node1("Gather", vec![positive.into(), rows.into()], vec![]).ok().and_then(|y| cx.constant_of(y).cloned())
    };
    assert_eq!(chosen(1.0).unwrap().bytes(), [0.0f32, 2.0].map(f32::to_le_bytes).concat());
    assert!(chosen(f32::NAN).is_none());
}

#[test]
fn a_value_that_many_nodes_read_is_computed_once() {
    let mut cx = without_choices();
    let table = stored(&mut cx, &[900], (0..900u16).map(f32::from));
    // Without a memory this would take 2^50 additions.
    let sum = (0..50).fold(table, |x, _| cx.node1("Add", vec![x.into(), x.into()], vec![]).unwrap());
    let rows = cx.ints(&[1]);
    let chosen = cx.node1("Gather", vec![sum.into(), rows.into()], vec![]).unwrap();
    assert_eq!(cx.constant_of(chosen).unwrap().bytes(), 2f32.powi(50).to_le_bytes());
}

#[test]
fn a_choice_by_a_stored_condition_is_what_it_chooses() {
    let choose = |least: f32| {
        let mut cx = without_choices();
        let x = input(&mut cx, "x", &[n(2), n(900)]);
        let zero = cx.scalar(&Scalar::Float(0.0), Float32).unwrap();
        let bias = stored(&mut cx, &[2, 900], (0..1800).map(|i| if i < 900 { least } else { 1.0 }));
        let axes = cx.ints(&[-1]);
        let most = cx.node1("ReduceMax", vec![bias.into(), axes.into()], vec![]).unwrap();
        let is_seen = cx.node1("Greater", vec![most.into(), zero.into()], vec![])?;
        cx.node1("Where", vec![is_seen.into(), x.into(), zero.into()], vec![]).map(|y| y == x)
    };
    assert_eq!(choose(0.5).ok(), Some(true));
    assert!(choose(-1.0).is_err(), "of the first row zeros are chosen");
    assert!(choose(f32::NAN).is_err(), "runtimes have other maxima");
}

#[test]
fn expanded_constants_are_added_before_they_are_expanded() {
    let mut cx = builder("ncnn", 17);
    let x = input(&mut cx, "x", &[n(2), n(4), n(3)]);
    let token = weight(&mut cx, &[1, 1, 3]);
    let both = cx.expand(token, &[n(2), n(1), n(3)]).unwrap();
    // Of this size nothing is stored at once.
    let wide = weight(&mut cx, &[1, 1, 90_000]);
    let wide = cx.expand(wide, &[n(2), n(1), n(90_000)]).unwrap();
    // All parts of this one are stored.
    let stored = cx.node1("Concat", vec![In::Values(vec![wide, wide])], vec![("axis", Attr::Int(1))]).unwrap();
    assert_eq!(cx.shape(stored).unwrap(), [n(2), n(2), n(90_000)]);
    let made = made(cx, "Concat", vec![In::Values(vec![both, x])], vec![("axis", Attr::Int(1))]);
    assert_eq!(made.iter().filter(|op| **op == "Add").count(), 1, "{made:?}");
    assert!(!made.contains(&"Concat") && !made.contains(&"Expand"), "{made:?}");
}
