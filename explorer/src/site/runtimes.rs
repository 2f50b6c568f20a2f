//! A page for each runtime: its releases, what it lacks, and what that means for PyTorch's operators.

use aten2onnx_core::error::Result;
use aten2onnx_onnx::targets::{self, Avoid, Target};
use minijinja::Value;

use super::{Head, Site, urls};
use crate::facts::{self, Use};

/// Adds all of them, and the list of them.
pub fn add(site: &mut Site<'_>) -> Result<()> {
    let mut rows = Vec::new();
    for target in facts::newest() {
        let uses: Vec<(&String, &Use)> = site
            .facts
            .uses
            .iter()
            .filter_map(|(name, uses)| Some((name, uses.iter().find(|use_| use_.target.runtime == target.runtime)?)))
            .collect();
        let counts = counts(&uses);
        let measured = target.source.starts_with("measured");
        rows.push(context! {
            name => target.what,
            url => urls::runtime(target.runtime),
            text => format!(
                "{}{}, opset {} to {}",
                if measured { "measured with release " } else { "release " },
                target.release,
                target.oldest_opset,
                target.newest_opset
            ),
        });
        one(site, target, &uses, counts)?;
    }
    let intro = "What runtimes and compilers take, by name: measured by running each operator in them, or read from their documentation.";
    let head = Head { title: "Runtimes", description: intro, nav: "runtimes" };
    site.page("runtimes/index.html", "list.html", &head, context! { rows, intro })
}

/// The overloads that are exported as written, in another form, partly, not at all.
fn counts(uses: &[(&String, &Use)]) -> [usize; 4] {
    let mut counts = [0; 4];
    for (_, use_) in uses {
        let at = match (use_.plain, use_.replaced, use_.refused) {
            (0, 0, _) => 3,
            (_, _, 1..) => 2,
            (_, 1.., _) => 1,
            _ => 0,
        };
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
    }
    counts
}

fn one(site: &mut Site<'_>, target: &'static Target, uses: &[(&String, &Use)], counts: [usize; 4]) -> Result<()> {
    let releases: Vec<Value> = targets::all()
        .filter(|other| other.runtime == target.runtime)
        .map(|release| {
            context! {
                name => release.release,
                target => release.name(),
                oldest => release.oldest_opset,
                newest => release.newest_opset,
                ir => release.newest_ir,
                source => release.source,
            }
        })
        .collect();
    let lacks: Vec<Value> = target.lacks.iter().map(|op| context! { name => op, url => urls::operator(op) }).collect();
    let troubled: Vec<Value> = uses
        .iter()
        .filter(|(_, use_)| use_.refused > 0)
        .map(|(name, use_)| {
            let reasons: Vec<&String> = use_.reasons.iter().collect();
            context! {
                name,
                url => urls::operator(name),
                none => use_.plain + use_.replaced == 0,
                refused => use_.refused,
                all => use_.plain + use_.replaced + use_.refused,
                reasons,
            }
        })
        .collect();
    let own = context! {
        what => target.what,
        runtime => target.runtime,
        release => target.release,
        opset => target.opset(None).unwrap_or(target.newest_opset),
        releases,
        symbolic => target.symbolic,
        own_sizes => target.own_sizes,
        lacks,
        forms => form_rows(target.forms),
        warns => form_rows(target.warns),
        counts,
        troubled,
    };
    let description =
        format!("PyTorch models in {} {}: what works, what is replaced, what is refused.", target.what, target.release);
    let head = Head { title: target.what, description: &description, nav: "runtimes" };
    site.page(&urls::runtime(target.runtime), "runtime.html", &head, own)
}

/// Forms of operators as the page shows them.
fn form_rows(forms: &[Avoid]) -> Vec<Value> {
    let row = |form: &Avoid| context! { op => form.op, url => urls::operator(form.op), when => form.when.join(" and "), reason => form.reason };
    forms.iter().map(row).collect()
}
