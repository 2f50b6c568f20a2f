//! One mistake is one error: what only follows from another error is not said.

use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// What an item that could not be read may leave behind elsewhere: names without a definition, definitions without a use.
const OF_UNREAD_ITEMS: &[&str] = &["E0101", "E0104", "E0205", "E0503", "E0603", "E0701", "E0702", "E0801", "E0803"];

/// What an error in a rule may leave behind in the same rule, because the paths behind it were not walked.
const OF_WRONG_RULES: &[&str] = &["E0602", "E0702"];

/// What the rules of a base may be blamed for because others took the place of some of them.
pub(crate) const OF_OVERRIDES: &[&str] = &["E0503", "E0602", "E0702", "E0803"];

/// Takes out the diagnostics that may be consequences of others. The first `wrong` are those of the passes before coverage;
/// `unread` tells that some items have syntax errors; `items` are the places of the others.
pub(crate) fn drop(diagnostics: &mut Vec<Diagnostic>, wrong: usize, unread: bool, items: &[Span]) {
    let item_of =
        |span: Span| items.iter().position(|i| i.file == span.file && i.start <= span.start && span.end <= i.end);
    let follows = |d: &Diagnostic| OF_WRONG_RULES.contains(&d.code);
    let faulty: Vec<usize> =
        diagnostics.iter().take(wrong).filter(|d| !follows(d)).filter_map(|d| item_of(d.primary.0)).collect();
    diagnostics.retain(|d| {
        let of_unread = unread && OF_UNREAD_ITEMS.contains(&d.code);
        let of_wrong = follows(d) && item_of(d.primary.0).is_some_and(|item| faulty.contains(&item));
        !of_unread && !of_wrong
    });
}
