//! The front page.

use aten2onnx_core::error::Result;

use super::parts;
use super::{Head, Site, urls};

/// Overloads that the front page shows as examples of support.
const SHOWN: [&str; 6] = [
    "aten::relu",
    "aten::gelu",
    "aten::mish",
    "aten::grid_sampler_2d",
    "aten::scaled_dot_product_attention",
    "torchvision::deform_conv2d",
];

/// Adds it.
pub fn add(site: &mut Site<'_>) -> Result<()> {
    let facts = site.facts;
    let opsets = facts.opsets();
    let program = &facts.checked().program;
    let shown = SHOWN.into_iter().filter(|name| program.map(name).is_some());
    let rows: Vec<_> = shown
        .map(|name| {
            let strip = parts::strip(&facts.levels(name), &opsets);
            context! { name, url => urls::operator(name), strip }
        })
        .collect();
    let own = context! {
        rows,
        overloads => program.operator_maps().count(),
        operators => facts.checked().schemas.onnx.ops.len(),
        examples => program.examples.len(),
        oldest => opsets.first(),
        newest => opsets.last(),
    };
    let description = "Which PyTorch operators can be exported to which ONNX opset, what they become there, and in which runtimes that runs.";
    let head = Head { title: "aten2onnx explorer", description, nav: "" };
    site.page("index.html", "front.html", &head, own)
}
