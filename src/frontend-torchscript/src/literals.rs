//! Numbers in calls of operators that are sizes of the result.

use aten2onnx_program::{Arg, IntArg, Node};

/// The name of an operator without namespace and overload: `view` of `aten::view.dtype`.
pub fn short(target: &str) -> &str {
    let short = target.rsplit_once("::").map_or(target, |(_, short)| short);
    short.split_once('.').map_or(short, |(short, _)| short)
}

/// An argument of a call by its name.
pub fn argument<'n>(node: &'n Node, name: &str) -> Option<&'n Arg> {
    node.args.iter().find(|(arg, _)| arg == name).map(|(_, arg)| arg)
}

/// The known numbers of an argument.
pub fn known_numbers(arg: &Arg) -> Vec<i64> {
    match arg {
        Arg::Int(number) => vec![*number],
        Arg::Ints(numbers) => numbers.iter().filter_map(known).collect(),
        _ => Vec::new(),
    }
}

/// A size that is a number.
pub fn known(size: &IntArg) -> Option<i64> {
    match size {
        IntArg::Known(size) => Some(*size),
        IntArg::Named(_) => None,
    }
}

/// The arguments of operators that make or expand tensors, which are sizes of the result.
pub fn sizes_made(short: &str) -> &'static [&'static str] {
    match short {
        "zeros" | "ones" | "full" | "empty" | "rand" | "randn" | "randint" | "new_zeros" | "new_ones" | "new_full"
        | "new_empty" | "expand" | "broadcast_to" | "unflatten" => &["size", "sizes"],
        "repeat" | "tile" => &["repeats", "dims"],
        "arange" => &["end"],
        "linspace" => &["steps"],
        "eye" => &["n", "m"],
        _ => &[],
    }
}

/// The arguments of reshapes, which are sizes of the result.
pub fn sizes_viewed(short: &str) -> &'static [&'static str] {
    match short {
        "view" | "reshape" | "_unsafe_view" => &["size", "shape"],
        _ => &[],
    }
}
