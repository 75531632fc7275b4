//! What a group keeps on disk: keys, and the bytes of its rows. Knows no command and no request.

pub mod keys;
pub mod rows;
