//! Numbers of dimensions against those that `operators.toml` says an input has.

use super::super::Coverage;
use super::{Case, are_apart, range_text};
use crate::diagnostic::Diagnostic;

impl<'a> Coverage<'a> {
    pub(super) fn check_ranks(&self, case: &mut Case<'_, 'a>) {
        let Some(entry) = self.schemas.operators.get(case.call.op) else { return };
        for input in 0..case.call.inputs.len() {
            let Some(limits) = entry.ranks.get(case.name_of(input)) else { continue };
            let wanted = (limits.first, limits.last);
            let Some(rank) = case.rank_bounds(input).filter(|rank| are_apart(*rank, wanted)) else { continue };
            let (name, op) = (case.name_of(input), case.call.op);
            let text =
                format!("`{name}` of `{op}` has {} dimensions, but needs {}", range_text(rank), range_text(wanted));
            let diagnostic = Diagnostic::new("E0317", case.place_of(input), text)
                .label(format!("a tensor of rank {}", range_text(rank)));
            let help = "add dimensions of size 1, `unsqueeze(x, [0])`, and remove them from the result, or `fail` for such tensors";
            case.report(diagnostic.help(help));
        }
    }
}
