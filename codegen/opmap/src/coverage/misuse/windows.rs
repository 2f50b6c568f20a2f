//! Attributes of convolutions and pools: one number for each dimension after the first two.

use super::{Case, are_apart, length, range_text};
use crate::diagnostic::Diagnostic;
use aten2onnx_operators::Shape;

/// Attributes, and how many numbers each has for a dimension.
const LISTS: [(&str, i64); 6] =
    [("kernel_shape", 1), ("strides", 1), ("dilations", 1), ("output_padding", 1), ("output_shape", 1), ("pads", 2)];

impl Case<'_, '_> {
    pub(super) fn check_windows(&mut self, shape: Shape) {
        let has_windows =
            matches!(shape, Shape::Conv | Shape::ConvTranspose | Shape::QuantizedConv | Shape::Pool | Shape::Unpool);
        if !has_windows {
            return;
        }
        let mut dimensions = self.rank_bounds(0).map(|(low, high)| ((low - 2).max(0), (high - 2).max(0)));
        for (name, each) in LISTS {
            let Some(own) = self.list_attribute(name).map(length) else { continue };
            if each == 2 && own.0 == own.1 && own.0 % 2 != 0 {
                let text = format!("`{name}` of `{}` has {} numbers", self.call.op, own.0);
                let diagnostic = Diagnostic::new("E0316", self.place_of_attribute(name), text).label("an odd number");
                let help = "give the begins of the dimensions after the first two, then the ends";
                self.report(diagnostic.help(help));
                continue;
            }
            let Some(known) = dimensions else {
                dimensions = (each == 1).then_some(own);
                continue;
            };
            let wanted = (known.0.saturating_mul(each), known.1.saturating_mul(each));
            if are_apart(own, wanted) {
                let (is, wanted) = (range_text(own), range_text(wanted));
                let text = format!("`{name}` of `{}` has {is} numbers, but needs {wanted}", self.call.op);
                let diagnostic = Diagnostic::new("E0316", self.place_of_attribute(name), text).label("another length");
                let fact = match each {
                    1 => "it has one for each dimension after the first two",
                    _ => "it has the begins of the dimensions after the first two, then the ends",
                };
                self.report(diagnostic.note(fact).help("give as many numbers as the dimensions need"));
            } else if each == 1 {
                dimensions = Some((known.0.max(own.0), known.1.min(own.1)));
            }
        }
    }
}
