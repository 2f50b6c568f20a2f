//! Old archives: what operators meant before their schemas changed. The archive's version tells.

use std::rc::Rc;

use super::syntax::Name;
use super::types::Type;
use super::values::{Item, Value};

/// The newest version whose operators are known.
pub const NEWEST: u64 = 10;

type AdaptedCall = (String, Vec<Item>, Vec<(Name, Item)>);

/// Whether the meaning of a division depends on the dtypes of its operands.
pub fn asks_for_dtypes(version: u64, name: &str) -> bool {
    version < 4 && matches!(name, "aten::div" | "aten::div_")
}

/// The call in today's form. `integral` says whether all operands of a division are integers.
pub fn adapted(
    version: u64,
    name: &str,
    mut args: Vec<Item>,
    mut named: Vec<(Name, Item)>,
    integral: bool,
) -> AdaptedCall {
    match name {
        "aten::div" | "aten::div_" if version < 4 && integral && truncates(&args, &named) => {
            named.push((Rc::from("rounding_mode"), Item::str("trunc")));
        }
        "aten::full" if version < 5 && !is_given(&named, "dtype") => {
            if let Some(item) = args.get_mut(1) {
                match item.value {
                    Value::Int(number) => *item = Item::float(number as f64),
                    Value::Bool(flag) => *item = Item::float(f64::from(u8::from(flag))),
                    _ => {}
                }
            }
        }
        "aten::linspace" if version < 8 => steps(&mut args, &named, 100),
        "aten::logspace" if version < 9 => steps(&mut args, &named, 100),
        "aten::_convolution" if args.len() == 12 => args.push(Item::bool(true)),
        _ => {}
    }
    (name.to_owned(), args, named)
}

fn is_given(named: &[(Name, Item)], wanted: &str) -> bool {
    named.iter().any(|(name, item)| &**name == wanted && !matches!(item.value, Value::None))
}

/// Whether a division is of a tensor and has no other rounding.
fn truncates(args: &[Item], named: &[(Name, Item)]) -> bool {
    args.first().is_some_and(|item| item.ty == Type::Tensor) && !is_given(named, "rounding_mode")
}

/// The number of steps was optional.
fn steps(args: &mut Vec<Item>, named: &[(Name, Item)], count: i64) {
    if args.len() == 2 && !is_given(named, "steps") {
        args.push(Item::int(count));
    } else if let Some(item) = args.get_mut(2).filter(|item| matches!(item.value, Value::None)) {
        *item = Item::int(count);
    }
}
