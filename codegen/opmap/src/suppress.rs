//! Removes errors that only follow from other errors, so that one mistake gives one error.

use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// Errors that an item with a syntax error may cause elsewhere: names without a definition, definitions without a use.
const OF_UNREAD_ITEMS: &[&str] =
    &["E0101", "E0104", "E0205", "E0503", "E0603", "E0701", "E0702", "E0703", "E0704", "E0801", "E0803"];

/// Errors that another error in the same rule may cause, because the paths after it were not walked.
const OF_WRONG_RULES: &[&str] = &["E0602", "E0702"];

/// Errors of the proof about calls. One in the same rule that says that a call does not fit its schema may cause them.
const OF_WRONG_CALLS: [&str; 8] = ["E0310", "E0311", "E0312", "E0313", "E0314", "E0315", "E0316", "E0317"];

/// Errors that rules of a base may have because other rules replaced some of them.
pub(crate) const OF_OVERRIDES: &[&str] = &["E0503", "E0602", "E0702", "E0803"];

/// Removes diagnostics that may follow from others. The first `wrong` come from the passes before coverage, `unread` is true if
/// some items have syntax errors, and `items` are the places of the others.
pub(crate) fn follow_on_errors(diagnostics: &mut Vec<Diagnostic>, wrong: usize, unread: bool, items: &[Span]) {
    let item_of =
        |span: Span| items.iter().position(|i| i.file == span.file && i.start <= span.start && span.end <= i.end);
    let follows = |d: &Diagnostic| OF_WRONG_RULES.contains(&d.code);
    let faulty: Vec<usize> =
        diagnostics.iter().take(wrong).filter(|d| !follows(d)).filter_map(|d| item_of(d.primary.0)).collect();
    let is_of_call =
        |d: &Diagnostic| d.code.starts_with("E01") || d.code.starts_with("E03") || d.code.starts_with("E04");
    let misfits: Vec<usize> =
        diagnostics.iter().take(wrong).filter(|d| is_of_call(d)).filter_map(|d| item_of(d.primary.0)).collect();
    let mut index = 0;
    diagnostics.retain(|d| {
        index += 1;
        let of_misfit = index > wrong
            && OF_WRONG_CALLS.contains(&d.code)
            && item_of(d.primary.0).is_some_and(|item| misfits.contains(&item));
        let of_unread = unread && OF_UNREAD_ITEMS.contains(&d.code);
        let of_wrong = follows(d) && item_of(d.primary.0).is_some_and(|item| faulty.contains(&item));
        !of_unread && !of_wrong && !of_misfit
    });
}
