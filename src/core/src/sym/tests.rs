//! Tests normal forms by example, and arithmetic against plain integers with random values.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn s(name: &str) -> SymInt {
    SymInt::symbol(name)
}

fn n(value: i64) -> SymInt {
    SymInt::from(value)
}

#[test]
fn equal_expressions_are_equal() {
    assert_eq!(s("a") + s("b"), s("b") + s("a"));
    assert_eq!((s("a") + 1) * (s("a") - 1), s("a") * s("a") - 1);
    assert_eq!(s("a") - s("a"), n(0));
    assert_eq!((s("a") - 1).floor_div(&n(2)) + 1, s("a").ceil_div(&n(2)));
    assert_eq!(s("a").max(&n(1)).max(&n(0)), n(1).max(&s("a")));
    assert_eq!(s("a").max(&(s("a") + 1)), s("a") + 1);
    assert_eq!(s("a").pow(&n(2)), s("a") * s("a"));
}

#[test]
fn exact_divisions_come_out() {
    assert_eq!((s("a") * 12).floor_div(&n(4)), s("a") * 3);
    assert_eq!((s("a") * s("b")).floor_div(&s("a")), s("b"));
    assert_eq!((s("a") * s("b") * 6).floor_div(&(s("a") * 2)), s("b") * 3);
    let a1 = s("a") + 1;
    assert_eq!((&a1 * &(s("b") * 64)).floor_div(&(&a1 * 64)), s("b"));
    assert_eq!((&a1 * &(s("b") - 3)).floor_div(&(s("b") - 3)), a1);
    assert_eq!((&a1 * &s("b")).modulo(&a1), n(0));
    assert_eq!((s("a") * 4 + 3).modulo(&n(2)), n(1));
    assert_eq!((s("a") * s("b")).floor_div(&(s("a") * s("c"))), s("b").floor_div(&s("c")));
    assert_eq!(s("a").floor_div(&n(2)).floor_div(&n(3)), s("a").floor_div(&n(6)));
    assert_eq!(s("a").floor_div(&n(-1)), s("a").neg());
}

#[test]
fn text_is_python_like() {
    let text = |x: SymInt| x.to_string();
    assert_eq!(text(n(0)), "0");
    assert_eq!(text(n(-3)), "-3");
    assert_eq!(text(s("s77") * 2 + 1), "2*s77 + 1");
    assert_eq!(text(s("s77").floor_div(&n(2))), "s77//2");
    assert_eq!(text((s("s77") + 1).floor_div(&n(2)) * 3 - s("a")), "-a + 3*((s77 + 1)//2)");
    assert_eq!(text(s("s0").max(&n(1))), "Max(1, s0)");
    assert_eq!(text(s("a") * s("b") * s("b") * -1), "-a*b**2");
    assert_eq!(text(s("a").modulo(&n(4))), "a % 4");
}

#[test]
fn overflow_and_size_are_bounded() {
    let big = n(i64::MAX) + n(1);
    assert_eq!(big.known(), None);
    assert_eq!((&big - &n(i64::MAX)).eval(&HashMap::new()), Some(1));
    assert_eq!(n(i64::MIN).neg().known(), None);
    assert_eq!(n(i64::MIN).floor_div(&n(-1)).eval(&HashMap::new()), None);
    let mut grown = s("a") + 1;
    for i in 0..200 {
        grown = &grown * &(s(&format!("b{i}")) + &grown);
    }
    assert!(grown.size() <= MAX_SIZE && !grown.to_string().is_empty());
    let many: SymInt = (0..100).map(|i| s(&format!("x{i}"))).sum();
    let values: HashMap<String, i64> = (0..100).map(|i| (format!("x{i}"), i)).collect();
    assert_eq!(many.eval(&values), Some(99 * 100 / 2));
}

#[test]
fn linear_forms_are_seen() {
    assert_eq!((s("s77") * 2 + 1).as_linear(), Some((2, "s77", 1)));
    assert_eq!(s("s0").as_linear(), Some((1, "s0", 0)));
    assert_eq!((s("a") + s("b")).as_linear(), None);
    assert_eq!(n(3).as_linear(), None);
}

/// An expression that is built and evaluated in parallel.
#[derive(Debug, Clone)]
enum Tree {
    Known(i64),
    Symbol(usize),
    Op(u8, Box<Tree>, Box<Tree>),
}

const NAMES: [&str; 3] = ["a", "b", "c"];

impl Tree {
    fn build(&self) -> SymInt {
        match self {
            Tree::Known(v) => n(*v),
            Tree::Symbol(i) => s(NAMES[*i]),
            Tree::Op(op, x, y) => {
                let (x, y) = (x.build(), y.build());
                match op % 9 {
                    0 => x + y,
                    1 => x - y,
                    2 | 3 => x * y,
                    4 => x.floor_div(&y),
                    5 => x.modulo(&y),
                    6 => x.min(&y),
                    7 => x.max(&y),
                    _ => x.ceil_div(&y),
                }
            }
        }
    }

    fn eval(&self, values: &[i64; 3]) -> Option<i128> {
        Some(match self {
            Tree::Known(v) => (*v).into(),
            Tree::Symbol(i) => values[*i].into(),
            Tree::Op(op, x, y) => {
                let (x, y) = (x.eval(values)?, y.eval(values)?);
                match op % 9 {
                    0 => x.checked_add(y)?,
                    1 => x.checked_sub(y)?,
                    2 | 3 => x.checked_mul(y)?,
                    4 => (y != 0).then(|| x.div_euclid(y) - i128::from(y < 0 && x.rem_euclid(y) != 0))?,
                    5 => (y != 0).then(|| (x % y + y) % y)?,
                    6 => x.min(y),
                    7 => x.max(y),
                    _ => (y != 0).then(|| x / y + i128::from(x % y != 0 && (x < 0) == (y < 0)))?,
                }
            }
        })
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let known = prop_oneof![9 => -9i64..10, 1 => prop_oneof![Just(i64::MAX), Just(i64::MIN), any::<i64>()]];
    let leaf = prop_oneof![known.prop_map(Tree::Known), (0..3usize).prop_map(Tree::Symbol)];
    leaf.prop_recursive(6, 40, 2, |inner| {
        (any::<u8>(), inner.clone(), inner).prop_map(|(op, x, y)| Tree::Op(op, Box::new(x), Box::new(y)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn agrees_with_integers(tree in tree(), values in [-20i64..60, -5i64..9, 1i64..1000]) {
        let expression = tree.build();
        let map: HashMap<String, i64> = NAMES.iter().map(|n| (*n).to_owned()).zip(values).collect();
        if let (Some(expected), Some(got)) = (tree.eval(&values), expression.eval(&map)) {
            prop_assert_eq!(i128::from(got), expected, "{}", expression);
        }
        let constants: HashMap<String, SymInt> = map.iter().map(|(k, v)| (k.clone(), n(*v))).collect();
        let substituted = expression.substitute(&constants);
        if let (Some(a), Some(b)) = (substituted.known(), tree.eval(&values)) {
            prop_assert_eq!(i128::from(a), b, "{}", expression);
        }
        let same = expression.substitute(&HashMap::new());
        if let (Some(a), Some(b)) = (same.eval(&map), expression.eval(&map)) {
            prop_assert_eq!(a, b);
        }
        let _ = (expression.to_string(), expression.symbols());
    }

    #[test]
    fn nonnegative_is_never_wrong(tree in tree(), values in [0i64..60, 0i64..9, 0i64..1000]) {
        let expression = tree.build();
        let map: HashMap<String, i64> = NAMES.iter().map(|n| (*n).to_owned()).zip(values).collect();
        if expression.is_nonnegative(&|_| true) && let Some(value) = expression.eval(&map) {
            prop_assert!(value >= 0, "{expression} is {value}");
        }
    }
}
