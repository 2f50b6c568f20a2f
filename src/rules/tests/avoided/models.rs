//! What a runtime cannot take of a whole model is refused, or told.

use super::*;

#[test]
fn integers_from_outside_and_from_floats_may_lose_bits() {
    static SHORT: Target = Target { narrows_int64: true, ..PLANTED };
    let notes = |dtype: Dtype, to: Dtype| {
        let mut cx = Rules::interpreted().builder(18);
        let x = cx.input("x", Type::tensor(dtype, vec![n(2)]));
        let y = cx.node1("Cast", vec![x.into()], vec![("to", Attr::Int(i64::from(to.onnx())))]).unwrap();
        SHORT.notes(&finished(cx, y)).iter().filter(|note| note.contains("int64 is computed in 32 bits")).count()
    };
    assert_eq!(notes(Int64, Float32), 1);
    assert_eq!(notes(Float32, Int64), 1);
    assert_eq!(notes(Float32, Float16), 0);
}

#[test]
fn integers_of_32_bits_may_be_kept_in_64() {
    static LONG: Target = Target {
        widens_int32: true,
        avoids: &[
            Missing { op: "Abs", since: 13, dtypes: &[Int32], reason: "Int32 is unsupported" },
            Missing { op: "Cast", since: 13, dtypes: &[Int32], reason: "Int32 is unsupported" },
        ],
        ..PLANTED
    };
    let model = |to: Dtype| {
        let mut cx = Rules::interpreted().builder(18);
        cx.set_target(&LONG);
        let x = input(&mut cx, "x", &[n(2)]);
        let short = cx.node1("Cast", vec![x.into()], vec![("to", Attr::Int(i64::from(Int32.onnx())))]).unwrap();
        let y = cx.node1("Abs", vec![short.into()], vec![]).unwrap();
        let z = cx.node1("Cast", vec![y.into()], vec![("to", Attr::Int(i64::from(to.onnx())))]).unwrap();
        finished(cx, z)
    };
    let notes =
        |to: Dtype| LONG.notes(&model(to)).iter().filter(|note| note.contains("int32 is kept as int64")).count();
    assert_eq!(ops(&model(Float32)), ["Cast", "Cast", "Abs", "Cast", "Cast"], "computed in 64 bits");
    assert_eq!((notes(Int32), notes(Float32)), (1, 0));
    let mut cx = Rules::interpreted().builder(18);
    let x = cx.input("x", Type::tensor(Int32, vec![n(2)]));
    let y = cx.node1("Neg", vec![x.into()], vec![]).unwrap();
    let error = LONG.check_values(&finished(cx, y)).unwrap_err();
    assert_eq!(error.message, "planted-1 has no inputs of int32, the dtype of `x`: it keeps int32 as int64");
}

#[test]
fn outputs_without_dimensions_or_elements_may_have_other_shapes() {
    static FLAT: Target = Target { lacks_scalar_outputs: true, lacks_empty_outputs: true, ..PLANTED };
    let notes = |shape: Vec<SymInt>, text: &str| {
        let mut cx = Rules::interpreted().builder(18);
        let x = cx.input("x", Type::tensor(Float32, shape));
        let y = cx.node1("Neg", vec![x.into()], vec![]).unwrap();
        FLAT.notes(&finished(cx, y)).iter().filter(|note| note.contains(text)).count()
    };
    let (scalar, empty) = ("can have the shape [1]", "without elements can have another shape");
    assert_eq!((notes(vec![], scalar), notes(vec![], empty)), (1, 0));
    assert_eq!((notes(vec![n(0), n(3)], scalar), notes(vec![n(0), n(3)], empty)), (0, 1));
    assert_eq!((notes(vec![n(2)], scalar), notes(vec![n(2)], empty)), (0, 0));
}

#[test]
fn outputs_that_no_input_reaches_are_refused_if_the_runtime_drops_them() {
    static LIVE: Target = Target { lacks_constant_outputs: Some("it gave 1 outputs of 2"), ..PLANTED };
    let check = |reads_input: bool| {
        let mut cx = Rules::interpreted().builder(18);
        let x = cx.input("x", Type::tensor(Float32, vec![n(2)]));
        let fixed = stored::stored(&mut cx, &[2], [1.0, 2.0].into_iter());
        let y = cx.node1("Neg", vec![if reads_input { x } else { fixed }.into()], vec![]).unwrap();
        LIVE.check_values(&finished(cx, y))
    };
    assert!(check(true).is_ok());
    let error = check(false).unwrap_err();
    assert_eq!(error.message, "planted-1 gives no outputs that are constants, as `y` is: it gave 1 outputs of 2");
}

#[test]
fn inputs_without_dimensions_are_refused_if_the_runtime_takes_none() {
    static DEEP: Target = Target { lacks_scalar_inputs: Some("list index out of range"), ..PLANTED };
    let check = |shape: Vec<SymInt>| {
        let mut cx = Rules::interpreted().builder(18);
        let x = cx.input("x", Type::tensor(Float32, shape));
        let y = cx.node1("Neg", vec![x.into()], vec![]).unwrap();
        DEEP.check_values(&finished(cx, y))
    };
    let error = check(vec![]).unwrap_err();
    assert_eq!(error.message, "planted-1 has no inputs without dimensions, as `x` is: list index out of range");
    assert!(check(vec![n(1)]).is_ok());
}

#[test]
fn inputs_that_nothing_reads_move_the_others() {
    static DROPS: Target = Target { drops_inputs: true, ..PLANTED };
    let notes = |read: usize| {
        let mut cx = Rules::interpreted().builder(18);
        let inputs = ["a", "b", "c"].map(|name| cx.input(name, Type::tensor(Float32, vec![n(2)])));
        let y = cx.node("Sum", inputs[..read].iter().map(|x| (*x).into()).collect(), vec![], 1).unwrap()[0];
        DROPS.notes(&finished(cx, y))
    };
    let note =
        "planted-1: the runtime leaves out inputs that nothing reads, and those after them move up: `b` and 1 more";
    assert!(notes(1).contains(&note.to_owned()), "{:?}", notes(1));
    assert!(notes(3).is_empty());
}

#[test]
fn a_dtype_that_the_runtime_does_not_know_is_refused() {
    let of = |dtype| {
        let mut cx = Rules::interpreted().builder(18);
        let x = cx.input("x", Type::tensor(dtype, vec![n(2)]));
        let y = cx.node1("Abs", vec![x.into()], vec![]).unwrap();
        WITHOUT_DTYPES.check_values(&finished(cx, y))
    };
    assert!(of(Float32).is_ok());
    assert_eq!(of(Float16).unwrap_err().message, "planted-1 has no inputs or outputs of float16, the dtype of `x`");
    let error = of(Bfloat16).unwrap_err();
    assert_eq!(error.kind, Kind::Unsupported);
    assert!(error.message.starts_with("planted-1 lacks bfloat16, the dtype of `x` and 1 other values"), "{error}");
}

#[test]
fn a_constant_that_the_runtime_does_not_load_is_refused() {
    let of = |dtype: Dtype| {
        let mut cx = Rules::interpreted().builder(18);
        let x = cx.input("x", Type::tensor(Float32, vec![n(2)]));
        let bytes = vec![0; 2 * dtype.bits() as usize / 8];
        let w = cx.weight(Arc::new(Constant::new(dtype, vec![2], bytes).to_weight("w").unwrap()));
        let w = cx.node1("Cast", vec![w.into()], vec![("to", Attr::Int(1))]).unwrap();
        let y = cx.node1("Add", vec![x.into(), w.into()], vec![]).unwrap();
        WITHOUT_DTYPES.check_values(&finished(cx, y))
    };
    assert!(of(Int32).is_ok());
    let error = of(Int16).unwrap_err();
    assert_eq!(
        (error.kind, &*error.message),
        (Kind::Unsupported, "planted-1 loads no constants of int16, the dtype of `w`")
    );
}
