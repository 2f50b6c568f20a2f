//! Facts about opsets and dtypes: static tables generated from `mappings/opsets.toml` and `mappings/dtypes.toml`.

include!(concat!(env!("OUT_DIR"), "/facts.rs"));
