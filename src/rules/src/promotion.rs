//! PyTorch's type promotion tables, generated from `mappings/schemas/promotion.txt`.

include!(concat!(env!("OUT_DIR"), "/promotion.rs"));
