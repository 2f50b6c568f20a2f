//! Values and what is known of them: types, contents, constants.

pub(crate) mod bundles;
pub(crate) mod constants;
pub(crate) mod contents;
pub(crate) mod encode;
pub(crate) mod facts;
pub(crate) mod filled;
pub(crate) mod scalar;
