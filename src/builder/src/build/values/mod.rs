//! Values and known facts about them: types, elements, constants.

pub(crate) mod bundles;
pub(crate) mod constants;
pub(crate) mod encode;
pub(crate) mod facts;
pub(crate) mod filled;
pub(crate) mod known_elements;
pub(crate) mod made;
pub(crate) mod packed;
pub(crate) mod scalar;
pub(crate) mod stored;
