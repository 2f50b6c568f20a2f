//! The explorer: a static site with a page for each overload and each ONNX operator, and the same pages live while rules are edited.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | drawings | `draw` | graphs as SVG, and what differs between two |
//! | facts | `facts` | what the rules, examples, runtimes and models say of each operator |
//! | pages | `site` | HTML from the facts |
//! | live | `serve` | the pages on localhost |
//! | interface | `cli` | the command `aten2onnx-explorer` |

pub mod cli;
pub mod draw;
pub mod facts;
pub mod serve;
pub mod site;
