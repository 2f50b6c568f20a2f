//! Lists of numbers that say something about sizes and dimensions: shapes, axes, orders, pads, ends of slices.

use super::super::values::{Abs, List};
use super::{Case, are_apart, integers, length, range_text};
use crate::diagnostic::Diagnostic;
use crate::returned::Returned;
use crate::source::Span;
use crate::tree::{Expr, Returns};
use aten2onnx_operators::Shape;

/// PyTorch's tensors have at most so many dimensions.
const MOST_DIMENSIONS: i64 = 64;

/// Attributes that name dimensions of the first input.
const AXES: [&str; 2] = ["axis", "axes"];

impl Case<'_, '_> {
    pub(super) fn check_lists(&mut self, shape: Shape) {
        match shape {
            Shape::Reshape => self.check_sizes(1, true),
            Shape::Expand | Shape::Tile => self.check_sizes(1, false),
            Shape::ConstantOfShape => self.check_sizes(0, false),
            Shape::Transpose => self.check_order(),
            Shape::Slice => self.check_slice(),
            Shape::Pad => self.check_pads(),
            Shape::Einsum => self.check_equation(),
            _ => {}
        }
        // One scale for all elements has no axis, whatever the attribute says.
        if !matches!(shape, Shape::Quantize | Shape::Dequantize) {
            self.check_axes(shape);
        }
    }

    /// Sizes: one may be -1 if it follows from the others.
    fn check_sizes(&mut self, input: usize, is_open: bool) {
        let Some(numbers) = self.elements(input).and_then(integers) else { return };
        let Some(fault) = fault_of_sizes(&numbers, is_open) else { return };
        let text = format!("`{}` of `{}` {fault}", self.name_of(input), self.call.op);
        let diagnostic = Diagnostic::new("E0316", self.place_of(input), text).label("no sizes");
        self.report(diagnostic.help(help_for_sizes(is_open)));
    }

    fn check_order(&mut self) {
        let Some(list) = self.list_attribute("perm") else { return };
        let rank = self.rank_bounds(0);
        let (least, most) = length(list);
        let fault = match (integers(list), rank) {
            (_, Some(rank)) if are_apart((least, most), rank) => {
                let (count, rank) = (range_text((least, most)), range_text(rank));
                Some(format!("has {count} dimensions, but the tensor has {rank}"))
            }
            (Some(numbers), _) => {
                let known: Option<Vec<i64>> = numbers.iter().copied().collect();
                let mut sorted = known.unwrap_or_default();
                sorted.sort_unstable();
                let is_order = sorted.iter().zip(0..).all(|(number, place)| *number == place);
                (!is_order).then(|| format!("{sorted:?} names a dimension twice, or one that does not exist"))
            }
            _ => None,
        };
        let Some(fault) = fault else { return };
        let text = format!("`perm` of `{}` {fault}", self.call.op);
        let diagnostic = Diagnostic::new("E0316", self.place_of_attribute("perm"), text).label("no order");
        self.report(diagnostic.help("name each dimension from 0 on once: `perm_i = [1, 0]` for a matrix"));
    }

    /// Lists of one length, and steps that go somewhere.
    fn check_slice(&mut self) {
        let Some(starts) = self.elements(1).map(length) else { return };
        for input in 2..5 {
            let Some(list) = self.elements(input) else { continue };
            let own = length(list);
            let numbers = integers(list).unwrap_or_default();
            if are_apart(own, starts) {
                let (own, starts) = (range_text(own), range_text(starts));
                let text = format!(
                    "`{}` of `{}` has {own} elements, but `{}` has {starts}",
                    self.name_of(input),
                    self.call.op,
                    self.name_of(1)
                );
                let diagnostic = Diagnostic::new("E0316", self.place_of(input), text).label("another length");
                self.report(diagnostic.help("give each list one element for each dimension that is cut"));
            } else if input == 4 && numbers.contains(&Some(0)) {
                let text = format!("a step of `{}` is 0", self.call.op);
                let diagnostic = Diagnostic::new("E0316", self.place_of(input), text).label("0");
                self.report(diagnostic.help("a step is 1 or more, or -1 or less"));
            }
        }
    }

    /// A begin and an end for each dimension.
    fn check_pads(&mut self) {
        let Some(own) = self.elements(1).map(length) else { return };
        let dimensions = match (self.elements(3), self.call.inputs.len() > 3) {
            (Some(axes), _) => length(axes),
            (None, true) => return,
            (None, false) => match self.rank_bounds(0) {
                Some(bounds) => bounds,
                None => return,
            },
        };
        let wanted = (dimensions.0.saturating_mul(2), dimensions.1.saturating_mul(2));
        let is_odd = own.0 == own.1 && own.0 % 2 != 0;
        if !is_odd && !are_apart(own, wanted) {
            return;
        }
        let (own, wanted) = (range_text(own), range_text(wanted));
        let text =
            format!("`{}` of `{}` has {own} elements, but the dimensions need {wanted}", self.name_of(1), self.call.op);
        let diagnostic = Diagnostic::new("E0316", self.place_of(1), text).label("not two for each dimension");
        self.report(diagnostic.help("give the begins of all dimensions, then the ends: `pads_at(x, pads, dims)`"));
    }

    /// Dimensions by number: within the rank, and each once.
    fn check_axes(&mut self, shape: Shape) {
        let Some((_, rank)) = self.rank_bounds(0) else { return };
        for name in AXES {
            let of_input = self.input_named(name).filter(|input| self.tensor(*input).is_some());
            let (list, place) = match (self.list_attribute(name), self.number_attribute(name), of_input) {
                (Some(list), _, _) => (list.clone(), self.place_of_attribute(name)),
                (_, Some(number), _) => (List::of(vec![Abs::Number(number.clone())]), self.place_of_attribute(name)),
                (_, _, Some(input)) => match self.tensor(input).and_then(|tensor| tensor.elements.as_deref()) {
                    Some(Abs::List(list)) => (list.clone(), self.place_of(input)),
                    Some(number @ Abs::Number(_)) => (List::of(vec![number.clone()]), self.place_of(input)),
                    _ => continue,
                },
                _ => continue,
            };
            self.check_dimensions(name, &list, rank, shape, place);
        }
    }

    fn check_dimensions(&mut self, name: &str, list: &List, rank: i64, shape: Shape, place: Span) {
        let more = match shape {
            Shape::Unsqueeze => i64::from(list.most.min(64)),
            // A new dimension, or the end of the last one.
            Shape::OneHot | Shape::ConcatFromSequence | Shape::Flatten => 1,
            _ => 0,
        };
        let dimensions = rank.clamp(1, MOST_DIMENSIONS).saturating_add(more);
        let bounds = |item: &Abs| match item {
            Abs::Number(number) if !number.known.may_not() => Some(number.bounds()),
            _ => None,
        };
        let items = list.items.as_deref().unwrap_or_default();
        let outside = items.iter().filter_map(bounds).find(|bounds| are_apart(*bounds, (-dimensions, dimensions - 1)));
        let op = self.call.op;
        if let Some(outside) = outside {
            let (is, last) = (range_text(outside), dimensions - 1);
            let text = format!("`{name}` of `{op}` is {is}, but the dimensions are {} to {last}", -dimensions);
            let diagnostic = Diagnostic::new("E0316", place, text).label("no such dimension");
            return self.report(diagnostic.help("count from 0, or from the end with negative numbers"));
        }
        let numbers = integers(list).unwrap_or_default();
        let twice = numbers
            .iter()
            .enumerate()
            .find(|(i, number)| number.is_some() && numbers.iter().take(*i).any(|before| before == *number));
        if let Some((_, Some(number))) = twice {
            let text = format!("`{name}` of `{op}` names the dimension {number} twice");
            let diagnostic = Diagnostic::new("E0316", place, text).label("twice");
            self.report(diagnostic.help("name each dimension once"));
        }
    }

    /// One term for each input, with one letter for each dimension.
    fn check_equation(&mut self) {
        let Some(Abs::Text(super::super::values::Text::These(texts))) = self.call.attr("equation") else { return };
        let [equation] = &**texts else { return };
        let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
        let place = self.place_of_attribute("equation");
        let terms: Vec<&str> = equation.split("->").next().unwrap_or("").split(',').collect();
        let is_counted = self.call.inputs.iter().all(|given| matches!(given, super::super::call::Given::Tensor(_)));
        if !is_counted {
            return;
        }
        let help = "write one term for each tensor, with one letter for each of its dimensions: `\"ij,jk->ik\"`";
        if terms.len() != self.call.inputs.len() {
            let (own, given) = (terms.len(), self.call.inputs.len());
            let text = format!("the equation of `{}` is about {own} tensors, but {given} are given", self.call.op);
            return self.report(Diagnostic::new("E0316", place, text).label("another number of terms").help(help));
        }
        for (input, term) in terms.iter().enumerate() {
            let letters = i64::try_from(term.chars().count()).unwrap_or(i64::MAX);
            let rank =
                self.rank_bounds(input).filter(|rank| !term.contains("...") && are_apart(*rank, (letters, letters)));
            let Some(rank) = rank else { continue };
            let text = format!(
                "the term `{term}` of `{}` is about {letters} dimensions, but the tensor has {}",
                self.call.op,
                range_text(rank)
            );
            return self.report(Diagnostic::new("E0316", place, text).label("another number of dimensions").help(help));
        }
    }
}

/// What is wrong with sizes.
fn fault_of_sizes(numbers: &[Option<i64>], is_open: bool) -> Option<String> {
    let open = numbers.iter().filter(|number| **number == Some(-1)).count();
    if is_open && open > 1 {
        return Some(format!("has {open} sizes of -1"));
    }
    let least = if is_open { -1 } else { 0 };
    let negative = numbers.iter().flatten().find(|number| **number < least)?;
    Some(format!("has the size {negative}"))
}

fn help_for_sizes(is_open: bool) -> &'static str {
    match is_open {
        true => "one size may be -1, which follows from the number of elements; write the others: `dim_of(x, 0)`",
        false => "a size is 0 or more; write it: `dim_of(x, 0)`",
    }
}

/// An error for sizes that an `extern fn` is given.
pub(super) fn wrong_sizes(returns: &Returns, values: &[Abs], args: &[Expr]) -> Option<Diagnostic> {
    let (of, is_open) = match returns.is {
        Returned::Reshaped => (1, true),
        Returned::Expanded => (1, false),
        Returned::Filled => (0, false),
        _ => return None,
    };
    let at = *returns.args.get(of)?;
    let Abs::List(list) = values.get(at)? else { return None };
    let fault = fault_of_sizes(&integers(list)?, is_open)?;
    let place = args.get(at)?.span;
    Some(Diagnostic::new("E0316", place, format!("the list {fault}")).label("no sizes").help(help_for_sizes(is_open)))
}
