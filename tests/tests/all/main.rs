//! The one test binary of the whole: each module a subject.

mod tidy;
